"""`--event-size`: what each form draws, and what is said of forms that are none."""

import statistics
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.errors import UsageError
from wiretool.limits import BENCH_EVENT_BYTES_MAX
from wiretool.load.planning.sizes import Sizes, sizes_from


def read(text: str, smallest: int = MARK_BYTES) -> Sizes:
    return sizes_from(text, option="--event-size", smallest=smallest)


def drawn(text: str, count: int = 4_000) -> list[int]:
    random = Random(1)
    sizes = read(text)
    found = [sizes.draw(random) for _ in range(count)]
    assert sizes.min <= min(found) <= max(found) <= sizes.max
    return found


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("100", 100),
        ("1KiB", 1024),
        ("10k", 10_000),
        ("1.5K", 1_500),
        ("8MiB", BENCH_EVENT_BYTES_MAX),
        ("20", 20),
        ("0100", 100),
    ],
)
def test_a_number_is_a_fixed_size(text: str, size: int) -> None:
    sizes = read(text)
    assert (sizes.is_fixed, sizes.max, sizes.draw(Random(0))) == (True, size, size)


def test_uniform_sizes_go_from_end_to_end() -> None:
    found = drawn("uniform:100-103")
    assert {found.count(size) > 800 for size in range(100, 104)} == {True}
    assert read("uniform:100-1KiB").max == 1024
    assert read("uniform:50-50").is_fixed


def test_normal_sizes_are_about_their_mean() -> None:
    found = drawn("normal:1000,200")
    assert statistics.mean(found) == pytest.approx(1000, abs=15)
    assert statistics.stdev(found) == pytest.approx(200, rel=0.05)
    assert read("normal:1000,200").max == 2_400


def test_exponential_sizes_have_their_mean() -> None:
    found = drawn("exponential:5K")
    assert statistics.mean(found) == pytest.approx(5_000, rel=0.05)
    assert statistics.median(found) == pytest.approx(5_000 * 0.693, rel=0.05)


def test_lognormal_sizes_have_their_median() -> None:
    found = drawn("lognormal:500,1.0")
    assert statistics.median(found) == pytest.approx(500, rel=0.05)
    assert statistics.mean(found) == pytest.approx(824, rel=0.1)  # median times exp(sigma² / 2)


def test_listed_sizes_come_by_their_weights() -> None:
    found = drawn("100@0.9,10K@0.1")
    assert set(found) == {100, 10_000}
    assert found.count(100) / len(found) == pytest.approx(0.9, abs=0.02)
    assert drawn("100@9,10K@1") == found
    assert read("100@1").is_fixed


@pytest.mark.parametrize("text", ["exponential:20", "normal:20,1000", "lognormal:20,3"])
def test_what_is_drawn_too_small_or_large_is_the_least_or_the_most(text: str) -> None:
    found = drawn(text)
    assert min(found) == MARK_BYTES


def test_a_long_tail_ends_at_the_largest_event() -> None:
    assert read("lognormal:1M,10").max == BENCH_EVENT_BYTES_MAX
    assert max(drawn("lognormal:1M,10")) == BENCH_EVENT_BYTES_MAX


def test_events_that_are_not_verified_may_be_smaller() -> None:
    assert read("1", smallest=1).max == 1
    with pytest.raises(UsageError, match=r"an event of 0 bytes is too small: the least is 1$"):
        read("0", smallest=1)


@pytest.mark.parametrize(
    "text",
    ["", "K", "1.5X", "-5", "1e3", "ten", "uniform", "uniform:", "uniform:100", "uniform:a-b", "normal:100",
     "normal:100,x", "exponential:", "lognormal:100;1", "gamma:5", "100@", "@1", "100@1,", "100@1,,", "١٠٠",
     "9" * 41, "normal:1000,nan-", "uniform:100–200"],
)  # fmt: skip
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"^--event-size '.*': not a size or distribution; expected a size such as 100"
    ):
        read(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("19", "an event of 19 bytes is too small: the mark by which it is verified takes 20; --no-verify"),
        ("uniform:1-100", "an event of 1 bytes is too small"),
        ("100@1,5@1", "an event of 5 bytes is too small"),
        ("9M", "an event of 9,000,000 bytes is too large: clients take 8MiB at most"),
        ("exponential:999999999999999999M", "is too large"),
        ("uniform:1K-100", "1,000 is more than 100: the smaller one comes first"),
        ("normal:100,0", "the standard deviation is above 0 and 8,388,608 at most, not 0"),
        ("normal:100,nan", "the standard deviation is above 0"),
        ("lognormal:100,11", r"sigma, of the logarithm, is above 0 and 10 at most, not 11"),
        ("100@0", "a weight is above 0"),
        ("100@inf", "a weight is above 0"),
        (",".join(["100@1"] * 1_001), "1,001 sizes are too many"),
    ],
)
def test_sizes_out_of_bounds_are_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read(text)


@given(st.text(alphabet="0123456789KM@,.:-uniformexplga \n", max_size=24))
def test_any_text_is_sizes_or_a_usage_error_of_one_line(text: str) -> None:
    try:
        sizes = read(text)
    except UsageError as err:
        said = str(err)
    else:
        said = ""
        assert MARK_BYTES <= sizes.min <= sizes.draw(Random(0)) <= sizes.max <= BENCH_EVENT_BYTES_MAX
    assert "\n" not in said
