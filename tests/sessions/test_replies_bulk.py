import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.records import a_record

from wiretool import limits
from wiretool.sessions.replies import Asked, ReplyTimes
from wiretool.sessions.replies_bulk import latencies_of, note_requests, note_times


@given(st.data(), st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_times_are_looked_up_as_one_by_one(data: st.DataObject, sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REQUESTS_OPEN_MAX", 8)
        one, many, first_n = ReplyTimes(), ReplyTimes(), 1
        for size in sizes:
            numbers = range(first_n, first_n + size)
            asked = data.draw(st.lists(st.none() | st.integers(1, first_n + size), min_size=size, max_size=size))
            records = [a_record(n=n, time_ns=n * n, reply_to=to) for n, to in zip(numbers, asked, strict=True)]
            wanted = []
            for record in records:
                one.note(record)
                wanted.append(one.latency_ns(record))
            times = np.array([record.time_ns for record in records], np.int64)
            replies = np.array([place for place, to in enumerate(asked) if to is not None], np.int64)
            places = np.array([to - first_n for to in asked if to is not None], np.int64)
            found, is_known = latencies_of(many, first_n, times, replies, places)
            latencies = [latency if known else None for latency, known in zip(found.tolist(), is_known, strict=True)]
            assert latencies == [wanted[place] for place in replies.tolist()]
            note_times(many, first_n, times)
            assert (many.times, many.numbers) == (one.times, one.numbers)
            first_n += size


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_requests_are_remembered_as_one_by_one(sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REQUESTS_OPEN_MAX", 8)
        one, many, first_n = Asked[str](), Asked[str](), 1
        for size in sizes:
            codes = np.arange(first_n, first_n + size) % 3
            for n, code in enumerate(codes.tolist(), first_n):
                if code:
                    one.note(n, "xyz"[code])
            note_requests(many, first_n, codes, np.array([None, "y", "z"], object))
            first_n += size
            for to in range(1, first_n):
                assert many.of(first_n, to) == one.of(first_n, to)
