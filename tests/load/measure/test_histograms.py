import base64
import math
import random
import struct
import zlib

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from wiretool.errors import DecodeError, OverLimit
from wiretool.load.measure.histograms import (
    BUCKETS,
    COUNTERS,
    CURVE_POINTS,
    DIGITS,
    HIGHEST_US,
    LOWEST_US,
    Histogram,
)
from wiretool.load.result import Quantiles

#: From nothing to two hours, more of the short ones.
SECONDS = st.one_of(st.floats(0, 0.01), st.floats(0, 7200), st.sampled_from([0.0, 1e-6, 2.0479e-3, 2.048e-3, 3600.0]))


def histogram_of(seconds: list[float]) -> Histogram:
    histogram = Histogram()
    histogram.add_seconds(seconds)
    return histogram


def library_of(seconds: list[float]) -> HdrHistogram:
    """Counted one by one, with the library's own calls."""
    histogram = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    for value in seconds:
        assert histogram.record_value(min(max(round(value * 1e6), LOWEST_US), HIGHEST_US))
    return histogram


def text_of(body: bytes) -> str:
    """A text with whatever is inside."""
    packed = zlib.compress(body)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed).decode()


def body_of(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text)[8:])


@given(st.lists(SECONDS, max_size=300))
def test_it_counts_as_the_library_does(seconds: list[float]) -> None:
    ours, theirs = histogram_of(seconds), library_of(seconds)
    assert ours.count == theirs.get_total_count() == len(seconds)
    if seconds:
        assert ours.text() == theirs.encode().decode()


@given(st.lists(SECONDS, min_size=1, max_size=300))
def test_quantiles_are_the_library_s(seconds: list[float]) -> None:
    found, theirs = histogram_of(seconds).quantiles(), library_of(seconds)
    at = theirs.get_percentile_to_value_dict([50, 90, 99, 99.9])
    assert found == Quantiles(p50=at[50], p90=at[90], p99=at[99], p99_9=at[99.9], max=theirs.get_max_value())


@given(st.lists(st.floats(1e-6, 3600), min_size=1, max_size=300))
def test_quantiles_are_those_of_the_sorted_times_to_three_digits(seconds: list[float]) -> None:
    found = histogram_of(seconds).quantiles()
    exact = sorted(round(value * 1e6) for value in seconds)
    for share, value in ((0.5, found.p50), (0.9, found.p90), (0.99, found.p99), (1.0, found.max)):
        wanted = exact[max(int(share * len(exact) + 0.5), 1) - 1]
        assert wanted <= value <= wanted * 1.001 + 1


@given(st.lists(st.lists(SECONDS, max_size=50), max_size=6))
def test_parts_merge_to_the_whole(parts: list[list[float]]) -> None:
    merged = Histogram()
    for part in parts:
        merged.merge(histogram_of(part))
    whole = histogram_of([value for part in parts for value in part])
    assert merged.text() == whole.text()
    assert merged.quantiles() == whole.quantiles()


@given(st.lists(SECONDS, max_size=100), st.lists(SECONDS, max_size=100))
def test_a_text_is_the_whole_histogram(seconds: list[float], more: list[float]) -> None:
    histogram = histogram_of(seconds)
    again = Histogram.from_text(histogram.text())
    assert (again.count, again.text(), again.quantiles()) == (histogram.count, histogram.text(), histogram.quantiles())
    again.add_seconds(more)
    histogram.add_seconds(more)
    assert again.text() == histogram.text()
    assert again.quantiles() == histogram.quantiles()


def test_there_are_as_many_counters_as_the_library_has() -> None:
    assert len(Histogram().counters()) == COUNTERS
    assert BUCKETS.last_of(COUNTERS - 1) >= HIGHEST_US


def test_what_is_beyond_the_bounds_counts_as_the_bound() -> None:
    assert histogram_of([0.0, -1.0, 1e-9]).quantiles() == Quantiles(p50=1, p90=1, p99=1, p99_9=1, max=1)
    longest = histogram_of([0.001, 7200.0, math.inf])
    assert longest.count == 3
    assert longest.quantiles().max == longest.quantiles().p90 >= HIGHEST_US
    assert Histogram.from_text(longest.text()).quantiles().max == longest.quantiles().max


