"""What every protocol gives the dissector: one connection watched from the middle, and the protocol itself."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wiretool.codec.cursor import Span
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, ProtocolViolation

#: What may be wrong inside a frame whose extent is known: its bytes, or its time and sender.
Defect = DecodeError | ProtocolViolation


class Reading(NamedTuple):
    """What one whole frame says."""

    #: The protocol's own name of the message, `Unknown` for a type that has none.
    message: str
    #: The message, or its fields in the vectors' JSON form where no single class holds them.
    fields: Message | Mapping[str, Any]
    #: Each thing wrong in it; reading goes on all the same.
    defects: Sequence[Defect] = ()
    #: The number of the request that this frame answers.
    reply_to: int | None = None
    #: The append that this frame completes, in the vectors' form less its data, and the events in it.
    append: Mapping[str, Any] | None = None
    events: list[Mapping[str, Any]] | None = None
    #: Bytes behind the last known field, where the protocol ignores them.
    left_over: bytes = b""


def let_go(defects: Sequence[Defect]) -> None:
    """Forget the calls in which these were raised: they hold all that is being read, and the defects besides."""
    for defect in defects:
        defect.__traceback__ = defect.__cause__ = defect.__context__ = None


class Conversation(ABC):
    """One connection. It does no I/O; frames of both sides are given to `read` in the order they were captured.

    `extent`, `candidates` and `trust` are asked about bytes that may be nothing of ours: they change no state.
    """

    #: False while it is not known which revision of the protocol is spoken, so that frames may still be misread.
    is_decided = True
    #: Why it may be of another protocol though its frames fit, as where many services share a carrier; empty where not.
    doubt = ""
    #: Whether readings list the events of appends: who does not look at them need not wait for that.
    lists_events = True

    #: Whether frames that were read can only raise `trust` above 0, and change nothing else by which a connection is
    #: recognised: the chain of its first frames then proves the protocol.
    is_proved_by_trust = False

    @property
    def held_bytes(self) -> int:
        """Return the bytes of frames that are kept until the message is complete to which they belong.

        A gap on both sides discards them.
        """
        return 0

    @abstractmethod
    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        """Bytes of the frame that begins at `data[at]`, more than `end - at` when some are still to come.

        0 when too few are there to tell. DecodeError: no frame can begin so (its extent is not known).
        """

    @abstractmethod
    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        """What the whole frame `data[at:end]` says; `n` is the number of its record. Raises nothing."""

    @abstractmethod
    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        """Where in `data[at:end]` a frame of that side might begin, ascending; cheap and with few misses."""

    @abstractmethod
    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        """How sure it is that `data[at:end]` is a whole frame that this side sent.

        0: it is not (a field does not decode, bytes are left over, the wrong side). 1: nothing speaks against it.
        2: a good part of its bytes had to fit and does. 4: it cannot be chance (a checksum, a known id, whole JSON).
        """

    @abstractmethod
    def annotate(self, side: Side, data: bytes, at: int, end: int) -> list[Span]:
        """The spans of the whole frame `data[at:end]`; they tile it. Changes no state.

        Asked of a new conversation too (`open(False)`), so what kind of frame it is must show in its bytes.
        """

    def adopt(self, data: bytes, fields: Any) -> None:  # noqa: B027  (most frames show all of it in their bytes)
        """Take over what the decoded fields of a frame show of its connection, before `annotate` of that frame."""

    def recall(self, earlier: "Conversation") -> None:  # noqa: B027  (most learn nothing that the first frame needs)
        """Before the first frame: `earlier`, of the same kind, has read the first frames of this very connection."""

    def hole(self, side: Side) -> None:  # noqa: B027  (a protocol without state has nothing to forget)
        """Note missing bytes of `side`: they may have changed any state."""

    def lost(self, side: Side) -> None:
        """Note bytes of `side` that do not decode as a frame: like missing ones, they may have changed any state."""
        self.hole(side)

    def end(self, side: Side) -> None:  # noqa: B027
        """`side` has sent its last byte."""
