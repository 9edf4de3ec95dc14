"""What is declared, as a reference page for people."""

import inspect
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from wiretool.codec.flatbuffers.declaration import TableSlot, TablesSlot
from wiretool.codec.json_types import JsonList
from wiretool.codec.message import REQUIRED, Declaration, Field, Message, fields_of
from wiretool.codec.nested import Nested
from wiretool.codec.types import ListOf, WireType
from wiretool.protocols.base.protocol import Protocol
from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.tables import Head, table_text
from wiretool.sinks.text.wrapping import wrap_lines

#: Columns from which on a field's meaning stands beside it.
WIDE = 120
#: How deep structures in structures are laid out.
DEPTH_MAX = 4
SENDERS = {"client": "the client", "server": "the server", "both": "both sides", "block": "inside append blocks"}
_LIST = (Head("type", True, style="dim"), Head("message", style="bold"), Head("sent by"), Head("", folds=True))
_LAYOUT = (
    Head("field"),
    Head("type", style="dim"),
    Head("bytes", True),
    Head("since", True),
    Head("default"),
    Head("meaning", folds=True),
)


def overview(protocols: Sequence[Protocol], *, colour: bool = False, width: int = 0) -> str:
    """All messages, by protocol."""
    return "\n".join(_overview(protocol, colour, width) for protocol in protocols)


def _overview(protocol: Protocol, colour: bool, width: int) -> str:
    rows = [
        (_number(declared), declared.name, SENDERS[declared.sender], meaning(cls)[0])
        for cls in protocol.messages
        if (declared := declaration_of(cls)) is not None
    ]
    return table_text(f"{protocol.name}: {protocol.title}", _LIST, rows, colour=colour, width=width)


def page(protocol: Protocol, cls: type[Message], *, colour: bool = False, width: int = 0) -> str:
    """One message: what it means, who sends it, its clause and its layout."""
    paint = Colour(colour)
    declared = declaration_of(cls)
    lines = [f"{paint.bold(name_of(cls))}  {paint.dim(protocol.name)}", *(f"  {line}" for line in meaning(cls))]
    if declared is not None:
        number = f"type {_number(declared)}, " if _number(declared) else ""
        failure = ", reports that a request failed" if declared.is_failure else ""
        since = f", since version {declared.since}" if declared.since else ""
        lines.append(f"  {number}sent by {SENDERS[declared.sender]}{failure}{since}")
        lines.append(f"  {paint.dim('clause')} {declared.spec}")
    layout = _layout(list(_rows(cls, "", 0)), paint, width) or "  no fields\n"
    return wrap_lines(lines, width) + "\n" + layout


def _layout(rows: list[tuple[str, ...]], paint: Colour, width: int) -> str:
    """The fields as a table; where a terminal is narrow, what they mean stands below each."""
    if not rows or not 0 < width < WIDE:
        return table_text("", _LAYOUT, rows, colour=paint.is_on, width=width) if rows else ""
    table = table_text("", _LAYOUT[:-1], [row[:-1] for row in rows], colour=paint.is_on, width=width).splitlines()
    out = table[:1]
    for line, row in zip(table[1:], rows, strict=True):
        out.append(line)
        indent = " " * (len(row[0]) - len(row[0].lstrip()) + 4)
        out += [paint.dim(part) for part in wrap(row[-1], width, initial_indent=indent, subsequent_indent=indent)]
    return "".join(f"{line}\n" for line in out)


def as_json(protocol: Protocol, cls: type[Message]) -> dict[str, Any]:
    """The same for a program."""
    declared = declaration_of(cls)
    out: dict[str, Any] = {"protocol": protocol.name, "message": name_of(cls), "meaning": " ".join(meaning(cls))}
    if declared is not None:
        out |= {"type": declared.type_id, "sender": declared.sender, "clause": declared.spec}
        out |= {"since": declared.since, "failure": declared.is_failure}
    names = ("field", "type", "bytes", "since", "default", "meaning")
    out["fields"] = [dict(zip(names, row, strict=True)) for row in _rows(cls, "", 0)]
    return out


def declaration_of(cls: type[Message]) -> Declaration | None:
    """What a class declares itself; None for a structure."""
    return cls.__dict__.get("declaration")


def name_of(cls: type[Message]) -> str:
    """The protocol's own name, with the class's where it differs."""
    declared = declaration_of(cls)
    if declared is None or declared.name == cls.__name__:
        return cls.__name__
    return f"{declared.name} ({cls.__name__})"


def meaning(cls: type[Message]) -> list[str]:
    """The lines of the declaration's docstring."""
    return (inspect.cleandoc(cls.__doc__) if cls.__doc__ else "").splitlines() or [""]


def _number(declared: Declaration) -> str:
    return str(declared.type_id) if declared.type_id > -(2**31) else ""


def _rows(cls: type[Message], indent: str, depth: int) -> Iterator[tuple[str, ...]]:
    for field in fields_of(cls):
        yield (
            f"{indent}{field.name}",
            field.wire.name,
            _width(field.wire),
            str(field.since or ""),
            _default(field),
            " · ".join(part for part in (field.unit, field.doc) if part),
        )
        inner = inside(field.wire)
        if inner is not None and depth < DEPTH_MAX:
            yield from _rows(inner, f"{indent}  ", depth + 1)


def inside(wire: WireType) -> type[Message] | None:
    """The structure that a field is, or is a list of."""
    while isinstance(wire, ListOf | JsonList):
        wire = wire.element
    return wire.cls if isinstance(wire, Nested | TableSlot | TablesSlot) else None


def _width(wire: WireType) -> str:
    if wire.form and wire.size_min:
        return str(wire.size_min)
    return f"{wire.size_min}+" if wire.size_min else ""


def _default(field: Field) -> str:
    if field.default is REQUIRED:
        return ""
    shown = field.default.hex() if isinstance(field.default, bytes) else field.default
    text = "" if shown is None else str(shown).lower() if isinstance(shown, bool) else str(shown)
    return f"{text or 'none'} (optional)" if field.is_optional else text
