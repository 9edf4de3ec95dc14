"""Which request a reply answers."""

from collections.abc import Callable

import pytest

from tests.protocols.pravega.talk import (
    HELLO,
    OTHER,
    SEGMENT,
    SET_UP,
    SETUP,
    SETUP_OTHER,
    WRITER,
    Talk,
    ack,
    block,
    end,
)
from wiretool import limits
from wiretool.codec.message import Message, Side
from wiretool.protocols.pravega.commands import MESSAGES
from wiretool.protocols.pravega.failures import (
    AuthTokenCheckFailed,
    InvalidEventNumber,
    NoSuchSegment,
    OperationUnsupported,
    SegmentIsSealed,
    WrongHost,
)
from wiretool.protocols.pravega.messages import (
    ConditionalCheckFailed,
    Hello,
    KeepAlive,
    ReadSegment,
    SegmentRead,
)
from wiretool.protocols.pravega.pairing import ANSWERS, Acks, Requests
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    DeleteSegment,
    GetStreamSegmentInfo,
    MergeSegments,
    SealSegment,
    SegmentAttributeUpdated,
    SegmentCreated,
    SegmentDeleted,
    SegmentSealed,
    SegmentsMerged,
)

GREETING = Hello(high_version=17, low_version=5)


def answers(talk: Talk, reply: Message) -> int | None:
    """The record that a reply of the server answers."""
    return talk.server(reply).reply_to


def read(offset: int, request_id: int = 7, segment: str = SEGMENT) -> ReadSegment:
    return ReadSegment(segment=segment, offset=offset, suggested_length=100, request_id=request_id)


def read_reply(offset: int, request_id: int = 7, segment: str = SEGMENT) -> SegmentRead:
    return SegmentRead(
        segment=segment, offset=offset, at_tail=False, end_of_segment=False, data=b"d", request_id=request_id
    )


def create(request_id: int) -> CreateSegment:
    return CreateSegment(request_id=request_id, segment="s", target_rate=0, scale_type=0)


def test_every_success_has_its_requests() -> None:
    for cls in MESSAGES:
        declared = cls.declaration
        if declared.sender == "server" and not declared.is_failure:
            assert cls in ANSWERS or cls.__name__ in ("DataAppended", "ConditionalCheckFailed")
    for requests in ANSWERS.values():
        assert all(request.declaration.sender == "client" for request in requests)


def test_a_greeting_and_a_keep_alive_answer_their_like() -> None:
    talk = Talk(("client", GREETING), ("client", KeepAlive()), ("client", KeepAlive()))
    assert [answers(talk, message) for message in (KeepAlive(), GREETING, KeepAlive(), KeepAlive())] == [2, 1, 3, None]


def test_a_hole_forgets_what_cannot_be_told_apart() -> None:
    talk = Talk(("client", GREETING), ("client", KeepAlive()), ("client", create(5)))
    talk.conversation.hole("server")
    assert answers(talk, KeepAlive()) is None
    assert answers(talk, SegmentCreated(request_id=5, segment="s")) == 3


def test_keepalives_are_matched_again_when_a_request_after_the_gap_was_answered() -> None:
    talk = Talk(("client", GREETING))
    talk.conversation.hole("client")
    talk.client(create(5))
    talk.client(KeepAlive())
    assert answers(talk, KeepAlive()) is None, "it may answer a lost one"
    assert answers(talk, SegmentCreated(request_id=5, segment="s")) == 2
    talk.client(create(6))
    talk.client(KeepAlive())
    assert answers(talk, KeepAlive()) is None, "the KeepAlive after request 5 may have been answered before or after it"
    talk.client(create(7))
    assert answers(talk, SegmentCreated(request_id=7, segment="s")) is not None
    talk.client(KeepAlive())
    assert answers(talk, KeepAlive()) == 11


@pytest.mark.parametrize("side", ["client", "server"])
def test_after_a_gap_a_reply_answers_only_what_nothing_can_be_mistaken_for(side: Side) -> None:
    talk = Talk(("client", read(0)), ("client", create(5)), ("client", create(6)), ("client", create(6)))
    talk.conversation.hole(side)
    assert answers(talk, read_reply(100)) is None, "the read from 100 is missing"
    assert answers(talk, read_reply(0)) == 1
    assert answers(talk, SegmentCreated(request_id=6, segment="s")) is None, "either may have been answered"
    assert answers(talk, SegmentCreated(request_id=5, segment="s")) == 2


def test_after_a_gap_a_failure_answers_the_only_request_or_append_with_its_id() -> None:
    talk = Talk(("client", SETUP))
    for number in (1, 2):
        talk.client(block(HELLO))
        talk.client(end(number, whole=13))
    talk.conversation.hole("server")
    sealed = [SegmentIsSealed(request_id=number, segment=SEGMENT) for number in (1, 2)]
    assert answers(talk, sealed[0]) is None, "the SetupAppend and the first append have this id"
    assert answers(talk, sealed[1]) == 5
    talk.client(create(6))
    assert answers(talk, AuthTokenCheckFailed(request_id=6)) is None, "the id may be the offset of a read"
    assert answers(talk, NoSuchSegment(request_id=6, segment="s")) == 8


