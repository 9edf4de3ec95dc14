"""Who answers whom on one connection, and what is said at the wrong time."""

from itertools import product

import pytest

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.protocols.base.conversation import Reading
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.messages import SbpFrame
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.session import TABLE, Phase, Requests, SbpConversation, What
from wiretool.protocols.sbp.tables import (
    CreateStreamRequest,
    CreateStreamResponse,
    Range,
    SealRangeRequest,
    Status,
    Stream,
)


class Talk:
    """A conversation that numbers its frames."""

    def __init__(self, began: bool = True, **options: str) -> None:
        self.conversation = SbpConversation(began, LATEST, **options)  # type: ignore[arg-type]
        self.n = 0

    def say(self, side: Side, frame: SbpFrame) -> Reading:
        self.n += 1
        data = encode_frame(frame, side)
        return self.conversation.read(side, data, 0, len(data), self.n)


def ping(stream_id: int, flags: int = 0) -> SbpFrame:
    return SbpFrame(opcode=1, flags=flags, stream_id=stream_id)


def goaway(stream_id: int, flags: int = 0) -> SbpFrame:
    return SbpFrame(opcode=2, flags=flags, stream_id=stream_id)


def kinds(reading: Reading) -> list[str]:
    return [defect.kind for defect in reading.defects]


def test_the_table_knows_every_phase_side_and_frame() -> None:
    sides: tuple[Side, Side] = ("client", "server")
    assert TABLE.keys() == set(product(Phase, sides, What))
    assert {phase for (phase, _, what) in TABLE if TABLE[phase, "client", what] is Phase.OPEN} == {Phase.OPEN}


def test_answers_find_their_requests_in_any_order() -> None:
    talk = Talk()
    for stream_id in (1, 2, 3):
        assert talk.say("client", ping(stream_id)).reply_to is None
    assert [talk.say("server", ping(stream_id, 3)).reply_to for stream_id in (2, 1, 3)] == [2, 1, 3]


def test_after_a_gap_a_response_to_one_of_several_requests_with_an_identifier_answers_none() -> None:
    talk = Talk()
    talk.say("client", ping(1))
    talk.say("client", ping(2))
    talk.conversation.hole("server")
    talk.say("client", ping(1))
    doubtful = talk.say("server", ping(1, 3))
    assert (doubtful.reply_to, kinds(doubtful)) == (None, [])
    assert talk.say("server", ping(2, 3)).reply_to == 2


def test_both_sides_may_ask_with_the_same_identifier() -> None:
    talk = Talk()
    talk.say("client", ping(1))
    talk.say("server", ping(1))
    assert talk.say("client", ping(1, 3)).reply_to == 2
    assert talk.say("server", ping(1, 3)).reply_to == 1


def test_a_response_of_several_frames_answers_one_request() -> None:
    talk = Talk()
    talk.say("client", ping(1))
    assert [talk.say("server", ping(1, flags)).reply_to for flags in (1, 1, 3, 3)] == [1, 1, 1, None]


def test_an_identifier_used_twice_is_answered_twice_by_operation() -> None:
    talk = Talk()
    talk.say("client", ping(1))
    talk.say("client", goaway(1))
    assert talk.say("server", goaway(1, 3)).reply_to == 2
    assert talk.say("server", ping(1, 3)).reply_to == 1


def test_a_response_without_a_request_is_a_defect() -> None:
    talk = Talk()
    talk.say("client", ping(1))
    reading = talk.say("server", ping(2, 3))
    assert kinds(reading) == ["response-without-request"]
    assert str(reading.defects[0]) == (
        "response-without-request: PING from the server in phase open: the client has no open request 2"
    )


def test_the_answer_to_such_a_response_is_none() -> None:
    talk = Talk()
    talk.say("server", ping(9))
    assert kinds(talk.say("client", ping(1, 3))) == ["response-without-request"]
    reading = talk.say("server", ping(1, 3))
    assert (reading.reply_to, kinds(reading)) == (2, [])


def test_what_was_not_captured_may_have_asked() -> None:
    unheard = Talk()
    assert kinds(unheard.say("server", ping(2, 3))) == []
    late = Talk(began=False)
    late.say("client", ping(1))
    assert kinds(late.say("server", ping(2, 3))) == []
    holed = Talk()
    holed.say("client", ping(1))
    holed.conversation.hole("client")
    assert kinds(holed.say("server", ping(2, 3))) == []


def test_a_range_server_that_goes_away_answers_nothing() -> None:
    talk = Talk()
    talk.say("client", ping(1))
    assert kinds(talk.say("server", goaway(0, 1))) == []
    assert talk.conversation.phase is Phase.LEAVING
    assert kinds(talk.say("client", ping(2))) == []
    assert kinds(talk.say("server", goaway(7, 3))) == ["response-without-request"]


def seal(kind: int) -> SbpFrame:
    return SbpFrame(opcode=0x2002, stream_id=5, header=SealRangeRequest(kind=kind, range=Range()))


def test_the_placement_driver_seals_its_own_kind_only() -> None:
    assert kinds(Talk().say("client", seal(1))) == []
    assert kinds(Talk(role="range server").say("client", seal(1))) == []
    talk = Talk(role="placement driver")
    assert kinds(talk.say("client", seal(2))) == []
    reading = talk.say("client", seal(1))
    assert "bad_request at byte 0 (header.kind): the placement driver seals kind 2" in str(reading.defects[0])


def test_a_server_shows_what_it_is_by_what_it_serves() -> None:
    talk = Talk()
    talk.say("client", SbpFrame(opcode=0x3001, stream_id=1, header=CreateStreamRequest(stream=Stream())))
    talk.say("server", SbpFrame(opcode=0x3001, flags=3, stream_id=1, header=CreateStreamResponse(status=Status())))
    assert talk.conversation.role == "placement driver"
    assert kinds(talk.say("client", seal(0))) == ["bad_request"]


def test_open_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 3)
    requests = Requests()
    for n in range(1, 6):
        requests.add(n, 1, n)
    assert [requests.answer(n, 1, is_last=True) for n in range(1, 6)] == [None, None, 3, 4, 5]


def test_open_requests_of_one_identifier_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 600)
    requests = Requests()
    requests.add(8, 1, 5_000)
    for n in range(1_000):
        requests.add(7, 1, n)
    found = [requests.answer(7, 1, is_last=True) for _ in range(600)]
    assert found[0] in range(700, 1_000)
    assert [n for n in found if n is not None] == list(range(found[0] or 0, 1_000))
    assert requests.answer(8, 1, is_last=True) == 5_000
