"""A fast way to write messages of fixed width, out of their declaration: one pack of all their fields."""

from collections.abc import Callable
from functools import cache
from struct import Struct

from wiretool.codec.message import Message, fields_of


@cache
def packer(cls: type[Message]) -> Callable[..., bytes]:
    """A function from the raw values of all fields of `cls`, in their order, to its bytes; a UUID is 16 bytes.

    It checks nothing but ranges: struct.error where a value does not fit its field. Every field has a fixed width.
    """
    forms = [field.wire.form for field in fields_of(cls)]
    assert all(forms), f"{cls.__name__} has fields without a fixed width"
    return Struct(">" + "".join(forms)).pack