@pytest.mark.parametrize("number", [1, 2])
def test_after_a_gap_a_refusal_answers_the_append_with_its_number(number: int) -> None:
    talk = Talk(("client", SETUP), ("client", block(HELLO)), ("client", end(1, whole=13)))
    talk.conversation.hole("server")
    refusal = InvalidEventNumber(writer_id=WRITER, event_number=number, request_id=7)
    assert answers(talk, refusal) == (3 if number == 1 else None)


def test_the_oldest_request_with_the_id_that_can_be_meant() -> None:
    delete = DeleteSegment(request_id=5, segment="s")
    talk = Talk(("client", create(5)), ("client", delete), ("client", create(5)))
    assert answers(talk, SegmentDeleted(request_id=5, segment="s")) == 2
    assert answers(talk, SegmentCreated(request_id=5, segment="s")) == 1
    assert answers(talk, SegmentCreated(request_id=5, segment="s")) == 3
    assert answers(talk, SegmentCreated(request_id=5, segment="s")) is None
    assert answers(Talk(("client", create(5))), SegmentSealed(request_id=5, segment="s")) is None


def test_a_merge_whose_conditions_failed() -> None:
    merge = MergeSegments(request_id=5, target="t", source="s")
    assert answers(Talk(("client", merge)), SegmentsMerged(request_id=5, target="t", source="s")) == 1
    assert answers(Talk(("client", merge)), SegmentAttributeUpdated(request_id=5, success=False)) == 1


def test_a_failure_answers_anything() -> None:
    for request in (
        create(5),
        SealSegment(request_id=5, segment="s"),
        GetStreamSegmentInfo(request_id=5, segment_name="s"),
    ):
        assert answers(Talk(("client", request)), NoSuchSegment(request_id=5, segment="s")) == 1
    assert answers(Talk(("client", SETUP)), WrongHost(request_id=1, segment=SEGMENT, correct_host="")) == 1


def test_reads_that_repeat_an_id_are_told_apart_by_their_place() -> None:
    talk = Talk(("client", read(0)), ("client", read(0, segment="other")), ("client", read(100)))
    assert answers(talk, read_reply(100)) == 3
    assert answers(talk, SegmentIsSealed(request_id=7, segment="other", offset=0)) == 2
    assert answers(talk, read_reply(0)) == 1


def test_a_read_of_an_old_peer_has_no_id() -> None:
    assert answers(Talk(("client", read(5, request_id=-1))), read_reply(5, request_id=-1)) == 1


def test_a_refused_token_of_a_read_carries_the_offset() -> None:
    talk = Talk(("client", read(5)), ("client", read(500)))
    assert answers(talk, AuthTokenCheckFailed(request_id=500)) == 2
    assert answers(talk, AuthTokenCheckFailed(request_id=7)) == 1
    assert answers(talk, AuthTokenCheckFailed(request_id=7)) is None


def test_an_ack_answers_the_append_with_its_number() -> None:
    talk = Talk(("client", SETUP), ("client", end(1, HELLO)), ("client", end(2, HELLO)), ("client", end(3, HELLO)))
    assert answers(talk, ack(2)) == 3
    assert answers(talk, ack(1)) is None
    assert answers(talk, ack(3)) == 4


def test_acks_of_several_writers() -> None:
    talk = Talk(("client", SETUP), ("client", SETUP_OTHER))
    talk.client(end(1, HELLO))
    talk.client(end(1, HELLO, writer=OTHER))
    assert answers(talk, ack(1, OTHER)) == 4
    assert answers(talk, ack(1)) == 3


def test_an_append_in_a_block_is_acknowledged_where_it_ends() -> None:
    talk = Talk(("client", SETUP), ("client", block(HELLO)), ("client", end(1, whole=13)))
    assert answers(talk, ack(1)) == 3


def test_an_append_that_repeats_a_number_has_no_ack() -> None:
    talk = Talk(("client", SETUP), ("client", end(1, HELLO)), ("client", end(1, HELLO)))
    assert answers(talk, ack(1)) == 2


def test_a_new_set_up_settles_what_was_sent_before() -> None:
    talk = Talk(("client", SETUP), ("client", end(5, HELLO)), ("client", SETUP))
    assert answers(talk, SET_UP) == 1
    assert answers(talk, SET_UP) == 3
    talk.client(end(5, HELLO))
    assert answers(talk, ack(5)) == 6


