"""The tree of an expression, checked against the known names and made into a test of records."""

import operator as operators
import re
import warnings
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from wiretool.codec.jsonform import nearest
from wiretool.expectations import regex_problem
from wiretool.filter.history import Getter, History
from wiretool.filter.names import Kind, Names, kind_of, known
from wiretool.filter.syntax import AnyOf, Comparison, Constant, Every, Node, Not, Operand, Path, Truth
from wiretool.filter.tokens import wrong
from wiretool.filter.values import getter
from wiretool.records import Record

Judge = Callable[[Record], bool]
Relation = Callable[[Any, Any], bool]
_ORDERED = Kind.NUMBER | Kind.TEXT
#: The names of values in seconds.
DURATIONS = ("time", "latency")
#: Values that an error lists.
CHOICES_SHOWN_MAX = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"(?<=\d)\.(\d{1,9})(?=$|[Zz+-])")
_ORDERINGS: dict[str, Relation] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}


def judge_of(node: Node, names: Names, history: History) -> Judge:
    """The test that a tree stands for; UsageError where a name or a comparison makes no sense."""
    if isinstance(node, Comparison):
        return _comparison(node, names, history)
    if isinstance(node, Truth):
        return _truth(node, names, history)
    if isinstance(node, Not):
        part = judge_of(node.part, names, history)
        return lambda record: not part(record)
    parts = [judge_of(each, names, history) for each in node.parts]
    if isinstance(node, Every):
        return lambda record: all(test(record) for test in parts)
    assert isinstance(node, AnyOf)
    return lambda record: any(test(record) for test in parts)


def _truth(node: Truth, names: Names, history: History) -> Judge:
    kind = _kind(node.operand, names)
    if Kind.BOOL not in kind:
        said = node.operand.text if isinstance(node.operand, Path) else "this"
        raise wrong(node.operand.at, f"{said} is {kind.words}: compare it with something")
    get = _value_getter(node.operand, history)
    return lambda record: get(record) is True


def _comparison(node: Comparison, names: Names, history: History) -> Judge:
    node = with_times(node)
    left, right = _kind(node.left, names), _kind(node.right, names)  # before durations: a typo is the likelier mistake
    _check_durations(node)
    _check(node, left, right)
    _check_choices(node, names)
    get_left, get_right = _value_getter(node.left, history), _value_getter(node.right, history)
    if node.operator in ("==", "!=") and None in (_constant(node.left), _constant(node.right)):
        return _absence(node, get_left, get_right)
    relation = relation_of(node)

    def test(record: Record) -> bool:
        value, other = get_left(record), get_right(record)
        return value is not None and other is not None and relation(value, other)

    return test


def _constant(operand: Operand) -> Any:
    return operand.value if isinstance(operand, Constant) else operand


def _absence(node: Comparison, get_left: Getter, get_right: Getter) -> Judge:
    """A comparison with null, which is what a record does not have."""
    wants = node.operator == "=="
    return lambda record: (get_left(record) is None and get_right(record) is None) == wants


def relation_of(node: Comparison) -> Relation:
    """What is asked of two values, neither of them None; UsageError for a pattern that is none."""
    if node.operator in _ORDERINGS:
        order = _ORDERINGS[node.operator]
        return lambda value, other: _are_ordered(value, other) and order(value, other)
    if node.operator == "==":
        return _are_equal
    if node.operator == "!=":
        return lambda value, other: not _are_equal(value, other)
    if node.operator == "in":
        return lambda value, other: _holds(other, value)
    if node.operator == "contains":
        return _holds
    pattern = _pattern(node)
    return lambda value, other: isinstance(value, str) and pattern.search(value) is not None


def _are_equal(value: Any, other: Any) -> bool:
    return kind_of(value) is kind_of(other) and bool(value == other)


def _are_ordered(value: Any, other: Any) -> bool:
    kind = kind_of(value)
    return kind in _ORDERED and kind is kind_of(other)


def _holds(whole: Any, part: Any) -> bool:
    if isinstance(whole, str):
        return isinstance(part, str) and part in whole
    return isinstance(whole, list | tuple) and any(_are_equal(each, part) for each in whole)


