"""Rules in TOML: one `[[rule]]` each, its keys the words of the one-line form.

[[rule]]
message = "DataAppended"
nth = 3
set = { previous_event_number = 77 }
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wiretool.codec.jsonform import nearest
from wiretool.codec.message import SIDES
from wiretool.errors import UsageError
from wiretool.faults.actions import (
    KEYS,
    Action,
    Answer,
    Change,
    CutAfter,
    Delay,
    Drop,
    Duplicate,
    How,
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
from wiretool.faults.words import Words

CONDITIONS = ("message", "side", "connection", "where")
COUNTS = ("nth", "every", "probability")
ACTIONS = tuple(KEYS.values())
#: `fields` belongs to `answer`.
EVERY_KEY = (*CONDITIONS, *COUNTS, *ACTIONS, "fields")


class KeyedError(UsageError):
    """Something is wrong with one key of a rule."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{key}: {why}")
        self.key = key


def parts_of_table(table: Mapping[str, Any]) -> tuple[str, When, Action]:
    """Expression, count and action of a rule; KeyedError for the key that makes no sense."""
    for key in table:
        if key not in EVERY_KEY:
            raise KeyedError(key, f"no key of a rule{nearest(key, EVERY_KEY)}; there are {', '.join(EVERY_KEY)}")
    return _expression(table), _when(table), _action(table)


# -- when --------------------------------------------------------------------------------------------------------------


def _expression(table: Mapping[str, Any]) -> str:
    parts: list[str] = []
    if "message" in table:
        parts.append(f'message == "{_quotable(table, "message")}"')
    if "side" in table:
        side = _quotable(table, "side")
        if side not in SIDES:
            raise KeyedError("side", f"client or server, not {side!r}{nearest(side, SIDES)}")
        parts.append(f'side == "{side}"')
    if "connection" in table:
        parts.append(f"connection == {_integer(table, 'connection')}")
    if "where" in table:
        where = _text(table, "where").strip()
        parts.append(f"({where})" if parts and where else where)
    return " and ".join(part for part in parts if part)


def _quotable(table: Mapping[str, Any], key: str) -> str:
    text = _text(table, key)
    if not text or any(char in '"\\' or not char.isprintable() for char in text):
        raise KeyedError(key, f"{text!r} is not a name")
    return text


def _when(table: Mapping[str, Any]) -> When:
    given = [key for key in COUNTS if key in table]
    if len(given) > 1:
        raise KeyedError(given[1], f"beside {given[0]}: one of them")
    if not given:
        return When()
    key = given[0]
    if key == "nth":
        return When("nth", _integer(table, key))
    if key == "every":
        return When("every", _integer(table, key))
    value = table[key]
    if type(value) not in (int, float) or not math.isfinite(value):
        raise KeyedError(key, f"a number above 0, and 1 at most, not {value!r}")
    return When("probability", value)


# -- what --------------------------------------------------------------------------------------------------------------


def _action(table: Mapping[str, Any]) -> Action:
    given = [key for key in ACTIONS if key in table]
    if len(given) != 1:
        what = (
            f"{' and '.join(given)}: more than one action; expected one action per rule"
            if given
            else f"no action: one of {', '.join(ACTIONS)}"
        )
        raise UsageError(what) if not given else KeyedError(given[1], what)
    key = given[0]
    if "fields" in table and key != "answer":
        raise KeyedError("fields", "they belong to answer")
    return _READERS[key](table, key)


def _bare(made: Action) -> Callable[[Mapping[str, Any], str], Action]:
    """An action with nothing to say of it but true."""

    def read(table: Mapping[str, Any], key: str) -> Action:
        if table[key] is not True:
            raise KeyedError(key, f"true, not {table[key]!r}")
        return made

    return read


def _or_bare(made: Action, read: Callable[[Mapping[str, Any], str], Action]) -> Callable[..., Action]:
    """An action of which more may be said than true."""
    return lambda table, key: made if table[key] is True else read(table, key)


def _answer(table: Mapping[str, Any], key: str) -> Action:
    return Answer(_quotable(table, key), _changes(table, "fields") if "fields" in table else ())


def _changes(table: Mapping[str, Any], key: str) -> tuple[Change, ...]:
    """Fields and values; a table inside goes a step further in, so that `set.header.flags = 1` means what it says."""
    value = table[key]
    if not isinstance(value, Mapping) or not value:
        raise KeyedError(key, f"a table of fields and values, not {value!r}")
    return tuple(_changes_in(value, (), key))


def _changes_in(table: Mapping[str, Any], before: tuple[str | int, ...], key: str) -> Iterator[Change]:
    for name, value in table.items():
        steps = (*before, *_steps(name, key))
        if isinstance(value, Mapping) and value:
            yield from _changes_in(value, steps, key)
        else:
            yield Change(steps, _json(value, name, key))


def _steps(name: str, key: str) -> tuple[str | int, ...]:
    if name.isdecimal() and name.isascii():
        return (name,)  # the key of a map, as the partitions of a COMMIT have
    words = Words(name)
    try:
        steps = words.path()
        words.expect_end()
    except UsageError as err:
        raise KeyedError(key, f"{name!r} is not a field") from err
    return steps


def _how(table: Mapping[str, Any], key: str) -> How:
    try:
        return how_from(_text(table, key))
    except UsageError as err:
        raise KeyedError(key, str(err)) from err


def _json(value: Any, name: str, key: str) -> Any:
    """The value, if JSON has such values."""
    if isinstance(value, list):
        return [_json(each, name, key) for each in value]
    if isinstance(value, Mapping):
        return {inner: _json(each, name, key) for inner, each in value.items()}
    if not isinstance(value, str | int | float | bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise KeyedError(key, f"{name} = {value} is not a JSON value")
    return value


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table[key]
    if not isinstance(value, str):
        raise KeyedError(key, f"text, not {value!r}")
    return value


def _integer(table: Mapping[str, Any], key: str) -> int:
    value = table[key]
    if type(value) is not int:
        raise KeyedError(key, f"a whole number, not {value!r}")
    return value


def _duration(table: Mapping[str, Any], key: str) -> int:
    words = Words(_text(table, key))
    try:
        duration_ns = words.duration_ns()
        words.expect_end()
    except UsageError as err:
        raise KeyedError(key, f"a duration like 200ms, not {table[key]!r}") from err
    return duration_ns


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Action]] = {
    "delay": lambda table, key: Delay(_duration(table, key)),
    "stall": _or_bare(Stall(), lambda table, key: Stall(_duration(table, key))),
    "drop": _bare(Drop()),
    "duplicate": _or_bare(Duplicate(), lambda table, key: Duplicate(_integer(table, key))),
    "reorder": _or_bare(Reorder(), lambda table, key: Reorder(_duration(table, key))),
    "cut_after": lambda table, key: CutAfter(_integer(table, key)),
    "reset": _bare(Reset()),
    "set": lambda table, key: Set(_changes(table, key)),
    "wrong_length": _or_bare(WrongLength(), lambda table, key: WrongLength(_integer(table, key))),
    "wrong_checksum": _bare(WrongChecksum()),
    "answer": _answer,
    "stale_epoch": _or_bare(Stale("epoch"), lambda table, key: Stale("epoch", _integer(table, key))),
    "keep": lambda table, key: Keep(_how(table, key)),
    "stale_offset": _or_bare(Stale("offset"), lambda table, key: Stale("offset", _integer(table, key))),
}
