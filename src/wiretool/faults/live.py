"""A connection that is watched while it is spoken."""

from collections.abc import Callable

from wiretool.capture.tcp.stream_events import Connection, Data, End, Item
from wiretool.codec.message import Side
from wiretool.dissect.connection import Watch
from wiretool.ledger import ConnectionAccount
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record

#: Addresses are given as text; a capture would have them in bytes.
_NO_ADDRESS = bytes(6)


class LiveWatch(Watch):
    """Tells each frame when it is whole: the protocol is known, and no side waits for the other to be understood.

    Bytes that are no frame are a problem as soon as that is known. What comes behind them is told when a frame that can
    be trusted is found in it, or too much is held, or at the end.
    """

    def __init__(
        self, number: int, protocol: Protocol, client: str, server: str, now_ns: int, next_n: Callable[[], int]
    ) -> None:
        self.connection = Connection(number, _NO_ADDRESS, _NO_ADDRESS, now_ns)
        self.connection.client, self.connection.server = client, server
        self.connection.opened = True
        account = ConnectionAccount(number, client, server)
        super().__init__(
            self.connection, forced=protocol, expected=(), every=(), account=account, next_n=next_n, note=_say_nothing
        )
        self._speak(protocol, None)
        self._is_settled = True
        self._offsets: dict[Side, int] = {"client": 0, "server": 0}
        self._chunks = 0
        #: The sides of which bytes were lost, and no frame has been found since.
        self._lost: set[Side] = set()

    @property
    def conversation(self) -> Conversation:
        """What is known of the connection so far."""
        assert self._conversation is not None
        return self._conversation

    def is_lost(self, side: Side) -> bool:
        """Whether it is not known where the next frame of a side begins."""
        return self._splitters[side].is_searching

    def feed(self, side: Side, data: bytes, now_ns: int) -> list[Record]:
        """The records that these next bytes complete; their `packets` are the chunks in which they came."""
        self._chunks += 1
        offset, self._offsets[side] = self._offsets[side], self._offsets[side] + len(data)
        records = self.take(Data(self.connection, side, offset, data, now_ns, self._chunks))
        if side in self._lost and any(record.kind == "frame" for record in records):
            self._lost.discard(side)
        if self._splitters[side].is_searching and side not in self._lost:
            records += self.give_up(side)
        return records

    def give_up(self, side: Side, error: str = "", why: str = "") -> list[Record]:
        """The records of what is held of a side: it is lost, if no frames are found in it."""
        records = self._told(side, self._splitters[side].give_up(error, why))
        if self._splitters[side].is_searching:
            self._lost.add(side)
        return records

    def end(self, side: Side, now_ns: int) -> list[Record]:
        """The records that are left of a side that has sent its last byte."""
        return self.take(End(self.connection, side, "fin", now_ns, self._chunks))

    def _read_in_doubt(self, item: Item) -> list[Record]:
        return self._read(item)


def _say_nothing(connection: Connection, text: str) -> None:
    """Nothing is guessed, so there is nothing to note."""
