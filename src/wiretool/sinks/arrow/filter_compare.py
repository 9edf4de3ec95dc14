"""Comparisons of whole columns, with the meaning that `where.judge` gives them value by value.

Arrow compares what it compares exactly as Python does. Everything else is asked of Python, once for each value that
is different: few are.
"""

import re
from collections.abc import Callable
from math import floor, isinf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wiretool.codec.columns import Flags
from wiretool.filter.judge import Relation
from wiretool.filter.names import Kind, kind_of
from wiretool.sinks.arrow.filter_values import Codes, Each, Plain, Same, Values

#: One truth for every row, or the same for all.
Mask = Flags | bool

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
#: The same with both sides swapped.
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!=", "in": "contains", "contains": "in"}


def compare(operator: str, relation: Relation, left: Values, right: Values, count: int) -> Mask:
    """Which rows have both values, and these in the relation that the operator stands for."""
    if isinstance(right, Same):
        return _with_one(operator, relation, left, right.value)
    if isinstance(left, Same):
        return _with_one(_SWAPPED[operator], lambda value, other: relation(other, value), right, left.value)
    if operator in _KERNELS and isinstance(left, Plain) and isinstance(right, Plain) and _are_alike(left, right):
        return _flags(_KERNELS[operator](left.array, right.array))
    pairs = zip(each_of(left, count), each_of(right, count), strict=True)
    return np.array([_holds(relation, value, other) for value, other in pairs], np.bool_)


def _are_alike(left: Plain, right: Plain) -> bool:
    """Whether both are numbers or text of one type; truths have no order."""
    return bool(left.array.type == right.array.type) and not pa.types.is_boolean(left.array.type)


def is_missing(values: Values) -> Mask:
    """Which rows have no value."""
    match values:
        case Same(value):
            return value is None
        case Plain(array):
            return array.null_count > 0 and _flags(array.is_null())
        case Codes(codes, choices):
            return _of_codes(codes, [value is None for value in choices], default=True)
        case Each(every):
            return np.array([value is None for value in every], np.bool_)


def is_true(values: Values) -> Mask:
    """Which rows have the value true."""
    match values:
        case Same(value):
            return value is True
        case Plain(array):
            return pa.types.is_boolean(array.type) and _flags(array)
        case Codes(codes, choices):
            return _of_codes(codes, [value is True for value in choices], default=False)
        case Each(every):
            return np.array([value is True for value in every], np.bool_)


def each_of(values: Values, count: int) -> list[Any]:
    """The value of every row."""
    match values:
        case Same(value):
            return [value] * count
        case Plain(array):
            return list(array.to_pylist())
        case Codes(codes, choices):
            return [None if code < 0 else choices[code] for code in codes.tolist()]
        case Each(every):
            return list(every)


# -- a column and one value --------------------------------------------------------------------------------------------


def _with_one(operator: str, relation: Relation, values: Values, other: Any) -> Mask:
    if other is None:
        return False
    match values:
        case Same(value):
            return _holds(relation, value, other)
        case Plain(array):
            mask = _by_kernel(operator, array, other)
            return _by_value(relation, array, other) if mask is None else mask
        case Codes(codes, choices):
            return _of_codes(codes, [_holds(relation, value, other) for value in choices], default=False)
        case Each(every):
            return np.array([_holds(relation, value, other) for value in every], np.bool_)


def _by_value(relation: Relation, array: pa.Array, other: Any) -> Flags:
    """Ask Python about each value that is different."""
    coded = array.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _of_codes(codes, [_holds(relation, value, other) for value in coded.dictionary.to_pylist()], default=False)


def _by_kernel(operator: str, array: pa.Array, other: Any) -> Mask | None:
    """The answer of Arrow where it is sure to be that of Python; None where it is not."""
    if operator == "in" and isinstance(other, list):
        return _any_of([_equal(array, each) for each in other])
    if operator in ("==", "!="):
        return _equal(array, other) if operator == "==" else _unequal(array, other)
    if operator in _KERNELS:
        return _ordered(operator, array, other)
    if not isinstance(other, str) or not pa.types.is_string(array.type) or not _is_text(other):
        return None
    if operator == "contains" or (operator == "~" and re.escape(other) == other):
        return _flags(pc.match_substring(array, other))
    return None


