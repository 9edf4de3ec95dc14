"""Gold tables are what a slow look at the rows would find, and what adds up does so."""

from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.pipeline.samples import START_NS, Rows, asked, rows_of
from wiretool.analysis.latency import Latencies
from wiretool.pipeline.gold import GOLD, MINUTE_NS, QUANTILES, SILENCE_NS, STORM_CONNECTIONS, STORM_NS, quantiles_of

_EDGES = sorted({max(0, (1 << power) + off) for power in range(62) for off in (-1, 0, 1)})
_times_ns = st.one_of(st.integers(0, 5_000), st.integers(0, 10**12), st.sampled_from(_EDGES[:150]))


@settings(max_examples=10)
@given(st.lists(st.tuples(_times_ns, st.integers(0, 3), st.booleans()), min_size=1, max_size=60))
@example([(1_000, 0, True)] * 7)
def test_quantiles_of_parts_are_those_of_the_whole(said: list[tuple[int, int, bool]]) -> None:
    """Sketches of minutes, and of halves that were counted apart, add up to what all times at once give."""
    expected = Latencies()
    for time_ns, _, _ in said:
        expected.add(time_ns)
    halves = [
        [
            {"latency_ns": time_ns, "time_ns": START_NS + minute * MINUTE_NS}
            for time_ns, minute, is_first in said
            if is_first is half
        ]
        for half in (True, False)
    ]
    database = asked(exchanges=[*halves[0], *halves[1]])
    (of_minutes,) = rows_of(database, "FROM gold.times")
    parts = []
    for half in halves:
        database = asked(exchanges=half)
        parts += rows_of(database, "FROM gold.latency")
    database = asked()
    database.register("parts", pa.Table.from_pylist(parts))
    (added_up,) = rows_of(database, quantiles_of("parts", "protocol", "request"))
    assert of_minutes == added_up
    assert added_up["answered"] == expected.count
    assert (added_up["least_ns"], added_up["most_ns"]) == (expected.min_ns, expected.max_ns)
    assert {name: added_up[name] for name in QUANTILES} == {
        name: expected.quantile_ns(share) for name, share in QUANTILES.items()
    }


def test_minutes_have_what_was_said_and_what_was_asked() -> None:
    later = START_NS + MINUTE_NS
    frames: Rows = [{"length": 7}, {"length": 5}, {"time_ns": later}, {"kind": "gap", "length": 999}]
    exchanges: Rows = [{"error": "NoSuchSegment", "events": 3}, {"reply": None}, {"request": "ReadTable"}]
    database = asked(frames=frames, exchanges=exchanges)
    rows = rows_of(database, "FROM gold.minutes ORDER BY minute, message")
    assert [tuple(row.values())[2:] for row in rows] == [
        ("Hello", "client", 2, 12, 2, 1, 1, 3),
        ("ReadTable", "client", 0, 0, 1, 0, 0, 0),
        ("Hello", "client", 1, 10, 0, 0, 0, 0),
    ]
    assert [str(row["minute"]) for row in rows] == ["2023-11-14 22:13:00"] * 2 + ["2023-11-14 22:14:00"]


@pytest.mark.parametrize("time_ns", [-MINUTE_NS - 1, -MINUTE_NS, -1, 0, MINUTE_NS - 1, MINUTE_NS, 2**63 - 1])
def test_minutes_begin_before_what_is_in_them(time_ns: int) -> None:
    database = asked(frames=[{"time_ns": time_ns}])
    (row,) = rows_of(database, "SELECT epoch_ns(minute) AS at_ns FROM gold.minutes")
    assert row["at_ns"] == time_ns // MINUTE_NS * MINUTE_NS


def test_groups_lead_to_the_connection_with_most_of_it() -> None:
    rows: Rows = [
        {"connection": 5, "client": "a:1", "subject_kind": "segment", "subject": "s", "writer": "w", "time_ns": 3},
        {"connection": 4, "client": "b:2", "subject_kind": "segment", "subject": "s", "time_ns": 1, "latency_ns": 4},
        {"connection": 4, "client": "b:2", "subject_kind": "segment", "subject": "s", "time_ns": 2, "reply_bytes": 90},
        {"connection": 3, "subject": None},
    ]
    database = asked(exchanges=rows)
    (subject,) = rows_of(database, "FROM gold.subjects")
    (writer,) = rows_of(database, "FROM gold.writers")
    assert (subject["exchanges"], subject["bytes"], subject["connections"]) == (3, 120, 2)
    assert (subject["connection"], subject["client"], subject["first_ns"], subject["last_ns"]) == (4, "b:2", 1, 5)
    assert (writer["writer"], writer["exchanges"]) == ("w", 1)


