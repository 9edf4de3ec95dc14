"""The fast reader of FlatBuffers: straight-line Python written from a table's declaration.

Whatever is out of the ordinary (a bound broken, a required field missing, a limit reached) makes it give up and leave
the buffer to the reference reader, so the two cannot differ on errors.
"""

import struct
from collections.abc import Callable
from typing import Any

from wiretool import limits
from wiretool.codec.flatbuffers.declaration import (
    BytesSlot,
    Scalar,
    ScalarsSlot,
    SlotType,
    StringSlot,
    Table,
    TableSlot,
    TablesSlot,
    UnionSlot,
    slots_of,
)
from wiretool.codec.flatbuffers.reader import Found, read_root
from wiretool.errors import DecodeError

_U32 = struct.Struct("<I").unpack_from
#: buffer, position of the table, depth, [tables left, bytes left] -> the table.
Function = Callable[[bytes, int, int, list[int]], Any]


class Doubt(Exception):
    """The fast reader cannot say what this is."""


def read_fast(
    cls: type[Table], data: bytes, at: int = 0, end: int | None = None, *, kind: str = "bad_flatbuffer"
) -> Found:
    """What `read_root` gives, values and errors, but sooner."""
    raw = data[at:] if end is None else data[at:end]
    size = len(raw)
    left = [min(limits.FLATBUFFER_TABLES_MAX, size), limits.FLATBUFFER_SHARING_MAX * size]
    try:
        return Found(function_of(cls)(raw, _U32(raw, 0)[0], 1, left))
    except (Doubt, struct.error, UnicodeDecodeError):
        return read_root(cls, data, at, end, kind=kind)


def decode_root(
    cls: type[Table], data: bytes, at: int = 0, end: int | None = None, *, kind: str = "bad_flatbuffer"
) -> Any:
    """The table, with nothing missing: DecodeError `missing_required_field` names the first required field it lacks."""
    value, missing = read_fast(cls, data, at, end, kind=kind)
    if missing:
        raise missing_error(missing, at)
    return value


def missing_error(missing: tuple[str, ...], offset: int) -> DecodeError:
    """The error for required fields that a table lacks."""
    more = f", nor are {len(missing) - 1} more" if len(missing) > 1 else ""
    why = f"{missing[0]} is required and not there{more}"
    return DecodeError("missing_required_field", why, path=missing[0], offset=offset)


_made: dict[type[Table], Function] = {}


def function_of(cls: type[Table]) -> Function:
    """The function that reads a table of `cls`; made once."""
    if cls not in _made:
        names: dict[str, Any] = {
            "cls": cls,
            "Doubt": Doubt,
            "u32": _U32,
            "i32": struct.Struct("<i").unpack_from,
            "u16": struct.Struct("<H").unpack_from,
            "unpack_from": struct.unpack_from,
        }
        exec(compile(_source(cls, names), f"<reader of {cls.__name__}>", "exec"), names)
        _made[cls] = names["read"]
        for child in _children(cls):
            names[f"read_{child.__name__}"] = function_of(child)
    return _made[cls]


def _children(cls: type[Table]) -> list[type[Table]]:
    out: list[type[Table]] = []
    for _, wire, _ in slots_of(cls):
        if isinstance(wire, TableSlot | TablesSlot):
            out.append(wire.cls)
        elif isinstance(wire, UnionSlot):
            out += wire.classes.values()
    return out


def _source(cls: type[Table], names: dict[str, Any]) -> str:
    slots = slots_of(cls)
    count = len(slots)
    names["by_count"] = [struct.Struct(f"<{have}H").unpack_from for have in range(count + 1)]
    names["zeros"] = [(0,) * (count - have) for have in range(count + 1)]
    offsets = "".join(f"o{index}, " for index in range(count))
    lines = [
        "def read(b, p, d, s):",
        f"    if d > {limits.NESTING_MAX}: raise Doubt",
        "    v = p - i32(b, p)[0]",
        "    if v < 0: raise Doubt",
        "    n = u16(b, v)[0]",
        "    if n < 4 or n & 1 or v + n > len(b): raise Doubt",
        "    s[0] -= 1",
        "    if s[0] < 0: raise Doubt",
        "    n = n - 4 >> 1",
        f"    if n > {count}: n = {count}",
        f"    {offsets}= by_count[n](b, v + 4) + zeros[n]" if count else "",
    ]
    for index, (name, wire, default) in enumerate(slots):
        lines.append(f"    if o{index}:")
        lines += [f"        {line}" for line in _slot(index, name, wire, names)]
        lines.append("    else:")
        names[f"default_{index}"] = default
        lines.append("        raise Doubt" if wire.is_required else f"        f_{name} = default_{index}")
    arguments = ", ".join(f"{name}=f_{name}" for name, _, _ in slots)
    lines.append(f"    return cls({arguments})")
    return "\n".join(lines) + "\n"


def _slot(index: int, name: str, wire: SlotType, names: dict[str, Any]) -> list[str]:
    if isinstance(wire, Scalar):
        unpack = "unpack_" + wire.form.replace("?", "t")
        names[unpack] = wire.packed.unpack_from
        return [f"f_{name} = {unpack}(b, p + o{index})[0]"]
    follow = [f"q = p + o{index}", "q += u32(b, q)[0]"]
    if isinstance(wire, TableSlot):
        return [*follow, f"f_{name} = read_{wire.cls.__name__}(b, q, d + 1, s)"]
    if isinstance(wire, UnionSlot):
        return [*follow, *_member(name, wire)]
    if isinstance(wire, StringSlot):
        return [*follow, *_counted(1), f"f_{name} = b[q:e].decode()"]
    if isinstance(wire, BytesSlot):
        return [*follow, *_counted(1), f"f_{name} = b[q:e]"]
    if isinstance(wire, TablesSlot):
        each = f"[read_{wire.cls.__name__}(b, r + u32(b, r)[0], d + 1, s) for r in range(q, e, 4)]"
        return [*follow, *_counted(4), f"f_{name} = tuple({each})"]
    assert isinstance(wire, ScalarsSlot)
    element = wire.element
    return [*follow, *_counted(element.inline), f"f_{name} = unpack_from('<%d{element.form}' % c, b, q)"]


def _counted(width: int) -> list[str]:
    """Lines that leave a vector's first byte in q, its end in e and its count in c."""
    length = f"{width} * c" if width > 1 else "c"
    return [
        "c = u32(b, q)[0]",
        "q += 4",
        f"e = q + {length}",
        "if e > len(b): raise Doubt",
        f"s[1] -= {length}",
        "if s[1] < 0: raise Doubt",
    ]


def _member(name: str, wire: UnionSlot) -> list[str]:
    lines: list[str] = []
    for tag, cls in wire.classes.items():
        word = "elif" if lines else "if"
        lines += [f"{word} f_{wire.tag} == {tag}:", f"    f_{name} = read_{cls.__name__}(b, q, d + 1, s)"]
    return [*lines, "else:", f"    f_{name} = None"]
