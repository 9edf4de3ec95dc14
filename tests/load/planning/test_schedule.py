"""Arrivals of an open loop, and the options that say how many and how long."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.errors import UsageError
from wiretool.load.planning.schedule import Schedule, duration_from, rate_from

RATES = st.floats(0.01, 1e6)


def all_times(users: int, rate_per_s: float, rounds: int, ramp_s: float = 0.0) -> list[float]:
    schedules = [Schedule(0.0, user=user, users=users, rate_per_s=rate_per_s, ramp_s=ramp_s) for user in range(users)]
    return sorted(schedule.at(index) for schedule in schedules for index in range(rounds))


def test_users_share_the_rate_evenly() -> None:
    assert all_times(4, 8.0, 3) == pytest.approx([index / 8 for index in range(12)])


def test_nothing_adds_up_to_a_drift() -> None:
    schedule = Schedule(1_000.0, user=3, users=64, rate_per_s=5_000.0)
    week = 7 * 24 * 3_600 * 5_000 // 64
    assert schedule.at(week) == 1_000.0 + (week * 64 + 3) / 5_000.0


def test_users_join_within_a_ramp_on_places_of_their_own() -> None:
    times = all_times(4, 8.0, 6, ramp_s=2.0)
    # All of them on the grid, each place taken once, fewer of them while there are fewer users.
    assert all((time * 8).is_integer() for time in times)
    assert len(set(times)) == len(times)
    per_half = [sum(begin <= time < begin + 0.5 for time in times) for begin in (0.0, 0.5, 1.0, 1.5, 2.0)]
    assert per_half == [1, 2, 3, 4, 4]


@given(st.integers(1, 50), st.data(), RATES, st.floats(0, 100), st.floats(0, 1e6))
def test_nobody_begins_before_its_turn_in_the_ramp(
    users: int, data: st.DataObject, rate: float, ramp_s: float, began: float
) -> None:
    user = data.draw(st.integers(0, users - 1))
    first = Schedule(began, user=user, users=users, rate_per_s=rate, ramp_s=ramp_s).at(0)
    begin = began + ramp_s * user / users
    slack = 1e-6 * (1 + users / rate)
    assert begin - slack <= first <= max(begin, began + user / rate) + users / rate + slack


@given(st.integers(1, 50), st.data(), RATES, st.floats(0, 1e6), st.floats(-10, 1e4), st.floats(0, 60))
def test_due_counts_what_at_says(
    users: int, data: st.DataObject, rate: float, began: float, after_s: float, ramp_s: float
) -> None:
    user = data.draw(st.integers(0, users - 1))
    schedule = Schedule(began, user=user, users=users, rate_per_s=rate, ramp_s=ramp_s)
    now = began + after_s
    count = schedule.due(now)
    assert schedule.at(count) > now
    assert count == 0 or schedule.at(count - 1) <= now


@given(st.integers(1, 20), st.integers(0, 1_000), st.floats(0.1, 1e5), st.floats(0, 1e3))
def test_what_is_due_is_due_on_the_dot(users: int, index: int, rate: float, began: float) -> None:
    schedule = Schedule(began, user=0, users=users, rate_per_s=rate)
    assert schedule.due(schedule.at(index)) >= index + 1
    assert schedule.due(math.nextafter(schedule.at(index), -1)) <= index


@pytest.mark.parametrize(
    ("text", "rate"),
    [("5000", 5_000), ("5k", 5_000), ("5K", 5_000), ("1M", 1e6), ("300/m", 5), ("36k/h", 10), ("0.5", 0.5),
     ("1.5k/s", 1_500)],
)  # fmt: skip
def test_rates_are_exchanges_a_second(text: str, rate: float) -> None:
    assert rate_from(text, option="--rate") == rate


@pytest.mark.parametrize(
    "text",
    ["", "0", "-5", "5m", "5/", "5/d", "/s", "k", "1e3", "inf", "nan", "9" * 41, "999G", "1.2.3", ".", "٥"],
)
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"^--rate '.*': (not a rate; expected a number|out of range; expected 0\.0001 to )"
    ):
        rate_from(text, option="--rate")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10", 10),
        ("10s", 10),
        ("2m", 120),
        ("1h", 3_600),
        ("0.5", 0.5),
        ("1.5m", 90),
        ("10ms", 0.01),
        ("1d", 86_400),
        ("10 s", 10),
        ("1_000s", 1_000),
    ],
)
def test_durations_are_seconds(text: str, seconds: float) -> None:
    assert duration_from(text, option="--duration") == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "-1", "s", "1h30m", "1e3", "inf", "nan", "2M", "5sec"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(
        UsageError,
        match=r"^--duration '.*': (not a duration; expected|out of range; expected 1ms to 7d)",
    ):
        duration_from(text, option="--duration")


def test_a_duration_has_an_end() -> None:
    assert duration_from("168h", option="--duration") == 604_800
    with pytest.raises(UsageError, match=r"--duration '169h': out of range; expected 1ms to 7d"):
        duration_from("169h", option="--duration")


def test_a_warm_up_may_be_none_at_all() -> None:
    assert duration_from("0", option="--warmup", may_be_zero=True) == 0
    with pytest.raises(UsageError, match="--warmup"):
        duration_from("-1", option="--warmup", may_be_zero=True)
