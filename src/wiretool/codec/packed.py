"""A fast way to write and read messages of fixed width, out of their declaration: all their fields at once."""

from collections.abc import Callable
from functools import cache
from struct import Struct

from wiretool.codec.message import Message, fields_of


@cache
def layout(cls: type[Message], header: str = "") -> Struct:
    """All fields of `cls` in their order, raw (a UUID is 16 bytes), behind a header of such format characters.

    struct.error where a value does not fit its field. Every field has a fixed width.
    """
    forms = [field.wire.form for field in fields_of(cls)]
    assert all(forms), f"{cls.__name__} has fields without a fixed width"
    return Struct(">" + header + "".join(forms))


def packer(cls: type[Message]) -> Callable[..., bytes]:
    """A function from the raw values of all fields of `cls`, in their order, to its bytes; as `layout` has it."""
    return layout(cls).pack
