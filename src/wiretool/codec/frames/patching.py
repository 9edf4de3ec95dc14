"""Frames that are sent again and again with other numbers in them: encoded once, changed in place."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

from wiretool.codec.cursor import Span
from wiretool.codec.message import Message, fields_of


class Slot(NamedTuple):
    """Fields that stand side by side in a frame: `put(frame, at, *values)` writes them, raw and in their order."""

    put: Callable[..., None]
    at: int


def slot_of(cls: type[Message], spans: Sequence[Span], *names: str, order: str = ">") -> Slot:
    """Where the fields called `names` of `cls` are in an encoded frame, of which `spans` are the annotated parts.

    They have a fixed width and stand side by side. `put` raises struct.error where a value does not fit.
    """
    forms = {field.name: field.wire.form for field in fields_of(cls)}
    found = {span.path: span for span in spans}
    chosen = [found[f"{cls.__name__}.{name}"] for name in names]
    for left, right in pairwise(chosen):
        assert left.offset + left.length == right.offset, f"{left.path} and {right.path} do not stand side by side"
    struct = Struct(order + "".join(forms[name] for name in names))
    assert struct.size == sum(span.length for span in chosen), f"{names} have no fixed width"
    return Slot(struct.pack_into, chosen[0].offset)
