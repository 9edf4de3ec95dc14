"""One connection on its way to columns: frames as arrays, everything else as `Watch` does it."""

from collections.abc import Sequence
from typing import Any

from wiretool.capture.tcp.stream_events import Connection, Data, Item
from wiretool.codec.frames.splitter import Piece
from wiretool.codec.message import SIDES
from wiretool.dissect.closed_connection import EndedWatch
from wiretool.dissect.columns.late import Late
from wiretool.dissect.columns.numbering import Numbers
from wiretool.dissect.columns.pace import Pace
from wiretool.dissect.columns.pending_output import PendingOutput
from wiretool.dissect.columns.placing import PlacedFrames
from wiretool.dissect.columns.recognised_watch import RecognisedWatch
from wiretool.ledger import ConnectionAccount
from wiretool.protocols.base.columns import ProtocolColumns, columns_of
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record


class BulkWatch(RecognisedWatch):
    """Turns the frames and items of one connection into columns and records."""

    def __init__(self, numbers: Numbers, pace: Pace, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._numbers = numbers
        self._pace = pace

    @property
    def connection(self) -> Connection:
        """Return the connection."""
        return self._connection

    @property
    def account(self) -> ConnectionAccount:
        """Return the account of the connection."""
        return self._row

    @property
    def conversation(self) -> Conversation:
        """Return the conversation; only after a protocol was recognised."""
        assert self._conversation is not None, "a protocol was recognised"
        return self._conversation

    @property
    def _columns(self) -> ProtocolColumns | None:
        """Return the columns of its protocol; None where none is known, or it has none."""
        is_read_singly = self._conversation is None or self._tls is not None
        return None if is_read_singly else columns_of(PROTOCOLS[self._protocol])

    @property
    def is_single(self) -> bool:
        """Return whether every frame is read by itself: the protocol has no columns, or the bytes are decrypted."""
        return self._tls is not None or (self._conversation is not None and self._columns is None)

    @property
    def is_foreign(self) -> bool:
        """Return whether no protocol was recognised, nor will be."""
        return self._is_settled and self._conversation is None and self._tls is None

    @property
    def growth(self) -> int:
        """The ratio of decoded bytes to bytes on the wire, at most."""
        columns = self._columns
        return 1 if columns is None or self._conversation is None else columns.growth(self._conversation)

    def after(self) -> "EndedBulkWatch":
        return EndedBulkWatch(self._row, self._next_n)

    def take(self, item: Item) -> list[Record]:
        records = super().take(item)
        if self._is_settled and not self._connection.is_understood:
            self._note_understood()
        self._pace.growth = max(self._pace.growth, self.growth)
        return records

    def _note_understood(self) -> None:
        """From now on it may be read in runs, unless each of its frames is read by itself."""
        if self._tls is None and (self._conversation is None or self._columns is not None):
            self._connection.is_understood = True

    def resume(self, protocol: Protocol, conversation: Conversation) -> None:
        """Go on with a conversation that was read from its beginning, in step, without this watch."""
        self._speak(protocol, None, conversation)
        for splitter in self._splitters.values():
            splitter.begin_in_step()
        self._is_settled, self._in_doubt = True, False
        self._note_understood()

    # -- together with others --------------------------------------------------------------------------------------

    def columns(self, sizes: Sequence[int]) -> ProtocolColumns | None:
        """Return the reader of so many bytes of each side together with those of other connections.

        None where they are read alone.
        """
        if self._columns is None or self._waiting or not self._is_settled:
            return None
        for side, size in zip(SIDES, sizes, strict=True):
            splitter = self._splitters[side]
            if self._is_looking(side) or 0 < size < splitter.wanted - splitter.held:
                return None  # to join what is held each time would be slow
        return self._columns

    def may_pass(self, sizes: Sequence[int]) -> bool:
        """Return whether both sides, of which so many bytes come, are in step.

        Then nothing has to be looked for or waited for.
        """
        if not self._is_settled or self._columns is None or self._waiting:
            return False
        return all(
            self._splitters[side].is_in_step if size else not self._is_looking(side)
            for side, size in zip(SIDES, sizes, strict=True)
        )

    # -- a protocol of ours ----------------------------------------------------------------------------------------

    def late(self, placed: PlacedFrames) -> Late:
        """Return which of the next frames are late."""
        return Late(placed, self._latest_packet, self._stretches)

    def read_one(self, placed: PlacedFrames, row: int, late: Late, output: PendingOutput) -> None:
        """Read one of the next frames by itself."""
        frames = placed.frames
        start, end = frames.starts.item(row), frames.ends.item(row)
        place = placed.offsets.item(row), end - start, placed.first.item(row), placed.last.item(row)
        self._latest_packet = late.catch_up(row)
        self._numbers.at_frame(frames.numbers.item(row))
        piece = Piece("frame", frames.data, start, end, *place, placed.times.item(row))
        output.records.extend(self._records("server" if frames.is_server[row] else "client", [piece]))

    # -- nothing of ours -------------------------------------------------------------------------------------------

    def pass_foreign(self, first: Data, size: int, last_packet: int, last_ns: int) -> None:
        """Count so many bytes of a side, from an item up to those of a packet."""
        self._account.payload_bytes += size
        self._account.other_bytes += size
        stranger = self._strangers[first.side]
        stranger.add(first)
        stranger.extend(size - len(first.data), last_packet, last_ns)


class EndedBulkWatch(EndedWatch):
    """The same of a watch in bulk, which has read all that was deferred."""

    __slots__ = ()
    growth = 1
