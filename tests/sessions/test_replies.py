from tests.helpers.records import START_NS, a_record

from wiretool import limits
from wiretool.sessions.replies import ReplyTimes


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
