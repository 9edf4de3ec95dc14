"""The formula of buckets in each of its forms, held to the others and to HdrHistogram's own."""

from collections.abc import Sequence
from functools import cache

import duckdb
import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from wiretool.analysis.buckets import Buckets
from wiretool.codec.columns import Integers

LARGEST = 2**63 - 1
#: Those in use, of loads (HdrHistogram's for three digits) and of captures; and some with which exponents are rounded.
EACH = pytest.mark.parametrize("buckets", [Buckets(10), Buckets(11), Buckets(3)], ids=lambda each: str(each.bits))
NUMBERS = st.integers(0, LARGEST) | st.integers(0, 63).flatmap(lambda bits: st.integers(0, 2**bits - 1))
BESIDE_POWERS = sorted({min((1 << power) + off, LARGEST) for power in range(64) for off in (-1, 0, 1)})


def every(buckets: Buckets) -> Integers:
    return np.arange(buckets.bucket_of(LARGEST) + 1)


@cache
def database(buckets: Buckets) -> duckdb.DuckDBPyConnection:
    created = duckdb.connect()
    created.execute("CREATE SCHEMA named")
    for macro in buckets.macros("named"):
        created.execute(macro)
    return created


def in_sql(buckets: Buckets, numbers: Integers) -> tuple[Integers, Integers]:
    """The bucket of each number, and the value of each of these, by DuckDB."""
    query = """SELECT named.bucket_of(v) AS bucket, named.value_of(named.bucket_of(v)) AS value
        FROM (SELECT unnest(?::BIGINT[]) AS v)"""
    found = database(buckets).execute(query, [numbers.tolist()]).fetchnumpy()
    return found["bucket"], found["value"]


def agree(buckets: Buckets, numbers: Sequence[int]) -> None:
    """Assert that all forms find the same buckets and values, and that each bucket has its number."""
    column = np.array(numbers, np.int64)
    found = buckets.buckets_of(column)
    assert found.tolist() == list(map(buckets.bucket_of, numbers))
    in_duckdb, values = in_sql(buckets, column)
    assert (in_duckdb == found).all()
    assert values.tolist() == list(map(buckets.value_of, found.tolist()))
    first, last = buckets.first_of(found), buckets.last_of(found)
    assert ((first <= column) & (column <= last)).all()
    assert ((first <= values) & (values <= last)).all()
    assert (last - first <= first >> buckets.bits).all()


@EACH
def test_forms_agree_at_both_ends_of_every_bucket(buckets: Buckets) -> None:
    numbers = every(buckets)
    first, last = buckets.first_of(numbers), buckets.last_of(numbers)
    assert (first[0], last[-1]) == (0, LARGEST)
    assert (first[1:] == last[:-1] + 1).all()
    assert (buckets.buckets_of(first) == numbers).all()
    assert (buckets.buckets_of(last) == numbers).all()
    agree(buckets, np.concatenate([first, last]).tolist())


@EACH
def test_forms_agree_beside_powers_of_two(buckets: Buckets) -> None:
    agree(buckets, BESIDE_POWERS)


@EACH
@given(numbers=st.lists(NUMBERS, min_size=1, max_size=200))
def test_forms_agree_on_any_numbers(buckets: Buckets, numbers: Sequence[int]) -> None:
    agree(buckets, numbers)


def test_ten_bits_are_the_counters_of_the_library() -> None:
    highest = 2**62
    library, buckets = HdrHistogram(1, highest, 3), Buckets(10)
    numbers = range(buckets.bucket_of(highest))
    first = [buckets.first_of(number) for number in numbers]
    assert first == [library.get_value_from_index(number) for number in numbers]
    assert [buckets.last_of(number) for number in numbers] == list(map(library.get_highest_equivalent_value, first))


def test_small_numbers_have_a_bucket_each() -> None:
    assert [Buckets(10).bucket_of(number) for number in range(2048)] == list(range(2048))
    assert Buckets(10).bucket_of(2049) == 2048