def _any_of(parts: list[Mask | None]) -> Mask | None:
    mask: Mask = False
    for part in parts:
        if part is None:
            return None
        mask = either(mask, part)
    return mask


def _equal(array: pa.Array, other: Any) -> Mask | None:
    if kind_of(other) is not _kind(array):
        return False
    scalar = _scalar(array, other)
    if scalar is None:
        return _ordered("==", array, other)
    return _flags(pc.equal(array, scalar))


def _unequal(array: pa.Array, other: Any) -> Mask | None:
    same = _equal(array, other)
    return None if same is None else both(_flags(array.is_valid()) if array.null_count else True, negated(same))


def _ordered(operator: str, array: pa.Array, other: Any) -> Mask | None:
    """As `relation_of` orders: numbers among each other, and text."""
    kind = _kind(array)
    if kind is Kind.BOOL or kind_of(other) is not kind:
        return False
    scalar = _scalar(array, other)
    if scalar is not None:
        return _flags(_KERNELS[operator](array, scalar))
    if pa.types.is_int64(array.type):
        return _ordered_by_far(operator, array, other)
    return None


def _ordered_by_far(operator: str, array: pa.Array, other: float) -> Mask | None:
    """Whole numbers of 64 bits beside a number that is none: with a fraction, or too far off."""
    if not isinf(other) and INT64_MIN <= other <= INT64_MAX:
        if operator == "==":
            return False
        # Below a fraction is what is at most the whole number below it.
        return _ordered("<=" if operator in ("<", "<=") else ">", array, floor(other))
    is_so = operator in ("<", "<=") if other > 0 else operator in (">", ">=")
    return is_so and (_flags(array.is_valid()) if array.null_count else True)


def _scalar(array: pa.Array, other: Any) -> pa.Scalar | None:
    """The value as one of the array's type, where it is exactly that."""
    if pa.types.is_int64(array.type):
        whole = isinstance(other, int) or (not isinf(other) and other == floor(other))
        return pa.scalar(int(other), pa.int64()) if whole and INT64_MIN <= other <= INT64_MAX else None
    if pa.types.is_floating(array.type):
        return pa.scalar(float(other), pa.float64()) if float(other) == other else None
    if pa.types.is_boolean(array.type):
        return pa.scalar(other, pa.bool_())
    return pa.scalar(other, pa.string()) if _is_text(other) else None


def _kind(array: pa.Array) -> Kind:
    if pa.types.is_string(array.type):
        return Kind.TEXT
    return Kind.BOOL if pa.types.is_boolean(array.type) else Kind.NUMBER


def _is_text(text: str) -> bool:
    """Whether it can be written as UTF-8, whose order is that of code points: half a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


# -- masks -------------------------------------------------------------------------------------------------------------


def negated(mask: Mask) -> Mask:
    """The contrary."""
    return not mask if isinstance(mask, bool) else ~mask


def both(one: Mask, other: Mask) -> Mask:
    """Where both are true."""
    if isinstance(one, bool):
        return other if one else False
    if isinstance(other, bool):
        return one if other else False
    return one & other


def either(one: Mask, other: Mask) -> Mask:
    """Where one of them is true."""
    return negated(both(negated(one), negated(other)))


def _flags(array: Any) -> Flags:
    """An array of truths with null for false."""
    if array.null_count:
        array = array.fill_null(False)
    flags: Flags = array.to_numpy(zero_copy_only=False)
    return flags


def _of_codes(codes: Any, truths: list[bool], *, default: bool) -> Flags:
    """The truth of each code, `default` for -1."""
    flags: Flags = np.array([*truths, default], np.bool_)[codes]
    return flags


def _holds(relation: Relation, value: Any, other: Any) -> bool:
    return value is not None and other is not None and relation(value, other)
