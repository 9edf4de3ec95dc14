"""Lua code that reads the fields of one message and adds them to the tree, from their layouts."""

import re
from collections.abc import Callable, Collection, Iterator

from wiretool.codec.layouts import (
    Bit,
    Counted,
    Group,
    Layout,
    Measured,
    Member,
    NamedNumber,
    Number,
    Repeated,
    Rest,
    Truth,
    UuidBytes,
)
from wiretool.codec.message import Field, Message, fields_of
from wiretool.export.wireshark.lua import quoted, raw_literal

#: Bytes of a number, by its character for `struct`.
WIDTHS = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8}

#: Returns the key of the field with a path, in the table of fields.
Names = Callable[[str], str]


def read_function(cls: type[Message], names: Names, linked: Collection[str]) -> str:
    """Return a Lua function that adds the fields of a message to a tree; it returns where they end.

    For a message that breaks its declaration it returns nil, and where the fields end that it could read.

    The bytes of fields whose values link requests to replies, `linked`, are left in the table `values`.
    """
    lines: list[str] = []
    for field in fields_of(cls):
        assert field.wire.layout is not None
        member = Member(field.name, field.wire.layout, field.if_left)
        lines += _linked(member, names, field) if field.name in linked else _member(member, field.name, names)
    body = "".join(f"      {line}\n" for line in lines)
    return f"function(t, b, at, stop, values)\n{body}      return at\n    end"


def tells_its_end(cls: type[Message]) -> bool:
    """Return whether the fields of a message tell where it ends, so that few bytes are such a message by chance."""
    return not any(isinstance(field.wire.layout, Rest) for field in fields_of(cls))


def _linked(member: Member, names: Names, field: Field) -> Iterator[str]:
    """Yield the lines that read a field whose bytes link replies; where it is missing they are those of its default."""
    yield "do"
    yield "  local from = at"
    yield from (f"  {line}" for line in _member(member, member.name, names))
    yield f"  if at > from then values.{member.name} = b:raw(from, at - from) end"
    if field.is_optional:
        default = bytearray()
        field.wire.write(field.default, default, field.name)
        yield f"  if at == from then values.{member.name} = {raw_literal(default)} end"
    yield "end"


def _member(member: Member, path: str, names: Names) -> Iterator[str]:
    """Yield the lines that read one member, where it is there."""
    conditions = []
    if member.if_left:
        conditions.append(f"stop - at >= {member.if_left}")
    if member.if_any:
        conditions.append(f"{member.if_any} ~= 0")
    lines = _value(member.layout, path, names)
    if conditions:
        yield f"if {' and '.join(conditions)} then"
        yield from (f"  {line}" for line in lines)
        yield "end"
    else:
        yield from lines


def _value(layout: Layout, path: str, names: Names) -> Iterator[str]:
    match layout:
        case Group(members):
            yield from _group(members, path, names)
        case Repeated():
            yield from _repeated(layout, path, names)
        case Counted(count, content, negative_is_empty):
            width = WIDTHS[count.form]
            sign = "int" if count.form.islower() else "uint"
            call = f"counted_{content}(t, b, at, stop, F[{quoted(names(path))}], {width}, {quoted(sign)}"
            yield from _moved(f"{call}, {_truth(negative_is_empty)}, {quoted(path)})")
        case Measured(by):
            yield from _moved(f"measured(t, b, at, stop, F[{quoted(names(path))}], {by}, {quoted(path)})")
        case Rest("zeros"):
            yield f"if at < stop then t:add(F[{quoted(names(path))}], b(at, stop - at), stop - at) end"
            yield "at = stop"
        case Rest():
            yield f"if at < stop then t:add(F[{quoted(names(path))}], b(at, stop - at)) end"
            yield "at = stop"
        case Bit(_, is_next_byte, reserved):
            if reserved:
                is_set = " or ".join(f"b(at, 1):bitfield({first}, {count}) ~= 0" for first, count in _runs(reserved))
                yield from _refused(f"({is_set})", "reserved-bits-set", 1, path)
            if is_next_byte:
                yield from _fixed(1, path, names)
            else:
                yield f"t:add(F[{quoted(names(path))}], b(at - 1, 1))"
        case NamedNumber(values, kind):
            yield f"local number = at < stop and b(at, 1):uint() or {next(iter(values))}"
            unknown = " and ".join(f"number ~= {value}" for value in values)
            yield from _refused(unknown, kind, 1, path)
            yield from _fixed(1, path, names)
        case Number(form, only, within_left):
            yield from _number(form, only, path, names, within_left=within_left)
        case _:
            yield from _fixed(_width(layout), path, names)