def test_times_are_rounded_to_the_nearest_microsecond() -> None:
    assert histogram_of([0.0000104, 0.0000106]).recorded()[0].tolist() == [10, 11]


def test_nothing_counted_is_no_text_and_no_times() -> None:
    empty = histogram_of([])
    assert (empty.text(), empty.count, empty.quantiles(), empty.curve()) == ("", 0, Quantiles(), [])
    assert Histogram.from_text("").count == 0
    empty.merge(Histogram())
    assert empty.text() == ""


@given(st.lists(SECONDS, min_size=1, max_size=300))
def test_a_curve_rises_from_the_least_to_the_greatest(seconds: list[float]) -> None:
    histogram = histogram_of(seconds)
    curve = histogram.curve()
    assert curve == sorted(curve)
    assert curve[0] == (0.0, int(histogram.recorded()[0][0]))
    assert curve[-1] == (1.0, histogram.quantiles().max)
    assert len(curve) <= CURVE_POINTS + 1
    ends, counts = histogram.recorded()
    for share, micros in curve:
        assert counts[ends <= micros].sum() >= share * len(seconds) - 1e-6


def test_a_curve_is_dense_where_the_slowest_are() -> None:
    source = random.Random(7)
    curve = histogram_of([source.expovariate(1000) for _ in range(20_000)]).curve()
    assert len(curve) == CURVE_POINTS + 1
    assert sum(share > 0.99 for share, _ in curve) > CURVE_POINTS / 3
    near = min(curve, key=lambda point: abs(point[0] - 0.5))
    assert near[1] == pytest.approx(math.log(2) * 1000, rel=0.1)


def test_a_hundred_thousand_times_are_all_there() -> None:
    source = random.Random(1)
    seconds = [source.lognormvariate(-7, 1) for _ in range(100_000)]
    ends, counts = histogram_of(seconds).recorded()
    assert counts.sum() == 100_000
    assert (ends * counts).sum() / 100_000 == pytest.approx(sum(seconds) * 10, rel=1e-3)


@pytest.mark.parametrize(
    ("lowest", "highest", "digits"), [(1, 1_000_000, 3), (1, HIGHEST_US, 2), (1000, HIGHEST_US, 3), (1, 2**62, 5)]
)
def test_a_histogram_of_other_bounds_is_refused(lowest: int, highest: int, digits: int) -> None:
    other = HdrHistogram(lowest, highest, digits)
    other.record_value(5000)
    with pytest.raises(DecodeError, match=r"unexpected lowest value, highest value and digits: .*"):
        Histogram.from_text(other.encode().decode())


@pytest.mark.parametrize("text", ["x", "none of it", "ÄÖ", "HISTF", "AAAA" * 10, text_of(b""), text_of(b"\0" * 39)])
def test_what_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="not HdrHistogram's text"):
        Histogram.from_text(text)


def test_more_than_a_histogram_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(OverLimit, match="unpacks to more than"):
        Histogram.from_text(text_of(body_of(histogram_of([1.0]).text()) + b"\0" * 40_000_000))
    with pytest.raises(OverLimit, match="a text of 400000 characters"):
        Histogram.from_text("A" * 400_000)


def test_counts_beyond_belief_are_refused() -> None:
    theirs = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    theirs.record_value(5, 2**46)
    with pytest.raises(OverLimit, match="a count above"):
        Histogram.from_text(theirs.encode().decode())


@given(st.data())
def test_a_damaged_text_is_a_histogram_or_refused(data: st.DataObject) -> None:
    whole = body_of(histogram_of([0.001, 0.002, 0.5, 100.0]).text())
    body = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 3)) if body else 0):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    body += data.draw(st.binary(max_size=20))
    try:
        histogram = Histogram.from_text(text_of(bytes(body)))
    except DecodeError:
        return
    assert histogram.count == histogram.recorded()[1].sum()
    assert len(histogram.curve()) <= CURVE_POINTS + 1
