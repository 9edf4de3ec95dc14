"""Mutations of FlatBuffers: offsets out of bounds and in cycles, counts, and vtables that do not fit.

Protocols that carry FlatBuffers name these in their part. Nothing here knows where in a message a buffer is: the
annotated fields show it.
"""

import random
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from wiretool.codec.cursor import Span
from wiretool.fuzz.mutations.base import MessageMutation, MutationContext, region_of
from wiretool.fuzz.sequences.sequence import Change, Sending, Splice

#: The share of changes after which the checksum of the frame fits again.
REPAIRED_SHARE = 0.8
_ROOT, _OFFSET, _COUNT, _SLOT = ".(root)", ".(offset)", ".(count)", ".(slot)"
_VTABLE, _VTABLE_SIZE, _TABLE_SIZE = ".(vtable)", ".(vtable size)", ".(table size)"
_SIGNED = (2**31 - 1, -(2**31), 2**30, -4, 4)
_UNSIGNED = (2**31 - 1, 2**31, 2**32 - 1, 2**32 - 4, 2**30, 65_536)
#: Counts whose product with the size of an element exceeds 32 bits, or a signed number of 32 bits.
_COUNTS = (0, 1, 256, 65_536, 2**28, 2**29, 2**30, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 1)
_SIZES = (0, 1, 2, 3, 4, 5, 65_534, 65_535)


class BufferPlaces(NamedTuple):
    """One FlatBuffer in a message."""

    #: The byte where it begins, and the first one after its last field.
    start: int
    end: int
    spans: list[Span]

    def places(self, suffix: str) -> list[int]:
        """Return where the fields of a kind begin."""
        return [span.offset for span in self.spans if span.path.endswith(suffix)]


def buffers_in(spans: Sequence[Span]) -> list[BufferPlaces]:
    """Return the buffers of a message, by its annotated fields; each begins with an offset to its root."""
    starts = [at for at, span in enumerate(spans) if span.path.endswith(_ROOT)]
    found = []
    for start, stop in pairwise([*starts, len(spans)]):
        name = spans[start].path.removesuffix(_ROOT)
        inside = [span for span in spans[start:stop] if span.path.startswith((f"{name}.", f"{name}["))]
        found.append(BufferPlaces(inside[0].offset, inside[-1].offset + inside[-1].length, inside))
    return found


class _BufferMutation(MessageMutation):
    """A mutation of one number in the structure of a buffer."""

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        places = [
            (span, buffer)
            for buffer in buffers_in(context.spans(sending.data))
            for span in buffer.spans
            if self.takes(span)
        ]
        if not places:
            return None
        span, buffer = rng.choice(places)
        old = sending.data[span.offset : span.offset + span.length]
        top = 256**span.length
        values = sorted({value % top for value in self.values(span, buffer)} - {int.from_bytes(old, "little")})
        if not values:
            return None
        splice = Splice(span.offset, span.length, rng.choice(values).to_bytes(span.length, "little"))
        edits = context.with_checksum(sending, splice) if rng.random() < REPAIRED_SHARE else (splice,)
        return context.edited(sending, edits, Change(self.name, region_of(span)))

    @abstractmethod
    def takes(self, span: Span) -> bool:
        """Return whether it overwrites this field."""

    @abstractmethod
    def values(self, span: Span, buffer: BufferPlaces) -> Iterator[int]:
        """Yield the values that the field may take; negative ones are in two's complement."""


class OffsetOutside(_BufferMutation):
    name = "flatbuffers/outside"
    description = "an offset leads out of the FlatBuffer: to a table, vector, text, vtable or field"

    def takes(self, span: Span) -> bool:
        return span.path.endswith((_ROOT, _OFFSET, _VTABLE, _SLOT))

    def values(self, span: Span, buffer: BufferPlaces) -> Iterator[int]:
        left = buffer.end - span.offset
        if span.path.endswith(_VTABLE):  # counts backwards, and is signed
            yield from (*_SIGNED, -left, 1 - left, 2 - left, span.offset - buffer.start + 1)
        elif span.path.endswith(_SLOT):
            yield from (left, left + 2, 65_535, 65_534, 32_768)
        else:
            yield from (*_UNSIGNED, left, left - 1, left - 3, left + 1)


class OffsetCycle(_BufferMutation):
    name = "flatbuffers/cycle"
    description = "an offset leads to itself, to a table around it, or to another table or vtable"

    def takes(self, span: Span) -> bool:
        return span.path.endswith((_ROOT, _OFFSET, _VTABLE))

    def values(self, span: Span, buffer: BufferPlaces) -> Iterator[int]:
        at = span.offset
        if span.path.endswith(_VTABLE):
            places = {buffer.start, *buffer.places(_VTABLE), *buffer.places(_VTABLE_SIZE)}
            yield from (at - place for place in places)
            return
        places = {buffer.start, at, *buffer.places(_VTABLE), *buffer.places(_VTABLE_SIZE), *buffer.places(_COUNT)}
        yield from (place - at for place in places)


class VectorCount(_BufferMutation):
    name = "flatbuffers/count"
    description = "a vector or text has a count that its buffer cannot hold, or of which the product overflows"

    def takes(self, span: Span) -> bool:
        return span.path.endswith(_COUNT)

    def values(self, span: Span, buffer: BufferPlaces) -> Iterator[int]:
        left = buffer.end - span.offset - 4
        yield from (*_COUNTS, left, left + 1, left // 4 + 1)
        if isinstance(span.value, int):
            yield from (span.value + 1, span.value - 1)


class OddVtable(_BufferMutation):
    name = "flatbuffers/vtable"
    description = "a vtable has an odd or too large size, its table is shorter than its fields, or fields overlap"

    def takes(self, span: Span) -> bool:
        return span.path.endswith((_VTABLE_SIZE, _TABLE_SIZE, _SLOT))

    def values(self, span: Span, buffer: BufferPlaces) -> Iterator[int]:
        value = span.value if isinstance(span.value, int) else 0
        if not span.path.endswith(_SLOT):
            yield from (*_SIZES, value + 1, value - 1, value + 2, value - 2, buffer.end - span.offset + 2)
            return
        table = span.path.removesuffix(_SLOT).rpartition(".")[0]
        others = [
            each.value
            for each in buffer.spans
            if each.path.endswith(_SLOT) and each.path.removesuffix(_SLOT).rpartition(".")[0] == table
        ]
        yield from (0, 1, 2, 3, 4, value + 1, *(each for each in others if isinstance(each, int)))


MUTATIONS = (OffsetOutside(), OffsetCycle(), VectorCount(), OddVtable())
