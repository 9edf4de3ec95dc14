"""Messages as layers of Scapy.

`layers_of("pravega")` has a class for each message, and `bind("pravega")` makes Scapy dissect TCP at the ports of a
protocol. Bytes are read and written by the codec of wiretool.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from itertools import pairwise
from keyword import iskeyword
from types import MappingProxyType
from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import Field
from scapy.layers.inet import TCP
from scapy.packet import Packet, Raw, bind_bottom_up

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.layouts import Bit, Counted, NamedNumber, Number, Truth, UuidBytes
from wiretool.codec.message import REQUIRED, Message, Side, fields_of
from wiretool.codec.message import Field as Declared
from wiretool.errors import DecodeError, UsageError
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import protocol_named

#: The only field of messages whose fields depend on more than their name: the values of the JSON form, by name.
VALUES = "values"
_ZERO_UUID = "00000000-0000-0000-0000-000000000000"


class ValueField(Field[Any, Any]):
    """A value of a message; the codec has its bytes."""

    #: A list is one value: Scapy would make a packet for each element.
    islist = 1

    def __init__(self, name: str, default: Any) -> None:
        super().__init__(name, default, "B")

    def any2i(self, pkt: Packet | None, x: Any) -> Any:
        """Return a value as it is."""
        return x

    def i2repr(self, pkt: Packet | None, x: Any) -> str:
        """Return a value as `show` prints it."""
        return repr(x)

    def i2count(self, pkt: Packet | None, x: Any) -> int:
        """Return 1: a value counts once, a list too."""
        return 1


class FrameLayer(Packet):
    """A frame of a protocol: of the class of its message where it is whole, or as Raw where it is not."""

    protocol: ClassVar[Protocol]
    fields_desc: ClassVar[list[Any]] = []

    @classmethod
    def class_for(cls, _pkt: bytes = b"", *args: Any, **kargs: Any) -> type[Packet]:
        """Return the class of the message that bytes begin with; Raw where they are no whole frame."""
        if not _pkt:
            return cls
        side = _side_of(kargs.get("_underlayer"), cls.protocol)
        try:
            found = _first_frame(cls.protocol.open(False), side, bytes(_pkt))
        except DecodeError:
            found = None
        return Raw if found is None else _layer_for(cls.protocol, found[1])

    @classmethod
    def tcp_reassemble(cls, data: bytes, metadata: Mapping[str, Any], session: dict[str, Any]) -> Packet | None:
        """Return the frames that a stream begins with, for sessions of Scapy; None until there is one."""
        side = _side_of(metadata.get("original"), cls.protocol)
        conversation = session.setdefault("wiretool", cls.protocol.open(True))
        layers: list[Packet] = []
        at = 0
        rest: type[Packet] | None = None
        try:
            while (found := _first_frame(conversation, side, data, at)) is not None:
                length, reading = found
                layers.append(_layer_for(cls.protocol, reading).of(reading, side, data[at : at + length]))
                at += length
            rest = conf.padding_layer if layers and at < len(data) else None
        except DecodeError:  # no frame can begin here: Scapy would wait for its end for ever
            rest = Raw
        if rest is not None:
            layers.append(rest(data[at:]))
        for before, layer in pairwise(layers):
            before.add_payload(layer)
        return layers[0] if layers else None


class MessageLayer(Packet):
    """A message in its frame. Values are those of wiretool: texts, numbers, bytes, UUIDs as text."""

    protocol: ClassVar[Protocol]
    message: ClassVar[str]
    declared: ClassVar[type[Message] | None]
    #: The side that has sent it, or that may send it.
    side: Side = "client"
    #: The problems of its bytes.
    problems: Sequence[str] = ()

    @classmethod
    def of(cls, reading: Reading, side: Side, raw: bytes) -> "MessageLayer":
        """Return the layer of a frame that was read."""
        layer = cls()
        layer._take(reading, side, raw)
        return layer

    def _take(self, reading: Reading, side: Side, raw: bytes) -> None:
        values = reading.fields
        self.side = side
        self.problems = tuple(f"{defect.kind}: {defect}" for defect in reading.defects)
        if self.declared is None:
            self.fields = {VALUES: _plain(values)}
        elif isinstance(values, self.declared):
            self.fields = {_name_of(each): _plain(getattr(values, each.name)) for each in fields_of(self.declared)}
        else:
            found = ", ".join((reading.message, *self.problems))
            raise DecodeError("other-message", f"the bytes are not a frame of {self.message}: {found}")
        self.raw_packet_cache = self.original = raw
        self.raw_packet_cache_fields = deepcopy(self.fields)
        self.explicit = 1

    def copy(self) -> "MessageLayer":
        """Return a copy, of the same side."""
        copied: MessageLayer = super().copy()
        copied.side, copied.problems = self.side, self.problems
        return copied

    def do_dissect(self, s: bytes) -> bytes:
        """Read the frame that bytes begin with; return those after it."""
        side = _side_of(self.underlayer, self.protocol)
        found = _first_frame(self.protocol.open(False), side, bytes(s))
        if found is None:
            raise DecodeError("truncated-frame", f"the bytes are not a whole frame of {self.protocol.name}")
        length, reading = found
        self._take(reading, side, bytes(s[:length]))
        return bytes(s[length:])

    def self_build(self) -> bytes:
        """Return its frame: the bytes that were dissected, unless a value was changed. EncodeError for a bad value."""
        if self.raw_packet_cache is not None and self.raw_packet_cache_fields == self.fields:
            return bytes(self.raw_packet_cache)
        return self.protocol.encode(self._message(), self.side)

    def _message(self) -> Message:
        if self.declared is None:
            return self.protocol.from_json(self.message, self.side, self.getfieldval(VALUES) or {})
        values = {}
        for field in fields_of(self.declared):
            value = self.getfieldval(_name_of(field))
            is_json = isinstance(value, dict | list)
            values[field.name] = field.wire.from_json(value, field.name) if is_json else value
        return self.declared(**values)

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Return the layer of the next frame."""
        return frame_layer(self.protocol.name)

    def mysummary(self) -> str:
        """Return the protocol and the message."""
        return f"{self.protocol.name} {self.message}"


