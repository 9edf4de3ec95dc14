"""Mutations of fields in the JSON form of a message: the encoder writes them with correct lengths and checksums."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wiretool.errors import EncodeError
from wiretool.fuzz.mutations.base import MessageMutation, MutationContext
from wiretool.fuzz.sequences.sequence import Change, Sending, SetField

#: Texts that programs mishandle: empty, with separators, long, format strings, NUL, beyond the BMP.
TEXTS = (
    "", "/", "//", ".", "..", "a", "a/b", "/a/b/c", "a/b/c/d", "a/b/0.#epoch.0", "_system", "%s%n", "\x00", "\t\n",
    "\u00e9", "\U0001f600", "\ud800", "-1", "null", "A" * 255, "A" * 4096, "a/" * 100, "#epoch.0", "a/b/-1.#epoch.-1",
)  # fmt: skip
#: Elements of one list that are changed.
ELEMENTS_MAX = 12
_OTHERS: tuple[Any, ...] = (0, "", [], {}, -1)
_NUMBERS = (
    0, 1, -1, 2, 7, 100, 127, 128, -128, 255, 256, 32_767, 65_536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62,
    2**63 - 1, -(2**63), 2**63, 2**64,
)  # fmt: skip


class FieldValue(MessageMutation):
    name = "field/value"
    description = "a field takes a value that is odd for it, correctly encoded"

    def fits(self, sending: Sending) -> bool:
        return sending.record is not None

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        record = sending.record
        assert record is not None
        if not context.has_fields(record):
            return None
        form = context.adapter.form(record)
        places = list(leaves_of(form))
        if not places:
            return None
        steps, value = rng.choice(places)
        for _ in range(6):
            other = other_value(value, rng)
            try:
                context.check_field(record, SetField(steps, other))
            except EncodeError:
                continue
            change = Change(self.name, ".".join("[]" if isinstance(step, int) else step for step in steps))
            return context.edited(sending, (SetField(steps, other),), change)
        return None


def leaves_of(form: Any, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the values of a JSON form that contain no others, with the steps to them, and lists as a whole."""
    if isinstance(form, Mapping) and form:
        for name, value in form.items():
            yield from leaves_of(value, (*steps, name))
    elif isinstance(form, list | tuple) and form and len(steps) < 8:
        yield steps, form
        for at, each in enumerate(form[:ELEMENTS_MAX]):
            yield from leaves_of(each, (*steps, at))
    elif steps:
        yield steps, form


def other_value(value: Any, rng: random.Random) -> Any:
    """Return a value in the place of another: mostly of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(_near(value)) if rng.random() < 0.4 else rng.choice(_NUMBERS)
    if isinstance(value, str):
        if rng.random() < 0.3 and value:
            at = rng.randrange(len(value))
            return value[:at] + rng.choice(("", value[at:] * 2, "0", "f", "z", "/", ".")) + value[at + 1 :]
        return rng.choice(_texts(value))
    if isinstance(value, list | tuple):
        return rng.choice(_lists(value))
    return rng.choice(_OTHERS)


def odd_values(value: Any) -> Iterator[Any]:
    """Yield each value that `other_value` may return, those with a random part aside."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from dict.fromkeys((*_near(value), *_NUMBERS))
    elif isinstance(value, str):
        yield from _texts(value)
    elif isinstance(value, list | tuple):
        yield from _lists(value)
    else:
        yield from _OTHERS


def _near(value: int) -> Sequence[int]:
    return (value + 1, value - 1, value * 2, -value, value + 2**32)


def _texts(value: str) -> Sequence[str]:
    if value and set(value) <= set("0123456789abcdef"):  # bytes in hexadecimal
        return ("", "00", "ff" * 16, value * 2, value[: len(value) // 4 * 2], "00" * 1024)
    return TEXTS


def _lists(value: Sequence[Any]) -> Sequence[list[Any]]:
    every = list(value)
    return ([], every * 2, every[1:], every[::-1], every[:1] * 50)


MUTATIONS = (FieldValue(),)
