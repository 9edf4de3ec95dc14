"""The choice among outcomes: the first that fits, the values that it binds, and the reason why none fits."""

from wiretool.conformance.active.outcomes import find_outcome
from wiretool.conformance.case import CLOSED, Incoming, Reply
from wiretool.conformance.values import ANY, Bindings, Saved

CREATED = Incoming("SegmentCreated", "server", {"segment": "s", "request_id": 7})


def test_the_first_outcome_that_fits_binds_its_values() -> None:
    bindings = Bindings(None)
    wrong = Reply("SegmentCreated", {"request_id": Saved("id"), "segment": "other"})
    right = Reply("SegmentCreated", {"request_id": Saved("again"), "segment": "s"})
    found = find_outcome([wrong, right, Reply("SegmentCreated")], "SegmentCreated", CREATED, bindings)
    assert (found.outcome, found.bindings.values) == (right, {"again": 7})
    assert bindings.values == {}


def test_the_reason_is_the_first_difference_or_the_name() -> None:
    outcomes = [Reply("NoSuchSegment"), Reply("SegmentCreated", {"segment": "other"})]
    assert find_outcome(outcomes, "SegmentCreated", CREATED, Bindings(None)).why.startswith("SegmentCreated.segment")
    assert find_outcome(outcomes[:1], "SegmentCreated", CREATED, Bindings(None)).why == "SegmentCreated came"


def test_an_end_is_an_outcome_by_its_name() -> None:
    closed = Reply(CLOSED)
    assert find_outcome([Reply("Hello"), closed], CLOSED, None, Bindings(None)).outcome is closed
    found = find_outcome([Reply("Hello")], CLOSED, None, Bindings(None), words="the connection was reset")
    assert (found.outcome, found.why) == (None, "the connection was reset")


def test_a_problem_fits_only_outcomes_that_name_it() -> None:
    damaged = Incoming("Hello", "server", {}, ("bad_magic at byte 0",))
    known = Reply("Hello", {"low": ANY}, problem="bad_magic")
    assert find_outcome([Reply("Hello"), known], "Hello", damaged, Bindings(None)).outcome is known
    found = find_outcome([Reply("Hello")], "Hello", damaged, Bindings(None))
    assert (found.outcome, found.why) == (None, "Hello: bad_magic at byte 0")