def test_errors_lead_to_their_first() -> None:
    rows: Rows = [
        {"error": "WrongHost", "time_ns": 9, "n": 1, "latency_ns": 5},
        {"error": "WrongHost", "time_ns": 7, "n": 2, "latency_ns": 1, "connection": 2},
        {"error": None},
    ]
    database = asked(exchanges=rows)
    (row,) = rows_of(database, "FROM gold.errors")
    assert (row["count"], row["connections"], row["n"], row["first_ns"], row["last_ns"]) == (2, 2, 2, 7, 8)


# -- storms and silences -----------------------------------------------------------------------------------------------


def storms_in(begins: Sequence[int]) -> list[tuple[int, int, int]]:
    """How many connections, from when and to when, in each storm: found by looking at every one again and again."""
    begins, last = sorted(begins), STORM_CONNECTIONS - 1
    many = [
        (begins[at], begins[at + last])
        for at in range(len(begins) - last)
        if begins[at + last] - begins[at] <= STORM_NS
    ]
    joined: list[list[int]] = []
    for low, high in many:
        if joined and low <= joined[-1][1]:
            joined[-1][1] = max(high, joined[-1][1])
        else:
            joined.append([low, high])
    return [(sum(low <= begin <= high for begin in begins), low, high) for low, high in joined]


@settings(max_examples=30)
@given(st.lists(st.integers(0, 60), max_size=45))
@example([0] * STORM_CONNECTIONS)
@example([*range(STORM_CONNECTIONS), *range(30, 30 + STORM_CONNECTIONS)])
@example([*range(0, 2 * STORM_CONNECTIONS, 2)])
def test_storms(begins_s: list[int]) -> None:
    begins = [START_NS + begin * 10**9 for begin in begins_s]
    others = [{"client": "10.0.0.9:1", "time_ns": START_NS + at} for at in range(STORM_CONNECTIONS - 1)]
    joined = [{"is_opened": False}] * STORM_CONNECTIONS
    mine = [{"connection": at, "client": f"10.0.0.1:{at}", "time_ns": begin} for at, begin in enumerate(begins)]
    database = asked(ledger=[*mine, *others, *joined])
    rows = rows_of(database, "FROM gold.storms ORDER BY first_ns")
    assert [(row["connections"], row["first_ns"], row["last_ns"]) for row in rows] == storms_in(begins)
    assert {(row["host"], row["server"]) for row in rows} <= {("10.0.0.1", "10.0.0.2:12345")}


@settings(max_examples=20)
@given(st.lists(st.integers(0, 500), min_size=1, max_size=12), st.integers(0, 90), st.integers(0, 90))
@example([60], 60, 60)
def test_silences(frames_s: list[int], before_s: int, behind_s: int) -> None:
    frames = sorted(START_NS + at * 10**9 for at in frames_s)
    first, last = frames[0] - before_s * 10**9, frames[-1] + behind_s * 10**9
    said = [{"time_ns": at} for at in frames]
    other = {"connection": 2, "time_ns": 0, "last_ns": 10**15, "frames": 0}
    database = asked(frames=said, ledger=[{"time_ns": first, "last_ns": last}, other])
    rows = rows_of(database, "FROM gold.silences")
    longest = max(behind - before for before, behind in pairwise([first, *frames, last]))
    assert [row["silence_ns"] for row in rows] == ([longest] if longest >= SILENCE_NS else [])
    for row in rows:
        assert (row["last_ns"] - row["first_ns"], row["open_ns"]) == (longest, last - first)


def test_nothing_makes_no_rows() -> None:
    views = [statement.split()[2] for statement in GOLD if statement.startswith("CREATE VIEW")]
    assert len(views) > 9
    database = asked()
    assert all(not database.execute(f"FROM {view}").fetchall() for view in views)


@pytest.mark.parametrize("endpoint", ["10.0.0.1:40000", "[2001:db8::1]:40000"])
def test_hosts(endpoint: str) -> None:
    database = asked()
    assert database.execute("SELECT gold.host_of(?)", [endpoint]).fetchone() == (endpoint.rpartition(":")[0],)
