"""Filters done by the source: they leave what Spark's own would, and what is not read need not be."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import START_NS, STEP_NS, packets_of, tcp_packets
from tests.helpers.spark import needs_pyspark

needs_pyspark()

from pyspark.sql.datasource import (  # noqa: E402
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from wiretool.capture.files.tables import tables_of  # noqa: E402
from wiretool.pipeline.packets import SCHEMA, PacketColumns  # noqa: E402
from wiretool.pipeline.spark.planning import Window  # noqa: E402
from wiretool.pipeline.spark.pushdown import Condition, condition_of, mask_of, window_of  # noqa: E402

COLUMN = pa.array([1, None, 2, 3], pa.int32())
TEXT = pa.array(["10.0.0.1", None, "10.0.0.2", "::1"])
WHEN = datetime(2023, 11, 14, 22, 13, 20)


def condition(filter: Filter) -> Condition:
    found = condition_of(filter, SCHEMA)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("filter", "holds"),
    [
        (EqualTo(("src_port",), 2), [False, False, True, False]),
        (GreaterThan(("src_port",), 1), [False, False, True, True]),
        (GreaterThanOrEqual(("src_port",), 2), [False, False, True, True]),
        (LessThan(("src_port",), 2), [True, False, False, False]),
        (LessThanOrEqual(("src_port",), 2), [True, False, True, False]),
        (In(("src_port",), (1, 3, 2**40)), [True, False, False, True]),
        (IsNotNull(("src_port",)), [True, False, True, True]),
        (IsNull(("src_port",)), [False, True, False, False]),
        (GreaterThan(("src_port",), 2**40), [False] * 4),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Filter) else None,
)
def test_what_holds_of_numbers(filter: Filter, holds: list[bool]) -> None:
    assert condition(filter).mask(COLUMN).tolist() == holds


def test_what_holds_of_text() -> None:
    assert condition(EqualTo(("src",), "10.0.0.1")).mask(TEXT).tolist() == [True, False, False, False]
    assert condition(In(("src",), ("::1", "x"))).mask(TEXT).tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    "filter",
    [
        EqualTo(("data",), b"x"),
        EqualTo(("stranger",), 1),
        EqualTo(("src", "inner"), 1),
        EqualTo(("src_port",), "2"),
        EqualTo(("src_port",), True),
        EqualTo(("src_port",), None),
        EqualTo(("src_port",), 2**70),
        EqualTo(("time",), 5),
        In(("src_port",), (1, None)),
        EqualNullSafe(("src_port",), 1),
        StringStartsWith(("src",), "10."),
        Not(EqualTo(("src_port",), 1)),
    ],
    ids=lambda each: f"{type(each).__name__}-{getattr(each, 'attribute', ('',))[0]}",
)
def test_what_is_left_to_spark(filter: Filter) -> None:
    assert condition_of(filter, SCHEMA) is None


def test_times_with_and_without_a_zone() -> None:
    plain = condition(EqualTo(("time",), WHEN + timedelta(microseconds=7)))
    assert plain.values == (START_NS // 1000 + 7,)
    for zone in (UTC, timezone(timedelta(hours=5))):
        told = condition(EqualTo(("time",), (WHEN + timedelta(microseconds=7)).replace(tzinfo=UTC).astimezone(zone)))
        assert told == plain


@pytest.mark.parametrize(
    ("filters", "window"),
    [
        ([], Window()),
        ([IsNotNull(("time",)), EqualTo(("src_port",), 5)], Window()),
        ([GreaterThan(("time_ns",), 5)], Window(first_ns=6)),
        ([GreaterThanOrEqual(("time_ns",), 5), LessThan(("time_ns",), 9)], Window(5, 8)),
        ([LessThanOrEqual(("time",), WHEN)], Window(last_ns=START_NS + 999)),
        ([GreaterThan(("time",), WHEN)], Window(first_ns=START_NS + 1000)),
        ([EqualTo(("time",), WHEN)], Window(START_NS, START_NS + 999)),
        ([In(("time_ns",), (9, 4))], Window(4, 9)),
        ([In(("file",), ("a", "b")), EqualTo(("file",), "b")], Window(files=frozenset("b"))),
    ],
    ids=str,
)
def test_the_window(filters: list[Filter], window: Window) -> None:
    assert window_of([condition(each) for each in filters]) == window


(TABLE,) = tables_of(tcp_packets([("client", b"abc" * 99), ("server", b"de")], mtu=30))
OPERATORS: list[Any] = [EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual]


@given(st.sampled_from(OPERATORS), st.integers(-2, 60), st.sampled_from(["time", "time_ns"]))
def test_the_window_has_all_that_the_filter_leaves(kind: Any, step: int, column: str) -> None:
    time_ns = START_NS + step * STEP_NS
    value = WHEN + timedelta(microseconds=step * STEP_NS // 1000) if column == "time" else time_ns
    conditions = [condition(kind((column,), value))]
    window = window_of(conditions)
    mask = mask_of(conditions, PacketColumns(TABLE, "x").column)
    assert mask is not None
    assert mask.tolist() == [window.first_ns <= time <= window.last_ns for time in TABLE.times.tolist()]


def test_columns_of_what_is_left() -> None:
    columns = PacketColumns(TABLE, "x")
    mask = mask_of([condition(EqualTo(("src_port",), 8080))], columns.column)
    assert mask is not None
    whole = columns.batch(SCHEMA.names)
    part = columns.batch(SCHEMA.names, mask)
    assert 0 < part.num_rows < whole.num_rows
    assert part.to_pylist() == [row for row in whole.to_pylist() if row["src_port"] == 8080]
    assert mask_of([], columns.column) is None


def test_only_what_is_asked_for_is_made() -> None:
    class Columns(PacketColumns):
        @property
        def heads(self) -> Any:
            raise AssertionError("nobody asked for them")

    (table,) = tables_of(packets_of([b"abc", b"de"]))
    batch = Columns(table, "x").batch(["captured", "file", "data"])
    assert batch.to_pylist() == [
        {"captured": 3, "file": "x", "data": b"abc"},
        {"captured": 2, "file": "x", "data": b"de"},
    ]
