"""Frames with a type and a length in front of a message, whose members follow one another."""

from collections.abc import Iterator, Sequence

from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.layouts import Bit, CountedTable, Group, Layout, Member, Repeated, Until
from wiretool.codec.message import Message, fields_of


def has_typed_header(frames: Prefix) -> bool:
    """Return whether frames begin with a type and a length of four bytes each, both big-endian."""
    places = (frames.header_bytes, frames.length_at, frames.counted_from)
    return places == (8, 4, 8) and (frames.length_min, frames.order, frames.magic) == (0, ">", None)


def irregular_fields(cls: type[Message]) -> Iterator[str]:
    """Yield the paths of the members of a message whose bytes do not just follow those of the member before.

    They have no layout, or one of a table, of elements up to an end, or with all counts in front. So are bits after the
    first one of a byte where another member is before them, or that have a condition or reserved bits of their own.
    """
    name = cls.declaration.name
    members = []
    for field in fields_of(cls):
        if field.wire.layout is None:
            yield f"{name}.{field.name}"
        else:
            members.append(Member(field.name, field.wire.layout, field.if_left))
    yield from _irregular_members(members, name)


def _irregular_members(members: Sequence[Member], path: str) -> Iterator[str]:
    has_byte = False
    for member in members:
        is_sure = has_byte and not member.if_left
        yield from _irregular_parts(member.layout, f"{path}.{member.name}", has_byte=is_sure)
        has_byte = isinstance(member.layout, Bit)


def _irregular_parts(layout: Layout, path: str, *, has_byte: bool = False) -> Iterator[str]:
    match layout:
        case Until() | CountedTable() | Group(counts_first=True):
            yield path
        case Bit(is_next_byte=False, reserved=reserved) if reserved or not has_byte:
            yield path
        case Group(members):
            yield from _irregular_members(members, path)
        case Repeated(element):
            yield from _irregular_parts(element, path)
