"""A protocol: its name, its ports and its parts, each loaded when it is first needed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial
from importlib import import_module
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, Any, TypeVar

from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.jsonform import fields_from_json, nearest
from wiretool.codec.message import Message, Side
from wiretool.codec.types import JsonSchema, Refer
from wiretool.errors import EncodeError, UsageError, WiretoolError
from wiretool.processes import held_interrupts
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.encoder import ConnectionEncoder
from wiretool.protocols.base.exchanges import Exchanges
from wiretool.protocols.base.plugin_code import plugin_code, tolerated

if TYPE_CHECKING:  # what reads FlatBuffers is loaded with the protocols that have them
    from wiretool.protocols.base.json_messages import JsonMessages
    from wiretool.protocols.base.proto_file import ProtoFile
    from wiretool.protocols.base.table_frames import TableFrames

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """The part of a protocol that every command needs: its messages, and how they lie in a stream."""

    #: A new conversation; the argument says whether its first bytes were captured.
    open: Callable[[bool], Conversation]
    #: Every declared message, in the order of the specification.
    messages: tuple[type[Message], ...]
    #: The whole frame that carries a message, as `side` sends it. EncodeError where there is none.
    encode: Callable[[Message, Side], bytes]
    #: The message named so, from its JSON form; the side tells requests from replies of one name.
    #: None: derived from the declarations.
    from_json: Callable[[str, Side, Mapping[str, Any]], Message] | None = None
    #: Whether a side may begin a conversation with these bytes, where that shows; None where it may with any frame.
    begins: Callable[[Side, bytes], bool] | None = None
    #: What of its messages is asked, and what answers and how. None: derived from the declarations.
    exchanges: Exchanges | None = None
    #: Whether the first bytes of client and server are of another service, though their carrier is that of this
    #: protocol; the last argument says whether no more will come before that is decided.
    disowns: Callable[[bytes, bytes, bool], bool] | None = None
    #: The messages one of which a connection begins with; empty where any may be the first.
    first_messages: frozenset[str] = frozenset()
    #: The kind of encoder for whole connections, where a frame depends on messages before or after it.
    encoder: type[ConnectionEncoder] = ConnectionEncoder
    #: Names of frames that no declaration has.
    undeclared: tuple[str, ...] = ("Unknown",)
    #: The field that names what a whole connection is about, such as the road of a consumer; it names the kind too.
    connection_subject: str = ""
    #: The header of frames, where each begins with the i32 type of its message, or what leads to its tables; the
    #: messages that are JSON objects in WebSocket; the file of declarations of gRPC; None otherwise.
    frames: "Prefix | TableFrames | JsonMessages | ProtoFile | None" = None
    #: The JSON Schema of `fields` in frames of that name, where they differ from the declared ones; else None. The last
    #: argument is whether those of damaged messages are allowed.
    fields_schema: Callable[[str, Refer, bool], JsonSchema | None] | None = None

    def __post_init__(self) -> None:
        """UsageError where `messages` are not classes of messages."""
        if not all(isinstance(cls, type) and issubclass(cls, Message) for cls in self.messages):
            raise UsageError(f"Wire.messages is {short_repr(self.messages)}; expected subclasses of Message")


@cache
def imported(place: str) -> Any:
    """Import what a place, `module:attribute`, names.

    An exception that a signal handler would raise in an import, where it may get lost, waits.
    """
    module, _, attribute = place.partition(":")
    with held_interrupts():
        return getattr(import_module(module), attribute)


def _is_place(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[\w.]+:\w+", value) is not None


def _is_name(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[a-z0-9][a-z0-9._-]*", value) is not None and value != "auto"


def _are_ports(value: object) -> bool:
    return isinstance(value, tuple) and all(type(port) is int and 0 < port <= 0xFFFF for port in value)


#: By field of `Protocol`, the values that it may have; those of all others are places, or empty.
_FIELD_CHECKS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "name": (_is_name, "lower-case letters, digits, '.', '_' and '-', and not 'auto'"),
    "title": (lambda value: isinstance(value, str), "a string"),
    "ports": (_are_ports, "a tuple of TCP ports, such as (6379,)"),
    "wire": (lambda value: isinstance(value, Wire) or _is_place(value), "'module:attribute', or a Wire"),
    "rank": (lambda value: type(value) is int, "a whole number"),
}
_PLACE_CHECK = (lambda value: value == "" or _is_place(value), "'module:attribute'")


@dataclass(frozen=True, eq=False, kw_only=True)
class Protocol:
    """The registration of a protocol, which its entry point in the group `wiretool.protocols` names.

    A part is given as `module:attribute` and imported when it is first needed; an empty one is a capability that the
    protocol does not have, or for which the engine has a default.
    """

    name: str
    title: str
    #: TCP ports on which it is expected, its own first.
    ports: tuple[int, ...]
    #: Messages and framing: a `Wire`, or where it is.
    wire: str | Wire
    #: The place in lists, and among protocols that fit a connection alike: the lowest is taken, so newer before older.
    rank: int = 100
    #: The column path: a `ProtocolColumns`. Without, frames are read one by one.
    columns: str = ""
    #: Where events lie in frames, for tables of events: an `EventLayout`.
    events: str = ""
    #: The schema of open conversations between two batches of a stream: a `ConversationState`.
    state: str = ""
    #: The mock server: a `ServerPart`.
    server: str = ""
    #: Faults beyond those that its declarations allow: called with the protocol, it returns a `FaultAdapter`.
    faults: str = ""
    #: Replay: called with the protocol, it returns a `ReplayAdapter`.
    replay: str = ""
    #: Load: a `LoadPart`.
    load: str = ""
    #: Conformance cases: a `Conformance`.
    conformance: str = ""
    #: The consistency model: a subclass of `Consistency`.
    consistency: str = ""
    #: Mutations of its own, and more: a `FuzzPart`.
    fuzz: str = ""

    def __post_init__(self) -> None:
        """UsageError for a field with a value that it cannot have."""
        for each in fields(self):
            is_right, expected = _FIELD_CHECKS.get(each.name, _PLACE_CHECK)
            if not is_right(value := getattr(self, each.name)):
                raise UsageError(f"Protocol.{each.name} is {short_repr(value)}; expected {expected}")

    def part(self, name: str, kind: type) -> Any:
        """Return a part by the name of its field, None where there is none.

        UsageError where a plugin's part cannot be loaded, or is not of that kind.
        """
        place = getattr(self, name)
        if not place or self._is_built_in(name):
            return imported(place) if place else None
        with plugin_code(f"{self._named(name)} does not load"):
            return _checked(imported(place), kind)

    def run_part(
        self,
        name: str,
        make: Callable[[], Any],
        kind: type,
        *,
        passes: tuple[type[WiretoolError], ...] = (WiretoolError,),
    ) -> Any:
        """Return what code of a part makes; UsageError where that of a plugin fails, or makes another kind of object.

        The exceptions in `passes` are raised as they are, such as the refusal of an option.
        """
        if self._is_built_in(name):
            return make()
        with plugin_code(f"{self._named(name)} fails", passes=passes):
            made = make()
        with plugin_code(f"{self._named(name)} returns an object of the wrong type"):
            return _checked(made, kind)

    def made(self, name: str, kind: type, *args: object, **options: object) -> Any:
        """Return what the factory that a part names makes of these arguments, None where there is none."""
        make = self.part(name, object)
        return None if make is None else self.run_part(name, lambda: make(*args, **options), kind)

    def attempt(self, look: Callable[[], T], otherwise: T) -> T:
        """Return the result of a look at bytes, which may be of another protocol.

        `otherwise`: the result if the framing of a plugin fails on them, which is kept as a failure.
        """
        if self._is_built_in("wire"):
            return look()
        with tolerated(f"{self._named('wire')} fails on bytes of a connection"):
            return look()
        return otherwise

    def _is_built_in(self, name: str) -> bool:
        """Return whether a part is of this package: its failure is a bug."""
        return str(getattr(self, name)).startswith("wiretool.")

    def _named(self, name: str) -> str:
        """Return a part as errors name it."""
        place = getattr(self, name)
        return f"protocol {self.name!r}: its part {name!r}" + (f" ({place})" if isinstance(place, str) else "")

    @cached_property
    def failure(self) -> str:
        """Return why messages and framing of a plugin do not load; empty where they do."""
        try:
            _ = self._is_built_in("wire") or self._wire
        except UsageError as err:
            return str(err)
        return ""

    @cached_property
    def _wire(self) -> Wire:
        wire: Wire = self.wire if isinstance(self.wire, Wire) else self.part("wire", Wire)
        if not self._is_built_in("wire"):
            self.run_part("wire", partial(wire.open, False), Conversation, passes=())  # a method may be missing
        return wire

    @property
    def open(self) -> Callable[[bool], Conversation]:
        """See `Wire`, as for all that follow."""
        return self._wire.open

    @property
    def messages(self) -> tuple[type[Message], ...]:
        return self._wire.messages

    @property
    def encode(self) -> Callable[[Message, Side], bytes]:
        return self._wire.encode

    @cached_property
    def from_json(self) -> Callable[[str, Side, Mapping[str, Any]], Message]:
        return self._wire.from_json or partial(
            _declared_from_json, {cls.declaration.name: cls for cls in self.messages}
        )

    @property
    def begins(self) -> Callable[[Side, bytes], bool] | None:
        return self._wire.begins

    @cached_property
    def exchanges(self) -> Exchanges:
        return self._wire.exchanges or Exchanges.declared(self.messages)

    @property
    def disowns(self) -> Callable[[bytes, bytes, bool], bool] | None:
        return self._wire.disowns

    @property
    def first_messages(self) -> frozenset[str]:
        return self._wire.first_messages

    @property
    def frames(self) -> "Prefix | TableFrames | JsonMessages | ProtoFile | None":
        return self._wire.frames

    def fields_schema(self, name: str, refer: Refer, may_be_damaged: bool) -> JsonSchema | None:
        make = self._wire.fields_schema
        return None if make is None else self.run_part("wire", lambda: make(name, refer, may_be_damaged), object)

    @property
    def encoder(self) -> type[ConnectionEncoder]:
        return self._wire.encoder

    @property
    def connection_subject(self) -> str:
        return self._wire.connection_subject

    @property
    def message_names(self) -> frozenset[str]:
        """The names that frames may have: declared ones, operations known by name alone, and undeclared ones."""
        declared = (cls.declaration.name for cls in self.messages)
        asked = (name for name, _ in self.exchanges.asks | self.exchanges.may_ask)
        return frozenset((*declared, *asked, *self._wire.undeclared))

    def open_encoder(self) -> ConnectionEncoder:
        """Return an encoder for the messages of a new connection."""
        return self.encoder(self.encode, self.from_json)


def _declared_from_json(
    declared: Mapping[str, type[Message]], name: str, side: Side, fields: Mapping[str, Any]
) -> Message:
    """Return the message named so from its JSON form; EncodeError where none is declared with that name."""
    if name not in declared:
        raise EncodeError(f"no message is called {name!r}{nearest(name, declared)}")
    return fields_from_json(declared[name], dict(fields), name)


def _checked(found: object, kind: type) -> object:
    """Return an object that is of a kind; UsageError for another."""
    if not isinstance(found, kind):
        raise UsageError(f"it is of the type {type(found).__name__}; expected {kind.__name__}")
    return found
