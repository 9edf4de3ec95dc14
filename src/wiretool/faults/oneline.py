"""A rule on one line: the condition before its colon, and the action after it."""

import re
from collections.abc import Callable, Mapping

from wiretool.codec.jsonform import nearest
from wiretool.errors import UsageError
from wiretool.faults.actions import (
    HOWS,
    KEYS,
    REORDER_WITHIN_NS,
    Action,
    Answer,
    Change,
    CutAfter,
    Delay,
    Drop,
    Duplicate,
    Keep,
    Reorder,
    Reset,
    Set,
    Stale,
    Stall,
    WrongChecksum,
    WrongLength,
    how_from,
)
from wiretool.faults.rule import When
from wiretool.faults.words import Parts, Words, parts_of
from wiretool.filter.tokens import wrong

_DECIMAL = re.compile(r"\d+(?:\.\d+)?(?:[eE]-?\d{1,3})?", re.ASCII)


def condition_of(text: str) -> tuple[str, When]:
    """Expression and count of a condition without its colon; UsageError at the column where it makes no sense."""
    parts = parts_of(f"{text}:")
    if parts.action_at <= len(text):
        raise wrong(parts.action_at - 1, "a colon; the action is not part of the condition")
    return parts.expression, count_of(parts)


def count_of(parts: Parts) -> When:
    """Which of the frames that fit; UsageError for what is no number."""
    if not parts.count:
        return When()
    if len(parts.number) > 40 or not _DECIMAL.fullmatch(parts.number):
        raise wrong(parts.number_at, f"{parts.count}={parts.number} is not a number")
    if parts.count == "probability":
        return When("probability", float(parts.number))
    if not parts.number.isdecimal():
        raise wrong(parts.number_at, f"{parts.count}={parts.number} is not a whole number")
    return When("nth" if parts.count == "nth" else "every", int(parts.number))


def action_of(text: str, at: int = 0) -> Action:
    """The action in `text[at:]`; UsageError at the column where it makes no sense."""
    words = Words(text, at)
    start = words.at
    name = words.word("an action")
    if any(known.startswith(f"{name} ") for known in KEYS):
        name = f"{name} {words.word(' or '.join(known for known in KEYS if known.startswith(name)))}"
    if name not in _READERS:
        raise wrong(start, f"unknown action {name!r}{nearest(name, KEYS)}; there are {', '.join(KEYS)}")
    try:
        action = _READERS[name](words)
    except UsageError as err:
        if str(err).startswith("column "):
            raise
        raise wrong(start, str(err)) from err
    words.expect_end()
    return action


def _cut(words: Words) -> Action:
    words.takes("after")
    action = CutAfter(words.integer())
    words.takes("bytes")
    return action


def _stall(words: Words) -> Action:
    return Stall() if words.is_over else Stall(words.duration_ns())


def _duplicate(words: Words) -> Action:
    return Duplicate() if words.is_over else Duplicate(words.integer())


def _reorder(words: Words) -> Action:
    return Reorder(REORDER_WITHIN_NS if words.is_over else words.duration_ns())


def _wrong_length(words: Words) -> Action:
    return WrongLength() if words.is_over else WrongLength(words.integer())


def _set(words: Words) -> Action:
    return Set(_changes(words))


def _answer(words: Words) -> Action:
    message = words.word("the name of a message")
    return Answer(message, () if words.is_over else _changes(words))


def _stale_epoch(words: Words) -> Action:
    return Stale("epoch") if words.is_over else Stale("epoch", words.integer())


def _stale_offset(words: Words) -> Action:
    return Stale("offset") if words.is_over else Stale("offset", words.integer())


def _changes(words: Words) -> tuple[Change, ...]:
    """`FIELD=VALUE`, then more of them behind commas."""
    changes = [_change(words)]
    while words.takes_sign(","):
        changes.append(_change(words))
    return tuple(changes)


def _change(words: Words) -> Change:
    steps = words.path()
    if not words.takes_sign("="):
        raise wrong(words.at, "a field, = and its value: the = is missing")
    return Change(steps, words.value())


_READERS: Mapping[str, Callable[[Words], Action]] = {
    "delay": lambda words: Delay(words.duration_ns()),
    "stall": _stall,
    "drop": lambda words: Drop(),
    "duplicate": _duplicate,
    "reorder": _reorder,
    "cut": _cut,
    "reset": lambda words: Reset(),
    "set": _set,
    "wrong length": _wrong_length,
    "wrong checksum": lambda words: WrongChecksum(),
    "answer": _answer,
    "stale epoch": _stale_epoch,
    "stale offset": _stale_offset,
    "keep": lambda words: Keep(how_from(words.word(" or ".join(HOWS)))),
}
