"""The declarations of messages as a Kaitai Struct file: the frames of one direction of a connection."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.message import Message, fields_of
from wiretool.export.kaitai.types import TRUTH, Types
from wiretool.export.names import protocol_identifier, snake
from wiretool.export.typed_frames import has_typed_header, irregular_fields
from wiretool.protocols.base.protocol import Protocol

#: The version of the compiler that reads the file: `valid: in-enum` is new in it.
COMPILER_VERSION = "0.11"
_IDENTIFIER = re.compile("[a-z][a-z0-9_]*")


def is_exportable(protocol: Protocol) -> bool:
    """Return whether the frames and messages of a protocol can be described in a .ksy file."""
    return not find_obstacle(protocol)


def find_obstacle(protocol: Protocol) -> str:
    """Return why a protocol cannot be described in a .ksy file; empty where it can."""
    frames = protocol.frames
    if not isinstance(frames, Prefix) or not has_typed_header(frames):
        return "its frames do not begin with a type and a length of four bytes each"
    if irregular := next((path for cls in protocol.messages for path in irregular_fields(cls)), ""):
        return f"{irregular} has no layout that a .ksy file can describe"
    if name := next(_bad_names(protocol), ""):
        return f"the name {name!r} is used twice, or is not an identifier of Kaitai Struct"
    return ""


def _bad_names(protocol: Protocol) -> Iterator[str]:
    """Yield the names that are no identifiers, and those that stand twice in one place."""
    messages = [snake(cls.declaration.name) for cls in protocol.messages]
    yield from _unfit(["frame", "truth", *messages])
    for cls in protocol.messages:
        yield from _unfit_in(_message(cls))


def _unfit_in(made: Mapping[str, Any]) -> Iterator[str]:
    yield from _unfit([*(member["id"] for member in made["seq"]), *made.get("instances", {})])
    for inner in made.get("types", {}).values():
        yield from _unfit_in(inner)
    for values in made.get("enums", {}).values():
        yield from _unfit(list(values.values()))


def _unfit(names: Sequence[str]) -> Iterator[str]:
    yield from (name for name, count in Counter(names).items() if count > 1 or not _IDENTIFIER.fullmatch(name))


def make_kaitai(protocol: Protocol, version: str) -> str:
    """Return the text of a .ksy file for a protocol that `is_exportable`."""
    names = {cls.declaration.type_id: snake(cls.declaration.name) for cls in protocol.messages}
    specification = {
        "meta": {
            "id": protocol_identifier(protocol.name),
            "title": f"{protocol.title} (wiretool {version})",
            "ks-version": COMPILER_VERSION,
            "encoding": "UTF-8",
            "endian": "be",
        },
        "doc": "The frames of one direction of a connection, from its first byte on.",
        "seq": [{"id": "frames", "type": "frame", "repeat": "eos"}],
        "types": {"frame": _frame(protocol, names), "truth": TRUTH}
        | {snake(cls.declaration.name): _message(cls) for cls in protocol.messages},
        "enums": {"message_type": dict(sorted(names.items()))},
    }
    text: str = yaml.dump(specification, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):
    """Indents the elements of lists, and writes what stands in several places each time."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _frame(protocol: Protocol, names: Mapping[int, str]) -> dict[str, Any]:
    """Return the type of a frame: the bytes of an unknown message are left as they are."""
    frames = protocol.frames
    assert isinstance(frames, Prefix)
    cases = {f"message_type::{name}": name for _, name in sorted(names.items())}
    return {
        "seq": [
            {"id": "type", "type": "s4", "enum": "message_type"},
            {"id": "length", "type": "u4", "valid": {"max": frames.length_max}, "doc": "bytes of the message"},
            {"id": "message", "size": "length", "type": {"switch-on": "type", "cases": cases}},
        ]
    }


def _message(cls: type[Message]) -> dict[str, Any]:
    """Return the type of a message, with those of the structures in it."""
    types = Types()
    for field in fields_of(cls):
        assert field.wire.layout is not None, f"{cls.declaration.name}.{field.name} is described by data"
        doc = ". ".join(text for text in (field.doc, f"Unit: {field.unit}" if field.unit else "") if text)
        types.add(field.name, field.wire.layout, if_left=field.if_left, doc=doc)
    types.add_rest()
    return {"doc": cls.declaration.spec, **types.specification()}
