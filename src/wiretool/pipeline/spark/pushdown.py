"""Filters that Spark hands down: which of them the source can do itself, and what they say of times and captures."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wiretool.codec.columns import Flags
from wiretool.pipeline.spark.planning import Window

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_EPOCH = datetime(1970, 1, 1)
_LEAST_NS, _MOST_NS = -(1 << 63), (1 << 63) - 1

#: How each is done, with the words of Arrow. Where a value is null none of them holds, as in SQL.
_COMPARE: dict[str, Callable[[pa.Array, Any], pa.Array]] = {
    "EqualTo": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """What a column must be: `operator` is the name of Spark's filter; numbers, texts, or us since the epoch."""

    column: str
    operator: str
    values: tuple[Any, ...] = ()

    def mask(self, column: pa.Array) -> Flags:
        """For each value whether it holds."""
        if self.operator == "IsNotNull":
            return _flags(column.is_valid())
        if self.operator == "IsNull":
            return _flags(column.is_null())
        kind = pa.string() if pa.types.is_string(column.type) else pa.int64()
        column = column.cast(kind)
        if self.operator == "In":
            return _flags(pc.is_in(column, value_set=pa.array(self.values, kind)))
        return _flags(_COMPARE[self.operator](column, pa.scalar(self.values[0], kind)))


def _flags(mask: pa.Array) -> Flags:
    flags: Flags = np.asarray(mask.fill_null(False))
    return flags


def condition_of(filter: "Filter", schema: pa.Schema) -> Condition | None:
    """A filter as a condition on a column of the schema; None where it is not done here."""
    operator, attribute = type(filter).__name__, tuple(getattr(filter, "attribute", ()))
    if len(attribute) != 1 or attribute[0] not in schema.names or pa.types.is_binary(schema.field(attribute[0]).type):
        return None
    (name,) = attribute
    if operator in ("IsNotNull", "IsNull"):
        return Condition(name, operator)
    if operator not in _COMPARE and operator != "In":
        return None
    raw = filter.value
    values = tuple(_plain(value, schema.field(name).type) for value in (raw if operator == "In" else (raw,)))
    if None in values:
        return None
    return Condition(name, operator, values)


def _plain(value: Any, kind: pa.DataType) -> int | str | None:
    """A value as it is compared; None where it is of another type than the column."""
    if pa.types.is_timestamp(kind):
        return _microseconds(value) if isinstance(value, datetime) else None
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else None
    if pa.types.is_integer(kind) and isinstance(value, int) and not isinstance(value, bool):
        return value if _LEAST_NS <= value <= _MOST_NS else None
    return None


def _microseconds(time: datetime) -> int:
    """Since the epoch; a time without a zone is in UTC, as in captures."""
    if time.tzinfo is not None:
        time = time.astimezone(UTC).replace(tzinfo=None)
    return (time - _EPOCH) // timedelta(microseconds=1)


def mask_of(conditions: Sequence[Condition], column: Callable[[str], pa.Array]) -> Flags | None:
    """For each row whether all conditions hold; None where there are none."""
    mask: Flags | None = None
    for condition in conditions:
        own = condition.mask(column(condition.column))
        mask = own if mask is None else mask & own
    return mask


def window_of(conditions: Iterable[Condition]) -> Window:
    """The times and captures that the conditions leave."""
    first_ns, last_ns, files = _LEAST_NS, _MOST_NS, None
    for condition in conditions:
        if condition.column in ("time", "time_ns"):
            low, high = _extent(condition)
            first_ns, last_ns = max(first_ns, low), min(last_ns, high)
        elif condition.column == "file" and condition.operator in ("EqualTo", "In"):
            own = frozenset(map(str, condition.values))
            files = own if files is None else files & own
    return Window(first_ns, last_ns, files)


def _extent(condition: Condition) -> tuple[int, int]:
    """The first and the last ns for which a condition on the time may hold."""
    if not condition.values:
        return _LEAST_NS, _MOST_NS
    tick = 1000 if condition.column == "time" else 1
    low, high = min(condition.values) * tick, max(condition.values) * tick + tick - 1
    match condition.operator:
        case "GreaterThan":
            return high + 1, _MOST_NS
        case "GreaterThanOrEqual":
            return low, _MOST_NS
        case "LessThan":
            return _LEAST_NS, low - 1
        case "LessThanOrEqual":
            return _LEAST_NS, high
    return low, high


def chosen(batch: pa.RecordBatch, names: Sequence[str], conditions: Sequence[Condition]) -> pa.RecordBatch:
    """Some columns of the rows for which the conditions hold."""
    mask = mask_of(conditions, batch.column)
    return (batch if mask is None else batch.filter(pa.array(mask))).select(list(names))
