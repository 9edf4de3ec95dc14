"""The messages of a protocol by their kind, and where in their frames things stand."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from wiretool.codec.message import Message, Side
from wiretool.errors import EncodeError
from wiretool.protocols.base.protocol import Protocol

#: Who sends a message, and its name in a record.
Kind = tuple[Side, str]
Form = Mapping[str, Any]


class LengthField(NamedTuple):
    """Where in a frame its length stands, big-endian, and in how many bytes."""

    at: int
    size: int


class Messages:
    """The messages of a protocol by their kind, and attributes of its frames."""

    #: Where the length of every frame stands, if they have one.
    length: LengthField | None = None
    has_checksum = False
    #: Names of frames that are no declared message; either side may send them.
    extra_names: tuple[str, ...] = ("Unknown",)
    #: The sides whose first frames `opening` wants to see.
    greets: frozenset[Side] = frozenset()
    #: What the server keeps: the messages of clients whose data it appends, where our mock can be told how.
    appends: frozenset[str] = frozenset()
    #: Fields of an answer that are called otherwise in what is answered.
    synonyms: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.declared: Mapping[Kind, type[Message]] = {
            (side, cls.declaration.name): cls for cls in protocol.messages for side in _senders(cls)
        }
        sides: tuple[Side, Side] = ("client", "server")
        extra: set[Kind] = {(side, name) for side in sides for name in self.extra_names}
        self.kinds: frozenset[Kind] = frozenset(self.declared) | extra

    def _class_of(self, kind: Kind) -> type[Message]:
        if kind not in self.declared:
            raise EncodeError("has no declared fields", path=kind[1])
        return self.declared[kind]


def _senders(cls: type[Message]) -> tuple[Side, ...]:
    sender = cls.declaration.sender
    if sender == "both":
        return ("client", "server")
    return ("server",) if sender == "server" else ("client",)
