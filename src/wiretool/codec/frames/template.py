"""Frames that are like one another but for a few numbers: those are read, and all the rest is compared, at once."""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any

from wiretool.codec.cursor import Span
from wiretool.codec.flatbuffers.declaration import Scalar, Table, slots_of
from wiretool.codec.frames.patching import Slot


def span_called(spans: Sequence[Span], path: str) -> Span:
    """The one of `spans` with that path; KeyError where there is none."""
    for span in spans:
        if span.path == path:
            return span
    raise KeyError(path)


def form_in(table: type[Table], name: str) -> str:
    """How a number of a FlatBuffers table is packed, as struct has it: byte order and format character."""
    wire = next(wire for slot, wire, _ in slots_of(table) if slot == name)
    assert isinstance(wire, Scalar), f"{table.__name__}.{name} is not a number"
    return wire.packed.format


def slot_at(spans: Sequence[Span], path: str, form: str) -> Slot:
    """Where the number called `path` is in a frame of which `spans` are the annotated parts."""
    span, struct = span_called(spans, path), Struct(form)
    assert struct.size == span.length, f"{path} has no fixed width"
    return Slot(struct.pack_into, span.offset)


class Stencil:
    """All frames that are `frame`, save for the numbers at some places.

    `places`: by where they begin, how they are packed, all of them in one byte order.
    """

    def __init__(self, frame: bytes, places: Mapping[int, str]) -> None:
        forms = [places[at] for at in sorted(places)]
        assert len({form[0] for form in forms}) == 1, "a template has one byte order"
        form, done, same = forms[0][0], 0, []
        for at, one in zip(sorted(places), forms, strict=True):
            form += f"{at - done}s{one[1:]}"
            same.append(frame[done:at])
            done = at + Struct(one).size
        form += f"{len(frame) - done}s"
        self._struct = Struct(form)
        #: Bytes of a frame.
        self.size = self._struct.size
        self._same = (*same, frame[done:])

    def read(self, data: bytes) -> list[tuple[Any, ...]] | None:
        """The numbers of each frame, in the order of their places; None where `data` is anything but such frames."""
        if len(data) % self.size:
            return None
        same, found = self._same, []
        for parts in self._struct.iter_unpack(data):
            if parts[::2] != same:
                return None
            found.append(parts[1::2])
        return found
