"""Mutations of numbers: boundaries of their type, lengths and counts, types that do not exist."""

import random
import re
from collections.abc import Sequence
from typing import Literal

from wiretool.codec.cursor import Span
from wiretool.fuzz.mutations.base import MessageMutation, MutationContext, region_of
from wiretool.fuzz.sequences.sequence import Change, Sending, Splice

#: Types of spans that are integers: sign, bits.
_INTEGER = re.compile(r"(?:[iu](?:8|16|24|31|32|64)\b|offset$|boolean$|bool$)")
_LENGTH = re.compile(r"length|count|size|slot|vtable|offset|mask bit", re.IGNORECASE)
_KIND = re.compile(r"(?:^|\.)(?:type|opcode|magic|flags|header_format|command)\b", re.IGNORECASE)
#: Values around which parsers break, as positions in the range of an unsigned number of so many bits.
_SMALL = (0, 1, 2, 3, 7, 8, 15, 16, 127, 128, 255, 256, 1023, 1024, 4096, 65_535, 65_536)


def boundaries(bits: int, value: int) -> list[int]:
    """Return unsigned values at the boundaries of a type of `bits` bits, and near `value`."""
    top = 1 << bits
    found = {*_SMALL, top - 1, top - 2, top >> 1, (top >> 1) - 1, (top >> 1) + 1, value - 1, value + 1, value * 2}
    found |= {top - value, value ^ 1, value ^ (top >> 1), (value + 8) % top, top >> 2, (top >> 1) + (top >> 2)}
    found |= {1 << 31, 1 << 32, (1 << 53) + 1}
    return sorted(each for each in found if 0 <= each < top and each != value)


def is_number(span: Span) -> bool:
    """Return whether a field is an integer."""
    return bool(_INTEGER.match(span.type)) and span.length <= 8


def is_little(span: Span, data: bytes) -> bool:
    """Return whether a number is little-endian, where its value shows it; `data` are its bytes."""
    value = span.value
    if not isinstance(value, int) or data == data[::-1]:
        return False
    return int.from_bytes(data, "little", signed=value < 0) == value


class _NumberMutation(MessageMutation):
    """Overwrites one number in the bytes of a message."""

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        spans = [span for span in context.spans(sending.data) if self.takes(span)]
        if not spans:
            return None
        span = rng.choice(spans)
        data = sending.data[span.offset : span.offset + span.length]
        made = self.overwrite(data, rng, is_little=is_little(span, data))
        edits = (Splice(span.offset, span.length, made),)
        return context.edited(sending, edits, Change(self.name, region_of(span)))

    def takes(self, span: Span) -> bool:
        """Return whether it overwrites this field."""
        return is_number(span)

    def overwrite(self, data: bytes, rng: random.Random, *, is_little: bool) -> bytes:
        """Return other bytes for a number, now and then in the other order."""
        order: Literal["little", "big"] = "little" if is_little != (rng.random() < 0.1) else "big"
        value = int.from_bytes(data, order)
        return rng.choice(boundaries(8 * len(data), value)).to_bytes(len(data), order)


class Boundary(_NumberMutation):
    name = "number/boundary"
    description = "a number takes a value at a boundary of its type; lengths and checksums are not corrected"


class LengthOrCount(_NumberMutation):
    name = "number/length"
    description = "a length, count, size or FlatBuffers offset does not fit its content"

    def takes(self, span: Span) -> bool:
        return bool(_LENGTH.search(span.path) or _LENGTH.search(span.type)) and span.length <= 9


class UnknownKind(_NumberMutation):
    name = "number/kind"
    description = "a message type, opcode, magic or flags byte that the protocol does not have"

    def takes(self, span: Span) -> bool:
        return bool(_KIND.search(span.path)) and span.length <= 8

    def overwrite(self, data: bytes, rng: random.Random, *, is_little: bool) -> bytes:
        return rng.randbytes(len(data)) if rng.random() < 0.5 else super().overwrite(data, rng, is_little=is_little)


class OtherValue(MessageMutation):
    name = "field/same-kind"
    description = "a field takes the value of the same field in another message, correctly encoded"

    def fits(self, sending: Sending) -> bool:
        return sending.record is not None

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        others = [step for each in _some(context.others(""), rng) for step in each.sendings if step.data]
        spans = context.spans(sending.data)
        if not others or not spans:
            return None
        span = rng.choice(spans)
        for other in rng.sample(others, min(8, len(others))):
            for found in context.spans(other.data):
                value = other.data[found.offset : found.offset + found.length]
                if found.path == span.path and value != sending.data[span.offset : span.offset + span.length]:
                    splice = Splice(span.offset, span.length, value)
                    return context.edited(
                        sending, context.repaired(sending, splice), Change(self.name, region_of(span))
                    )
        return None


def _some(sequences: Sequence[object], rng: random.Random) -> list:  # type: ignore[type-arg]
    return rng.sample(list(sequences), min(3, len(sequences)))


MUTATIONS = (Boundary(), LengthOrCount(), UnknownKind(), OtherValue())
