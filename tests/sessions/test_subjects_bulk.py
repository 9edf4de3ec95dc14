from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.records import WRITER, a_record

from wiretool import limits
from wiretool.codec.columns import Choice, Column, Numbers, Objects, Spans, Uuids
from wiretool.codec.types import uuid_text
from wiretool.sessions.subjects import Mention, Subject, Subjects
from wiretool.sessions.subjects_bulk import Codes, distinct, labels_of, resolve

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


def record_of(n: int, kind: str, writer: int, segment: str) -> Any:
    fields = {"segment": segment} if "s" in kind else {}
    return a_record(n=n, fields=fields | ({"writer_id": f"{writer}"} if "w" in kind else {}))


SAID = st.lists(
    st.tuples(st.sampled_from(["s", "w", "sw", ""]), st.integers(0, 4), st.sampled_from("xyz")), min_size=1, max_size=20
)


@given(st.lists(SAID, min_size=1, max_size=4), st.sampled_from([3, 100]))
def test_writers_are_followed_as_one_by_one(batches: list[Any], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "CONNECTIONS_MAX", most)
        one, many = Subjects(), Subjects()
        for said in batches:
            mentions: Codes[Mention] = Codes()
            about: Codes[tuple[Subject, ...]] = Codes([()])
            codes = mentions.all_of(mention(*each) for each in said)
            resolved = resolve(codes, mentions.values, about, many)
            before = dict(one.known)
            wanted = [one.of(record_of(n, *each)) for n, each in enumerate(said, 1)]
            if resolved is None:
                assert most < 5
                many.known = dict(one.known)
                continue
            assert [about.values[code] for code in resolved.codes.tolist()] == wanted
            assert many.known == before  # nothing was changed yet
            for key, subjects in resolved.keys:
                many.remember(key, subjects)
            assert list(many.known.items()) == list(one.known.items())


def mention(kind: str, writer: int, segment: str) -> Mention:
    subjects = (Subject("segment", segment),) if "s" in kind else ()
    return Mention(subjects, (0, f"{writer}") if "w" in kind else None)


def test_what_says_nothing_is_about_nothing() -> None:
    about: Codes[tuple[Subject, ...]] = Codes([()])
    resolved = resolve(np.array([-1, -1]), (), about, Subjects())
    assert resolved is not None
    assert resolved.codes.tolist() == [0, 0]
    assert Subjects().of(a_record(fields={"writer_id": WRITER})) == ()
