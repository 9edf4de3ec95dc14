"""Rules as tables, in TOML and by the control API: `when` and `do` have the two halves of the one-line form.

[[rule]]
when = 'message == "DataAppended" nth=3'
do = "set previous_event_number=77"

Keys for each part of a rule (`message = "DataAppended"`, `nth = 3`, `drop = true`) are an older form of the same: they
are put together to `when` and `do`, which one parser reads.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from wiretool.codec.jsonform import nearest
from wiretool.codec.message import SIDES
from wiretool.errors import UsageError
from wiretool.faults.actions import KEYS, Action, Change
from wiretool.faults.oneline import action_of, condition_of
from wiretool.faults.rule import When
from wiretool.faults.words import Words

CONDITIONS = ("message", "side", "connection", "where")
COUNTS = ("nth", "every", "probability")
#: The words of each action, by its key.
ACTIONS = {key: words for words, key in KEYS.items()}
#: `fields` belongs to `answer`.
EVERY_KEY = ("when", "do", *CONDITIONS, *COUNTS, *ACTIONS, "fields")

_TRUE, _TEXT, _WHOLE, _FIELDS = "true", "text", "a whole number", "a table of fields and values"
#: The values that the key of an action may have, by default true alone.
_VALUES = {
    "delay": (_TEXT,),
    "stall": (_TRUE, _TEXT),
    "duplicate": (_TRUE, _WHOLE),
    "reorder": (_TRUE, _TEXT),
    "cut_after": (_WHOLE,),
    "set": (_FIELDS,),
    "wrong_length": (_TRUE, _WHOLE),
    "answer": (_TEXT,),
    "stale_epoch": (_TRUE, _WHOLE),
    "stale_offset": (_TRUE, _WHOLE),
    "keep": (_TEXT,),
}


Part = TypeVar("Part")


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
    _refuse_both_forms(table, "when", (*CONDITIONS, *COUNTS))
    _refuse_both_forms(table, "do", (*ACTIONS, "fields"))
    key = "when" if "when" in table else next((each for each in COUNTS if each in table), "")
    expression, when = _parsed(condition_of, _condition(table), key)
    key = "do" if "do" in table else _action_key(table)
    return expression, when, _parsed(action_of, _action(table, key), key)


def _refuse_both_forms(table: Mapping[str, Any], key: str, others: tuple[str, ...]) -> None:
    for other in others:
        if key in table and other in table:
            raise KeyedError(other, f"beside {key}: one of them")


def _parsed(parse: Callable[[str], Part], text: str, key: str) -> Part:
    try:
        return parse(text)
    except UsageError as err:
        place, _, why = str(err).partition(": ")
        is_own = key in ("when", "do") or not place.startswith("column ")
        raise KeyedError(key, str(err) if is_own else why) from err


# -- when --------------------------------------------------------------------------------------------------------------


def _condition(table: Mapping[str, Any]) -> str:
    """The condition of a rule, as it stands before the colon."""
    if "when" in table:
        return _text(table, "when")
    parts: list[str] = []
    if "message" in table:
        parts.append(f'message == "{_quotable(table, "message")}"')
    if "side" in table:
        side = _quotable(table, "side")
        if side not in SIDES:
            raise KeyedError("side", f"client or server, not {side!r}{nearest(side, SIDES)}")
        parts.append(f'side == "{side}"')
    if "connection" in table:
        parts.append(f"connection == {_whole(table, 'connection')}")
    if where := _text(table, "where").strip() if "where" in table else "":
        parts.append(f"({where})" if parts else where)
    return f"{' and '.join(parts)} {_count(table)}".strip()


def _quotable(table: Mapping[str, Any], key: str) -> str:
    text = _text(table, key)
    if not text or any(char in '"\\' or not char.isprintable() for char in text):
        raise KeyedError(key, f"{text!r} is not a name")
    return text


def _count(table: Mapping[str, Any]) -> str:
    given = [key for key in COUNTS if key in table]
    if len(given) > 1:
        raise KeyedError(given[1], f"beside {given[0]}: one of them")
    if not given:
        return ""
    key = given[0]
    if key != "probability":
        return f"{key}={_whole(table, key)}"
    value = table[key]
    if type(value) not in (int, float) or not math.isfinite(value):
        raise KeyedError(key, f"a number above 0, and 1 at most, not {value!r}")
    return f"{key}={value}"


# -- do ----------------------------------------------------------------------------------------------------------------


def _action_key(table: Mapping[str, Any]) -> str:
    given = [key for key in ACTIONS if key in table]
    if not given:
        raise UsageError(f"no action: do, or one of {', '.join(ACTIONS)}")
    if len(given) > 1:
        raise KeyedError(given[1], f"{' and '.join(given)}: more than one action; expected one action per rule")
    if "fields" in table and given[0] != "answer":
        raise KeyedError("fields", "they belong to answer")
    return given[0]


def _action(table: Mapping[str, Any], key: str) -> str:
    """The action of a rule, as it stands after the colon."""
    if key == "do":
        return _text(table, key)
    value, allowed = table[key], _VALUES.get(key, (_TRUE,))
    if _kind(value) not in allowed:
        raise KeyedError(key, f"{' or '.join(allowed)}, not {value!r}")
    if key == "answer":
        value = f"{_quotable(table, key)} {_changes(table, 'fields') if 'fields' in table else ''}"
    words = {"cut_after": "cut after"}.get(key, ACTIONS[key])
    return f"{words} {'' if value is True else _changes(table, key) if key == 'set' else value}".strip()


def _kind(value: Any) -> str:
    if value is True:
        return _TRUE
    if isinstance(value, str):
        return _TEXT
    if type(value) is int:
        return _WHOLE
    return _FIELDS if isinstance(value, Mapping) and value else ""


def _changes(table: Mapping[str, Any], key: str) -> str:
    """Fields and values; a table inside goes a step further in, so that `set.header.flags = 1` means what it says."""
    value = table[key]
    if _kind(value) != _FIELDS:
        raise KeyedError(key, f"{_FIELDS}, not {value!r}")
    return ", ".join(change.text for change in _changes_in(value, (), key))


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


def _whole(table: Mapping[str, Any], key: str) -> int:
    value = table[key]
    if type(value) is not int:
        raise KeyedError(key, f"a whole number, not {value!r}")
    return value