def layers_of(protocol: str) -> Mapping[str, type[MessageLayer]]:
    """Return the layer of each message of a protocol by its name. UsageError for an unknown protocol."""
    found = protocol_named(protocol)
    return MappingProxyType({name: layer_of(found, name) for name in sorted(found.message_names)})


def layer_of(protocol: Protocol, message: str) -> type[MessageLayer]:
    """Return the layer of a message of a protocol."""
    # A table is a part of a frame, which may have its name.
    whole = (cls for cls in protocol.messages if not issubclass(cls, Table))
    return _make_layer(protocol, message, next((cls for cls in whole if cls.declaration.name == message), None))


def _layer_for(protocol: Protocol, reading: Reading) -> type[MessageLayer]:
    """Return the layer of a frame that was read: one with `values` alone where it is not read as declared."""
    layer = layer_of(protocol, reading.message)
    is_declared = layer.declared is not None and isinstance(reading.fields, layer.declared)
    return layer if is_declared else _make_layer(protocol, reading.message, None)


@cache
def _make_layer(protocol: Protocol, message: str, declared: type[Message] | None) -> type[MessageLayer]:
    fields = [ValueField(VALUES, None)] if declared is None else [_field(each) for each in fields_of(declared)]
    sender = "client" if declared is None else declared.declaration.sender
    parts = {
        "name": f"{protocol.name} {message}",
        "protocol": protocol,
        "message": message,
        "declared": declared,
        "side": "server" if sender == "server" else "client",
        "fields_desc": fields,
    }
    return type(message, (MessageLayer,), parts)


@cache
def frame_layer(protocol: str) -> type[FrameLayer]:
    """Return the layer that stands for any frame of a protocol. UsageError for an unknown protocol."""
    found = protocol_named(protocol)
    # Scapy calls the hook of a class itself, not one that is inherited.
    hook = FrameLayer.__dict__["class_for"]
    return type(f"{found.name} frame", (FrameLayer,), {"name": found.name, "protocol": found, "dispatch_hook": hook})


def bind(protocol: str, *ports: int) -> None:
    """Make Scapy dissect TCP at these ports, or at those of the protocol. UsageError for a bad protocol or port."""
    layer = frame_layer(protocol)
    chosen = ports or layer.protocol.ports
    if not chosen:
        raise UsageError(f"{protocol}: has no ports of its own; expected bind(protocol, port)")
    for port in chosen:
        if not isinstance(port, int) or not 0 < port < 1 << 16:
            raise UsageError(f"{protocol}: port {port!r}; expected 1 to 65535")
    for port in chosen:
        bind_bottom_up(TCP, layer, sport=port)
        bind_bottom_up(TCP, layer, dport=port)


def _plain(value: Any) -> Any:
    """Return a value of which Scapy can make copies, as it cannot of a view of a mapping."""
    match value:
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return type(value)(_plain(each) for each in value)
        case Message():
            return type(value)(**{each.name: _plain(getattr(value, each.name)) for each in fields_of(type(value))})
        case _:
            return value


def _name_of(declared: Declared) -> str:
    """Return the name of a field in its layer: one that Python reserves ends in an underscore."""
    return f"{declared.name}_" if iskeyword(declared.name) else declared.name


def _field(declared: Declared) -> ValueField:
    default = declared.default
    return ValueField(_name_of(declared), _empty(declared) if default is REQUIRED else _plain(default))


def _empty(declared: Declared) -> Any:
    """Return the default of a required field; None for structures and lists."""
    match declared.wire.layout:
        case Number(only=only):
            return only or 0
        case Truth() | Bit():
            return False
        case UuidBytes():
            return _ZERO_UUID
        case NamedNumber(names):
            return next(iter(names.values()))
        case Counted(content=content):
            return "" if content == "text" else b""
        case _:
            return None


def _first_frame(conversation: Conversation, side: Side, data: bytes, at: int = 0) -> tuple[int, Reading] | None:
    """Return the length and the reading of the frame at a place; None where it is not whole.

    DecodeError where no frame can begin with these bytes.
    """
    length = conversation.extent(side, data, at, len(data))
    if not 0 < length <= len(data) - at:
        return None
    return length, conversation.read(side, data, at, at + length, 1)


def _side_of(underlayer: Packet | None, protocol: Protocol) -> Side:
    """Return the sender of a segment: the server has a port of the protocol."""
    segment = None if underlayer is None else underlayer.getlayer(TCP)
    if segment is None:
        return "client"
    is_of_server = _is_bound(segment, protocol, "sport") and not _is_bound(segment, protocol, "dport")
    return "server" if is_of_server else "client"


def _is_bound(segment: Packet, protocol: Protocol, end: str) -> bool:
    """Return whether a port of a segment is one at which the protocol is dissected."""
    port = segment.getfieldval(end)
    layer = frame_layer(protocol.name)
    return any(rule.get(end) == port and cls is layer for rule, cls in TCP.payload_guess)
