"""The declarations of messages as a dissector of Wireshark, in Lua."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from wiretool.codec.frames.prefix import Prefix
from wiretool.export.names import protocol_identifier
from wiretool.export.wireshark import json_messages, tables, typed
from wiretool.export.wireshark.lua import quoted
from wiretool.protocols.base.json_messages import JsonMessages
from wiretool.protocols.base.proto_file import ProtoFile
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.table_frames import TableFrames

#: Fields that frames of every protocol have: the constructor of each, with its label.
_SHARED_FIELDS: Mapping[str, str] = {
    "unframed": "bytes(@, 'bytes without a frame')",
    "response_in": "framenum(@, 'response in', base.NONE, frametype.RESPONSE)",
    "response_to": "framenum(@, 'response to', base.NONE, frametype.REQUEST)",
    "response_time": "relative_time(@, 'response time')",
}
_EXPERTS: Mapping[str, str] = {
    "problem": "'problem', expert.group.MALFORMED, expert.severity.ERROR",
    "unshown": "'elements not shown', expert.group.UNDECODED, expert.severity.NOTE",
    "failure": "'request failed', expert.group.RESPONSE_CODE, expert.severity.NOTE",
}
#: The parts of the dissector that are not generated, in the order in which one uses another.
_RUNTIME = ("head", "values", "positions", "links", "frames", "typed", "tables", "json", "registration")


def make_dissector(protocols: Sequence[Protocol], version: str) -> str:
    """Return the Lua source of a dissector for some protocols, all of which are `is_exportable`."""
    folder = files(__package__).joinpath("runtime")
    parts = [folder.joinpath(f"{name}.lua").read_text().replace("@VERSION@", version) for name in _RUNTIME]
    own: list[str] = []
    taken = set[int]()
    for protocol in protocols:
        own.append(_protocol(protocol, [port for port in protocol.ports if port not in taken]))
        taken.update(protocol.ports)
    # Wireshark asks the last registered heuristic first: on other ports, too, the first protocol has precedence.
    return "\n".join([*parts, *reversed(own)])


def is_exportable(protocol: Protocol) -> bool:
    """Return whether data describes the frames of a protocol, and how each of its messages lies in bytes."""
    frames = protocol.frames
    if isinstance(frames, Prefix):
        return typed.is_typed(protocol, frames)
    return isinstance(frames, (TableFrames, JsonMessages))


def is_read_by_wireshark(protocol: Protocol) -> bool:
    """Return whether Wireshark itself reads the messages of a protocol, with a file that declares them."""
    return isinstance(protocol.frames, ProtoFile)


def _protocol(protocol: Protocol, ports: Sequence[int]) -> str:
    """Return the part of one protocol, in a block: a function of Lua has 200 local variables at most."""
    frames = protocol.frames
    assert isinstance(frames, (Prefix, TableFrames, JsonMessages))
    port_tables: tuple[str, ...] = ("tcp.port", "tls.port")
    prefix, title = protocol_identifier(protocol.name), quoted(protocol.title)
    if isinstance(frames, Prefix):
        own_fields, counted = typed.FRAME_FIELDS, ("type", "length", 8)
        names, fields, dissection = typed.typed_parts(protocol, frames)
    elif isinstance(frames, JsonMessages):
        own_fields, counted, port_tables = json_messages.FRAME_FIELDS, ("type", "length", 0), ("ws.port",)
        names, fields, dissection = json_messages.json_parts(protocol, frames)
    else:
        own_fields, counted = dict(tables.envelope_fields(frames)), ("opcode", "frame_length", 4)
        names, fields, dissection = tables.table_parts(protocol, frames)
    lines = [
        f"do -- {protocol.title}",
        f"local proto = Proto({quoted(prefix)}, {title})",
        "local names = {",
        *names,
        "}",
        "local F = {",
        *_frame_fields(prefix, {**own_fields, **_SHARED_FIELDS}),
        *fields,
        "}",
        "local experts = {",
        *(f"  {name} = ProtoExpert.new({quoted(f'{prefix}.{name}')}, {kind})," for name, kind in _EXPERTS.items()),
        "}",
        "proto.fields, proto.experts = F, experts",
        *dissection,
        f"register_ports(proto, {quoted(','.join(map(str, ports)))}, {{ {', '.join(map(quoted, port_tables))} }})",
        f"register_statistics({quoted(protocol.name)}, {quoted(prefix)}, names, {_counted(prefix, *counted)})",
        "end",
    ]
    return "\n".join(lines) + "\n"


def _counted(prefix: str, kind: str, length: str, uncounted: int) -> str:
    """Return the fields with the kind and the length of a frame, and the bytes that its length does not count."""
    return f"{quoted(f'{prefix}.{kind}')}, {quoted(f'{prefix}.{length}')}, {uncounted}"


def _frame_fields(prefix: str, fields: Mapping[str, str]) -> Iterator[str]:
    for name, made in fields.items():
        yield f"  {name} = ProtoField.{made.replace('@', quoted(f'{prefix}.{name}'))},"
