"""What every protocol gives the dissector: one connection watched from the middle, and the protocol itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wiretool.codec.cursor import Span
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.base.encoder import ConnectionEncoder
from wiretool.protocols.base.exchanges import Exchanges

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

    def recall(self, earlier: "Conversation") -> None:  # noqa: B027  (most learn nothing that the first frame needs)
        """Before the first frame: `earlier`, of the same kind, has read the first frames of this very connection."""

    def hole(self, side: Side) -> None:  # noqa: B027  (a protocol without state has nothing to forget)
        """Note missing bytes of `side`: they may have changed any state."""

    def lost(self, side: Side) -> None:
        """Note bytes of `side` that do not decode as a frame: like missing ones, they may have changed any state."""
        self.hole(side)

    def end(self, side: Side) -> None:  # noqa: B027
        """`side` has sent its last byte."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol by name, and how to get at everything it declares."""

    name: str
    title: str
    #: TCP ports on which it is expected, its own first.
    ports: tuple[int, ...]
    #: A new conversation; the argument says whether its first bytes were captured.
    open: Callable[[bool], Conversation]
    #: Every declared message, in the order of the specification.
    messages: tuple[type[Message], ...]
    #: The whole frame that carries a message, as `side` sends it. EncodeError where there is none.
    encode: Callable[[Message, Side], bytes]
    #: The message named so, from its JSON form; the side tells requests from replies of one name.
    from_json: Callable[[str, Side, Mapping[str, Any]], Message]
    #: Whether a side may begin a conversation with these bytes, where that shows; None where it may with any frame.
    begins: Callable[[Side, bytes], bool] | None = None
    #: What of its messages is asked, and what answers and how.
    exchanges: Exchanges = field(default_factory=Exchanges, hash=False)  # it holds dicts
    #: Whether the first bytes of client and server are of another service, though their carrier is that of this
    #: protocol; the last argument says whether no more will come before that is decided.
    disowns: Callable[[bytes, bytes, bool], bool] | None = None
    #: The messages one of which a connection begins with; empty where any may be the first.
    first_messages: frozenset[str] = frozenset()
    #: The kind of encoder for whole connections, where a frame depends on messages before or after it.
    encoder: type[ConnectionEncoder] = ConnectionEncoder
    #: The module that declares its conformance cases in `CONFORMANCE`, imported when they run; empty for none.
    conformance: str = ""
    #: The module that declares its consistency model in `CONSISTENCY`, imported when it is used; empty for none.
    consistency: str = ""
    #: Names of frames that no declaration has.
    undeclared: tuple[str, ...] = ("Unknown",)

    @property
    def message_names(self) -> frozenset[str]:
        """The names that frames may have: declared ones, operations known by name alone, and undeclared ones."""
        declared = (cls.declaration.name for cls in self.messages)
        asked = (name for name, _ in self.exchanges.asks | self.exchanges.may_ask)
        return frozenset((*declared, *asked, *self.undeclared))

    def open_encoder(self) -> ConnectionEncoder:
        """Return an encoder for the messages of a new connection."""
        return self.encoder(self.encode, self.from_json)
