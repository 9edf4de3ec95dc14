from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.records import WRITER, a_record
from wiretool import limits
from wiretool.analysis.subjects import Mention, Subjects, mention_of
from wiretool.analysis.subjects_bulk import Codes, MentionCodes, distinct, find_begins, follow_mentions, labels_of
from wiretool.codec.columns import Choice, Column, Numbers, Objects, Spans, Uuids
from wiretool.codec.types import uuid_text

DATA = b"one two one"


def texts_of(column: Column) -> list[str | None]:
    codes, values = labels_of(column, DATA)
    return [None if code < 0 else values[code] for code in codes.tolist()]


def test_texts_are_labelled() -> None:
    assert texts_of(Choice(np.array([1, 0, -1, 1]), ("a", "b"))) == ["b", "a", None, "b"]
    assert texts_of(Choice(np.array([0, 1]), (None, 7))) == [None, None]
    assert texts_of(Spans(np.array([0, 4, 8]), np.full(3, 3), is_text=True)) == ["one", "two", "one"]
    assert texts_of(Spans(np.array([0, 4]), np.full(2, 3), is_text=False)) == [None, None]
    assert texts_of(Objects(["x", None, {"y": 1}])) == ["x", None, None]
    assert texts_of(Numbers(np.array([1, 2]))) == [None, None]
    assert texts_of(Choice(np.array([0, 0, 0]), ("a",))) == ["a"]  # one for all


@given(st.lists(st.integers(0, 3), max_size=20))
def test_ids_are_labelled(kinds: list[int]) -> None:
    raw = np.array([[kind] * 15 + [9] for kind in kinds], np.uint8).reshape(-1, 16)
    wanted = [uuid_text(bytes(row)) for row in raw]
    found = texts_of(Uuids(raw))
    assert (found * len(wanted) if len(set(wanted)) == 1 else found) == wanted


@given(st.lists(st.integers(0, 30), max_size=30), st.sampled_from([31, 10**9]))
def test_distinct_codes(codes: list[int], size: int) -> None:
    found, place = distinct(np.array(codes, np.int64), size)
    assert found.tolist() == sorted(set(codes)) or len(found) == size
    assert found[place].tolist() == codes


def record_of(n: int, connection: int, kind: str, writer: int, segment: str) -> Any:
    fields = {"segment": segment} if "s" in kind else {}
    fields |= {"writer_id": f"{writer}"} if "w" in kind else {}
    return a_record(n=n, connection=connection, fields=fields)


FRAMES = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2**63 - 1]),
        st.sampled_from(["s", "w", "sw", ""]),
        st.integers(0, 4),
        st.sampled_from("xyz"),
    ).flatmap(lambda each: st.integers(1, 3).map(lambda count: [each] * count)),
    min_size=1,
    max_size=20,
).map(lambda series: [each for equal in series for each in equal])


@given(st.lists(FRAMES, min_size=1, max_size=4), st.sampled_from([1, 3, 7, 100]))
def test_writers_are_followed_as_one_by_one(batches: list[Any], most: int) -> None:
    """Keys that are forgotten within a batch, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "CONNECTIONS_MAX", most)
        one, many = Subjects(), Subjects()
        for frames in batches:
            records = [record_of(n, *each) for n, each in enumerate(frames, 1)]
            codes = MentionCodes()
            connection = np.array([record.connection for record in records], np.int64)
            about = follow_mentions(connection, codes.of_each(map(mention_of, records)), codes, many)
            assert [codes.subjects.values[code] for code in about.tolist()] == [one.of(each) for each in records]
            assert list(many.known.items()) == list(one.known.items())


def test_what_mentions_nothing_is_about_nothing() -> None:
    codes = MentionCodes()
    mentions = codes.of_each([Mention(), Mention()])
    assert follow_mentions(np.array([4, 4]), mentions, codes, Subjects()).tolist() == [0, 0]
    assert Subjects().of(a_record(fields={"writer_id": WRITER})) == ()


def test_codes_are_given_in_order() -> None:
    codes = Codes(["x"])
    assert codes.all_of(["y", "x", "z", "y"]).tolist() == [1, 0, 2, 1]
    assert (codes.of("z"), codes.values, len(codes)) == (2, ["x", "y", "z"], 3)


def test_series_of_equal_rows() -> None:
    assert find_begins(np.array([1, 1, 1, 2]), np.array([5, 5, 6, 6])).tolist() == [0, 2, 3]
    assert find_begins(np.zeros(0, np.int64)).tolist() == []
