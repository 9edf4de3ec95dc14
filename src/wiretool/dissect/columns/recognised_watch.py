"""The watch whose protocol `recognition` names: it holds the first bytes of its connection until then."""

from abc import abstractmethod
from collections.abc import Sequence

from wiretool.capture.tcp.stream_events import Data
from wiretool.codec.frames.splitter import Mark
from wiretool.codec.message import SIDES, Side
from wiretool.dissect.columns.lent_watch import LentWatch
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.recognise import Verdict, protocol_of_start


class RecognisedWatch(LentWatch):
    """A watch over a connection whose protocol is recognised together with those of others."""

    @abstractmethod
    def _note_understood(self) -> None:
        """Note that the protocol is known."""

    @property
    def is_settled(self) -> bool:
        """Return whether it is known which protocol is in use, if any."""
        return self._is_settled

    @property
    def expected(self) -> Sequence[Protocol]:
        """Return the protocols that are expected on a connection whose first bytes were captured; none on another."""
        return self._expected if self._began else ()

    @property
    def has_begun(self) -> bool:
        """Return whether bytes were read, or a protocol was recognised."""
        return self._is_settled or bool(self._held) or self._tls is not None

    def begin(self, side: Side, data: bytes) -> None:
        """Recognise the protocol by the bytes of the first packet, if they are the same as of earlier connections."""
        protocol = protocol_of_start(side, data, self._expected, self._every) if self._began else None
        if protocol is not None:
            self.begin_with(protocol, None)

    def begin_with(self, protocol: Protocol, trial: Conversation | None) -> None:
        """Read a protocol from the first byte on, which `trial` has found out."""
        self._speak(protocol, trial)
        self._is_settled = True
        self._note_understood()
        for side in SIDES:
            items = [item for item in self.held_items if item.side == side]
            marks = [Mark(item.offset + len(item.data), item.packet, item.time_ns) for item in items]
            self._splitters[side].pass_to(0, b"".join(item.data for item in items), marks, 0)

    def _verdict(self, *, final: bool) -> Verdict | None:
        """Return the verdict; that on the bytes of the first packet is the same as on earlier connections with them."""
        first = self._held[0] if len(self._held) == 1 and self._began and not final else None
        if isinstance(first, Data):
            protocol = protocol_of_start(first.side, first.data, self._expected, self._every)
            if protocol is not None:
                return Verdict(protocol, has_frames=True)
        return super()._verdict(final=final)

    @property
    def may_begin_together(self) -> bool:
        """Return whether its protocol may be recognised with those of others: it holds nothing but bytes in order."""
        return not self._is_settled and self._tls is None and len(self.held_items) == len(self._held)

    @property
    def held_items(self) -> Sequence[Data]:
        """Return the bytes that are held until the protocol is known."""
        return [item for item in self._held if isinstance(item, Data)]

    @property
    def look_at(self) -> int:
        """Return how many bytes it holds before it looks at them."""
        return self._look_at

    def hold(self, items: Sequence[Data], look_at: int) -> None:
        """Hold the next bytes; the protocol shows once `look_at` bytes are there at the earliest."""
        self._held += items
        self._held_bytes += sum(len(item.data) for item in items)
        self._look_at = look_at
        self._connection.is_understood = True
        self.note_unfinished()

    def drop_held(self) -> None:
        """Note that the bytes which are held were read."""
        self.count(self._held_bytes, 0, 0)
        self._held, self._held_bytes = [], 0

    def forget_protocol(self) -> None:
        """Undo `begin_with`, where no frame was read."""
        self._forget_protocol()
        self.note_unfinished()
