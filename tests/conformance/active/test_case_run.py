"""Cases against scripted servers: each kind of step, each verdict, and what a failure says."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.conformance.scripted import Act, run_case
from wiretool.conformance.case import (
    MUST,
    SHOULD,
    Case,
    Finish,
    Reply,
    Reset,
    SendBytes,
    Steps,
    Verdict,
    Wait,
    case,
    expect,
    expect_all,
    expect_any,
    expect_close,
    expect_nothing,
    lenient,
    reply,
    send,
    unsupported,
)
from wiretool.conformance.values import Saved, Text, Var
from wiretool.protocols.pravega import PROTOCOL

SEGMENT = Text("{scope}/s/0.#epoch.0")
CREATE = send("CreateSegment", request_id=Var("id", 1), segment=SEGMENT, scale_type=0, target_rate=0)


def made(*steps: Steps, **options: Any) -> Case:
    return case("pravega/x/1", MUST, "It does.", "§1", *steps, **options)


def created(fields: Mapping[str, Any], **changed: Any) -> tuple[str, dict[str, Any]]:
    return "SegmentCreated", {"request_id": fields["request_id"], "segment": fields["segment"]} | changed


def answering(*acts: Act) -> Any:
    """A server that does the same about every message."""

    def script(name: str, fields: Mapping[str, Any]) -> Sequence[Act]:
        return [act(fields) if callable(act) else act for act in acts]

    return script


EXPECTED = made(CREATE, expect("SegmentCreated", request_id=Var("id", 1), segment=SEGMENT))


def test_a_pass() -> None:
    result = run_case(EXPECTED, answering(created))
    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert [event.name for event in result.events] == ["CreateSegment", "SegmentCreated"]


def test_the_first_difference_is_marked_and_said() -> None:
    result = run_case(EXPECTED, answering(lambda fields: created(fields, request_id=9)))
    assert result.verdict is Verdict.FAIL
    assert result.difference == "SegmentCreated.request_id: expected 1, found 9"
    assert [event.is_marked for event in result.events] == [False, True]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (answering(), "no reply came in time"),
        (answering("close"), "the server closed the connection"),
        (answering(("NoSuchSegment", {"request_id": 1, "segment": "x"})), "NoSuchSegment came"),
        (answering(bytes.fromhex("000000990000000142")), "Unknown: "),
        (answering(created, created), "unexpected SegmentCreated"),
        (answering(created, "close"), "the server closed the connection"),
        (answering(created, (0.02, "close")), "the server closed the connection"),
        (answering(created, (0.02, ("KeepAlive", {}))), "unexpected KeepAlive"),
    ],
)
def test_failures(script: Any, why: str) -> None:
    result = run_case(EXPECTED, script)
    assert result.verdict is Verdict.FAIL
    assert result.why.startswith(why)


def test_the_mark_is_on_the_message_that_differs_also_if_more_came_with_it() -> None:
    def both(fields: Mapping[str, Any]) -> bytes:
        replies: list[tuple[str, dict[str, Any]]] = [
            created(fields, request_id=9),
            created(fields, request_id=1),
            ("KeepAlive", {}),
        ]
        return b"".join(PROTOCOL.encode(PROTOCOL.from_json(name, "server", form), "server") for name, form in replies)

    result = run_case(EXPECTED, answering(both))
    assert [event.is_marked for event in result.events] == [False, True, False, False]
    assert (result.sent, result.received) == (result.events[0], result.events[1])


def test_the_mark_is_on_an_end_that_nothing_asked_for() -> None:
    result = run_case(EXPECTED, answering(created, "close"))
    assert result.why == "the server closed the connection"
    assert result.received is not None
    assert result.received == result.events[-1]
    assert result.received.name == "(connection closed)"


def test_a_missing_reply_is_marked_at_the_request() -> None:
    result = run_case(EXPECTED, answering())
    assert (result.sent, result.received) == (result.events[0], None)


def test_messages_that_may_come_at_any_time_are_ignored() -> None:
    noisy = made(CREATE, expect("SegmentCreated"), ignore=["KeepAlive"])
    assert run_case(noisy, answering(("KeepAlive", {}), created, ("KeepAlive", {}))).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("outcome", "verdict", "why"),
    [
        (lenient("SegmentCreated", "it should refuse"), Verdict.LENIENT, "it should refuse"),
        (unsupported("SegmentCreated", "no such command"), Verdict.UNSUPPORTED, "no such command"),
        (Reply("SegmentCreated", {}, Verdict.FAIL, "never"), Verdict.FAIL, "never"),
    ],
)
def test_graded_outcomes(outcome: Reply, verdict: Verdict, why: str) -> None:
    result = run_case(made(CREATE, expect_any(reply("NoSuchSegment"), outcome)), answering(created))
    assert result.verdict is verdict
    assert result.why.startswith(why)


def test_silence_is_required_for_so_long() -> None:
    quiet = made(CREATE, expect_nothing(seconds=0.3))
    assert run_case(quiet, answering()).verdict is Verdict.PASS
    assert run_case(quiet, answering((0.4, "close"))).verdict is Verdict.PASS
    for act in (created, (0.2, "close")):
        assert run_case(quiet, answering(act)).verdict is Verdict.FAIL


def test_a_reply_may_come_too_early_or_too_late() -> None:
    timed = made(CREATE, expect_any(reply("KeepAlive"), after_s=0.5, within_s=1.0))
    late, early, good = (answering((seconds, ("KeepAlive", {}))) for seconds in (1.2, 0.4, 0.6))
    assert run_case(timed, good).verdict is Verdict.PASS
    assert "before 0.5 s" in run_case(timed, early).why
    assert "no reply came in time" in run_case(timed, late).why


def test_several_replies_in_any_order() -> None:
    both = made(CREATE, expect_all(reply("SegmentCreated"), reply("KeepAlive")))
    assert run_case(both, answering(("KeepAlive", {}), created)).verdict is Verdict.PASS
    assert "no reply came in time" in run_case(both, answering(created)).why
    assert run_case(both, answering(created, created)).verdict is Verdict.FAIL


def test_a_saved_value_is_sent_again() -> None:
    seen: list[int] = []

    def script(name: str, fields: Mapping[str, Any]) -> Sequence[Act]:
        seen.append(fields["request_id"])
        return [("SegmentSealed", {"request_id": 77, "segment": "s"})]

    steps = (CREATE, expect("SegmentSealed", request_id=Saved("it")))
    again = send("SealSegment", request_id=Saved("it", 1), segment="s")
    assert run_case(made(steps, again, expect("SegmentSealed")), script).verdict is Verdict.PASS
    assert seen == [1, 78]


def test_bytes_ends_and_waits() -> None:
    got: list[str] = []

    def script(name: str, fields: Mapping[str, Any]) -> Sequence[Act]:
        got.append(name)
        return []

    hello = bytes.fromhex("ffffff81000000080000001100000005")
    steps = (SendBytes(hello[:5], "half"), Wait(0.1), SendBytes(hello[5:], "the rest"), Finish(), expect_close())
    assert run_case(made(steps), script).verdict is Verdict.PASS
    assert got == ["Hello"]
    assert run_case(made(SendBytes(hello, "it"), Reset()), script).verdict is Verdict.PASS


def test_a_changed_frame() -> None:
    cut = made(send("KeepAlive", change=lambda data: data[:4]), expect_nothing())
    assert run_case(cut, answering(("KeepAlive", {}))).verdict is Verdict.PASS  # it never saw a whole frame


def test_every_level_is_kept() -> None:
    assert case("pravega/x/2", SHOULD, "It does.", "§1", CREATE).level is SHOULD


def test_a_wait_ends_with_the_connections_of_all_later_steps() -> None:
    result = run_case(made(CREATE, Wait(100.0), expect("SegmentCreated"), Wait(100.0), CREATE), answering("close"))
    assert result.verdict is Verdict.FAIL
    assert result.seconds < 1
    other = run_case(made(CREATE, Wait(100.0), send("KeepAlive", on="b")), answering("close"))
    assert other.seconds >= 100


def test_a_wait_goes_on_while_another_connection_is_open() -> None:
    def script(name: str, fields: Mapping[str, Any]) -> Sequence[Act]:
        return ["close"] if name == "CreateSegment" else [(1.0, ("KeepAlive", {}))]

    other = send("KeepAlive", on="b")
    result = run_case(made(other, CREATE, Wait(2.0), expect_close()), script)
    assert (result.verdict, result.why) == (Verdict.FAIL, "unexpected KeepAlive")
    reset = run_case(made(other, Reset(on="b"), CREATE, Wait(100.0), expect_close()), answering("close"))
    assert reset.verdict is Verdict.PASS
    assert reset.seconds < 1