def test_an_append_that_is_refused() -> None:
    def sent() -> Talk:
        return Talk(("client", SETUP), ("server", SET_UP), ("client", end(1, HELLO)), ("client", end(2, HELLO)))

    failed = ConditionalCheckFailed(writer_id=WRITER, event_number=2)
    assert answers(sent(), failed) == 4
    assert answers(sent(), InvalidEventNumber(writer_id=WRITER, request_id=9, event_number=2)) == 4
    assert answers(sent(), InvalidEventNumber(writer_id=WRITER, request_id=2)) == 4
    assert answers(sent(), InvalidEventNumber(writer_id=WRITER, request_id=99)) == 3
    assert answers(sent(), SegmentIsSealed(request_id=99, segment=SEGMENT, offset=2)) == 4
    assert answers(sent(), SegmentIsSealed(request_id=2, segment=SEGMENT, offset=5000)) == 4
    assert answers(sent(), SegmentIsSealed(request_id=99, segment=SEGMENT, offset=5000)) is None
    assert answers(sent(), NoSuchSegment(request_id=2, segment=SEGMENT)) == 4
    assert answers(sent(), NoSuchSegment(request_id=2, segment="another")) is None
    assert answers(sent(), OperationUnsupported(request_id=2, operation_name="appending data")) == 4
    assert answers(Talk(("client", SETUP)), InvalidEventNumber(writer_id=WRITER, request_id=99)) is None


def test_a_failure_that_names_no_append_answers_none() -> None:
    talk = Talk(("client", SETUP), ("server", SET_UP), ("client", end(1, HELLO)))
    for reply in (
        NoSuchSegment(request_id=99, segment=SEGMENT),
        SegmentIsSealed(request_id=99, segment=SEGMENT),
        WrongHost(request_id=99, segment=SEGMENT, correct_host=""),
        OperationUnsupported(request_id=99, operation_name="appending data"),
        ConditionalCheckFailed(writer_id=WRITER, event_number=-1, request_id=99),
    ):
        assert answers(talk, reply) is None
    assert answers(talk, ack(1)) == 3


def test_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 10)
    requests = Requests()
    for n in range(100):
        requests.ask(n, CreateSegment, n)
    assert sum(n in requests for n in range(100)) <= 10
    assert requests.answer(99, None) == 99
    for n in range(1000):
        requests.ask(n, CreateSegment, "one id")
    assert requests.answer("one id", None) in range(740, 1000)


def test_acks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 10)
    acks = Acks()
    for n in range(100):
        acks.sent(f"writer {n % 3}", n, 0, n)
    assert acks.acked("writer 0", 99) == 99
    assert acks.acked("writer 1", 1) is None
    assert acks.refused(["writer 1", "writer 2"], 98, 0) == 98


def _ack(acks: Acks, n: int) -> None:
    acks.acked("other", n)


def _refuse_by_number(acks: Acks, n: int) -> None:
    acks.refused(["other"], n, -1)


def _refuse_by_id(acks: Acks, n: int) -> None:
    acks.refused(["other"], -1, n)


def _refuse_oldest(acks: Acks, n: int) -> None:
    acks.refused_oldest("other")


def _settle(acks: Acks, n: int) -> None:
    acks.settle("other", None)


def test_appends_that_follow_a_set_up_at_once_have_their_acks() -> None:
    """A client need not wait for AppendSetup; what was sent before its SetupAppend is answered by that."""
    acks = Acks()
    acks.sent("w", 1, 10, 1)
    acks.sent("w", 2, 11, 3)  # after the SetupAppend, which is record 2
    acks.settle("w", 2)
    assert acks.acked("w", 2) == 3
    acks.sent("w", 3, 12, 5)
    acks.settle("w", None)
    assert acks.acked("w", 3) is None


@pytest.mark.parametrize("settle", [_ack, _refuse_by_number, _refuse_by_id, _refuse_oldest, _settle])
def test_what_waits_no_longer_makes_room(monkeypatch: pytest.MonkeyPatch, settle: Callable[[Acks, int], None]) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 10)
    acks = Acks()
    for n in range(8):
        acks.sent("waits", n, n, n)
    for n in range(100):
        acks.sent("other", n, n, n)
        acks.sent("other", n, n, n)
        settle(acks, n)
    assert [acks.acked("waits", n) for n in range(8)] == list(range(8))


def test_every_append_has_its_ack_however_many_there_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 10)
    talk = Talk(("client", SETUP))
    for number in range(100):
        talk.client(end(number, HELLO))
        assert answers(talk, ack(number)) == len(talk.readings) - 1


def test_writers_that_wait_for_nothing_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 10)
    acks = Acks()
    acks.sent("waits", 1, 1, 1)
    for n in range(100):
        acks.sent(f"writer {n}", n, n, n)
        assert acks.acked(f"writer {n}", n) == n
    assert len(acks._waiting) <= 20
    assert acks.acked("waits", 1) == 1