def _moved(call: str) -> Iterator[str]:
    """Yield the lines that go to the end of the value that a call reads."""
    yield f"local after = {call}"
    yield "if not after then return nil, at end"
    yield "at = after"


def _number(form: str, only: int | None, path: str, names: Names, *, within_left: bool) -> Iterator[str]:
    width = WIDTHS[form]
    sign = "int" if form.islower() else "uint"
    value = f"b(at, {width}):{sign if width < 8 else f'{sign}64'}()"
    if only is not None:
        yield from _checked(f"{value} ~= {only}", "bad-nested-type", width, path, names)
    elif within_left:
        yield from _checked(f"{value} > stop - at", "bad-nested-length", width, path, names)
    yield from _fixed(width, path, names)


def _runs(mask: int) -> Iterator[tuple[int, int]]:
    """Yield the first bit of each run of set bits in a byte, from the highest one on, and their number."""
    for run in re.finditer("1+", f"{mask:08b}"):
        yield run.start(), len(run[0])


def _refused(is_bad: str, kind: str, width: int, path: str) -> Iterator[str]:
    """Yield the lines that end a message at a value that no reader takes."""
    yield f"if stop - at >= {width} and {is_bad} then return bad(t, b, at, stop, {quoted(kind)}, {quoted(path)}) end"


def _checked(is_bad: str, kind: str, width: int, path: str, names: Names) -> Iterator[str]:
    yield f"if stop - at >= {width} and {is_bad} then"
    yield f"  t:add(F[{quoted(names(path))}], b(at, {width}))"
    yield f"  return bad(t, b, at + {width}, stop, {quoted(kind)}, {quoted(path)})"
    yield "end"


def _width(layout: Layout) -> int:
    match layout:
        case Truth():
            return 1
        case UuidBytes():
            return 16
        case _:
            raise AssertionError(layout)


def _fixed(width: int, path: str, names: Names) -> Iterator[str]:
    yield f"if stop - at < {width} then return short(t, b, at, stop, {quoted(path)}) end"
    yield f"t:add(F[{quoted(names(path))}], b(at, {width}))"
    yield f"at = at + {width}"


def _group(members: tuple[Member, ...], path: str, names: Names) -> Iterator[str]:
    """Yield the lines that read a structure, in a tree of its own."""
    yield "do"
    yield "  local outer, from = t, at"
    yield f"  local t = outer:add(b(at, stop - at), {quoted(path.rpartition('.')[2])})"
    measures = {member.layout.by for member in members if isinstance(member.layout, Measured)}
    for member in members:
        if member.name in measures:
            yield f"  local {member.name} = stop - at >= 4 and b(at, 4):int() or 0"
        yield from (f"  {line}" for line in _member(member, f"{path}.{member.name}", names))
    yield "  t:set_len(at - from)"
    yield "end"


def _repeated(layout: Repeated, path: str, names: Names) -> Iterator[str]:
    yield "do"
    yield f"  if stop - at < 4 then return short(t, b, at, stop, {quoted(path)}) end"
    yield "  local count = b(at, 4):int()"
    yield f"  t:add(F[{quoted(names(f'{path}.count'))}], b(at, 4))"
    limits = [] if layout.negative_is_empty else ["count < 0"]
    if layout.count_max is not None:
        limits.append(f"count > {layout.count_max}")
    if limits:
        yield f"  if {' or '.join(limits)} then return bad(t, b, at + 4, stop, 'bad-count', {quoted(path)}) end"
    yield "  at = at + 4"
    yield "  local list = t"
    yield "  for _ = 1, count do"
    yield f"    if at >= stop then return short(t, b, at, stop, {quoted(path)}) end"
    yield "    local t = tree_for_element(list)"
    yield from (f"    {line}" for line in _value(layout.element, path, names))
    yield "  end"
    yield "end"


def _truth(value: bool) -> str:
    return "true" if value else "false"
