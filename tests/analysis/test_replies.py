import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.records import START_NS, a_record
from wiretool import limits
from wiretool.analysis import replies
from wiretool.analysis.replies import Asked, ReplyTimes


def test_a_reply_knows_how_old_its_request_is() -> None:
    times = ReplyTimes()
    times.note(a_record(n=1))
    reply = a_record(n=2, reply_to=1, time_ns=START_NS + 500)
    times.note(reply)
    assert times.latency_ns(reply) == 500
    assert times.since_first_ns(reply) == 500


def test_what_is_no_reply_or_answers_something_unseen_has_no_time() -> None:
    times = ReplyTimes()
    times.note(a_record(n=1))
    assert times.latency_ns(a_record(n=2)) is None
    assert times.latency_ns(a_record(n=3, reply_to=2)) is None
    assert ReplyTimes().since_first_ns(a_record()) == 0


def test_old_requests_are_forgotten() -> None:
    times = ReplyTimes()
    times.note(a_record(n=1))
    times.note(a_record(n=1 + limits.REQUESTS_OPEN_MAX))
    assert times.latency_ns(a_record(n=2, reply_to=1)) is None


@given(st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=8), st.sampled_from([1, 5, 64]))
def test_requests_are_remembered_as_one_by_one(steps: list[tuple[int, bool]], many_min: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REQUESTS_OPEN_MAX", 8)
        patch.setattr(replies, "MANY_MIN", many_min)
        one, many, first_n = Asked[str](), Asked[str](), 1
        for size, is_at_once in steps:
            said = [(None, "y", "z")[n % 3] for n in range(first_n, first_n + size)]
            for memory in (one,) if is_at_once else (one, many):
                for n, value in enumerate(said, first_n):
                    if value is not None:
                        memory.note(n, value)
            if is_at_once:
                many.note_many(first_n, size, said.__getitem__)
            first_n += size
            for to in range(1, first_n + 2):
                assert many.of(first_n, to) == one.of(first_n, to)


def test_what_is_remembered_at_once_is_forgotten_with_its_last_record() -> None:
    memory, asked = Asked[int](), []

    def value_at(place: int) -> int:
        asked.append(place)
        return place

    count = limits.REQUESTS_OPEN_MAX // 2
    for turn in range(5):
        memory.note_many(1 + turn * count, count, value_at)
        assert len(memory._many) <= 2
    assert not asked
    assert memory.of(5 * count + 1, 4 * count + 1) == 0
    assert memory.of(5 * count + 1, 3 * count + 2) == 1
    assert memory.of(5 * count + 1, 3 * count + 1) is None