def _pattern(node: Comparison) -> re.Pattern[str]:
    if not isinstance(node.right, Constant) or not isinstance(node.right.value, str):
        raise wrong(node.right.at, "~ without a regular expression; expected one in quotes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(node.right.value)
    except (re.error, OverflowError, RecursionError) as err:
        raise wrong(node.right.at, f"not a regular expression: {regex_problem(err)}") from err


def _value_getter(operand: Operand, history: History) -> Getter:
    if isinstance(operand, Path):
        return getter(operand.steps, history)
    value = operand.value
    return lambda record: value


def _kind(operand: Operand, names: Names) -> Kind:
    return known(names, operand.steps, operand.at).kind if isinstance(operand, Path) else kind_of(operand.value)


# -- what makes sense --------------------------------------------------------------------------------------------------


def _check(node: Comparison, left: Kind, right: Kind) -> None:
    if node.operator in _ORDERINGS:
        fits = bool(left & right & _ORDERED)
    elif node.operator in ("==", "!="):
        fits = bool(left & right) or Kind.NULL in left | right
    elif node.operator == "~":
        fits = Kind.TEXT in left
    elif node.operator == "in":
        fits = _may_hold(right, left, node.right)
    else:
        fits = _may_hold(left, right, node.left)
    if not fits:
        raise wrong(node.at, f"{_said(node.left, left)} {node.operator} {_said(node.right, right)} is never true")


def _may_hold(whole: Kind, part: Kind, holder: Operand) -> bool:
    if Kind.TEXT in whole and Kind.TEXT in part:
        return True
    if Kind.LIST not in whole:
        return False
    values = holder.value if isinstance(holder, Constant) else None
    return values is None or not values or any(kind_of(value) in part for value in values)


def _said(operand: Operand, kind: Kind) -> str:
    return f"{operand.text} ({kind.words})" if isinstance(operand, Path) else kind.words


def _check_durations(node: Comparison) -> None:
    """UsageError where `5ms` is compared with what is not in seconds: a field of a message has units of its own."""
    for constant, other in ((node.left, node.right), (node.right, node.left)):
        is_known = isinstance(other, Path) and other.text in DURATIONS
        if isinstance(constant, Constant) and constant.is_duration and not is_known:
            raise wrong(constant.at, f"a duration, which only {' and '.join(DURATIONS)} are: give a number")


def _check_choices(node: Comparison, names: Names) -> None:
    """UsageError for a text that the value never is: a slip of the pen."""
    if node.operator not in ("==", "!=", "in"):
        return
    for path, other in ((node.left, node.right), (node.right, node.left)):
        if not isinstance(path, Path) or not isinstance(other, Constant):
            continue
        choices = known(names, path.steps, path.at).choices
        for value in other.value if isinstance(other.value, list) else [other.value]:
            if choices and isinstance(value, str) and value not in choices:
                raise wrong(other.at, _no_choice(path.text, value, choices))


def _no_choice(name: str, value: str, choices: Collection[str]) -> str:
    last = name.rpartition(".")[2]
    if last in ("message", "protocol"):
        return f"no {last} is called {value!r}{nearest(value, choices)}; `wiretool explain` lists them all"
    all_of_them = f": {', '.join(sorted(choices))}" if len(choices) <= CHOICES_SHOWN_MAX else ""
    return f"{name} is never {value!r}{nearest(value, choices)}{all_of_them}"


# -- times -------------------------------------------------------------------------------------------------------------


def with_times(node: Comparison) -> Comparison:
    """A comparison of `time` with a text, as one of `time_ns` with the nanoseconds that the text stands for."""
    if isinstance(node.left, Path) and node.left.text == "time" and _is_date(node.right):
        left = Path(("time_ns",), "time_ns", node.left.at)
        return Comparison(node.operator, left, _as_ns(node.right), node.at)
    if isinstance(node.right, Path) and node.right.text == "time" and _is_date(node.left):
        right = Path(("time_ns",), "time_ns", node.right.at)
        return Comparison(node.operator, _as_ns(node.left), right, node.at)
    return node


def _is_date(operand: Operand) -> bool:
    if not isinstance(operand, Constant):
        return False
    return isinstance(operand.value, str) or (
        isinstance(operand.value, list) and any(isinstance(value, str) for value in operand.value)
    )


def _as_ns(operand: Operand) -> Constant:
    assert isinstance(operand, Constant)
    if isinstance(operand.value, str):
        return Constant(_ns_of(operand.value, operand.at), operand.at)
    return Constant(
        [_ns_of(value, operand.at) if isinstance(value, str) else value for value in operand.value], operand.at
    )


def _ns_of(text: str, at: int) -> int:
    try:
        return moment_ns(text)
    except ValueError as err:
        raise wrong(
            at, f'{text!r} is not a time; expected seconds since the first record, or "2024-05-01T12:00:00Z"'
        ) from err


def moment_ns(text: str) -> int:
    """Nanoseconds since the epoch of an ISO 8601 time; UTC where it names no zone. ValueError where it is none."""
    fraction = _FRACTION.search(text)
    digits = fraction.group(1) if fraction else ""
    try:
        time = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
        since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    except OverflowError as err:
        raise ValueError(text) from err
    return since // timedelta(microseconds=1) * 1000 + int(digits.ljust(9, "0"))
