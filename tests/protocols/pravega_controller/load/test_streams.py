"""Streams that are made for a run through a controller, and taken away again."""

import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.load.mock_stage import Place as Stage
from tests.protocols.pravega_controller.load.controllers import ANSWERS, SCOPE, SEGMENT, STREAM, Scripted, mock_place
from wiretool.errors import PeerError, Stopped
from wiretool.load.link import Failed
from wiretool.load.plan import Place, Plan
from wiretool.net.addresses import Address
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.server.tokens import TokenChecker
from wiretool.protocols.pravega_controller.load import client as pravega_controller
from wiretool.protocols.pravega_controller.load import streams
from wiretool.protocols.pravega_controller.load.client import Controller
from wiretool.protocols.pravega_controller.load.streams import ControllerStream

WHERE = Address("127.0.0.1", 9090)
Reach = Callable[..., None]


@pytest.fixture
def reach(monkeypatch: pytest.MonkeyPatch) -> Reach:
    """Let every new connection lead to the next of these wires, to the last of them again and again."""
    monkeypatch.setattr(pravega_controller, "CALL_S", 0.5)

    def lead(*wires: Any) -> None:
        left = list(wires)
        monkeypatch.setattr(streams, "Link", lambda host, port: left.pop(0) if len(left) > 1 else left[0])

    return lead


def through(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every new connection lead to a mock."""
    monkeypatch.setattr(streams, "Link", lambda host, port: stage.wire("controller"))


def exists(stage: Stage, method: str, fields: dict[str, str]) -> bool:
    answer = Controller(stage.wire("controller")).ask(method, fields)
    return bool(answer["exists"])


def plan(token: str = "") -> Plan:
    places = (Place(segment="s", host="h", port=1),)
    return Plan(protocol="pravega", appenders=1, duration_s=1.0, run="run", places=places, token=token)


def test_a_stream_is_made_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = mock_place()
    through(stage, monkeypatch)
    stream = ControllerStream(WHERE, "run")
    made = stream.make(3)
    assert [place.segment for place in made.places] == [f"bench-run/load/{number}.#epoch.0" for number in range(3)]
    assert made.token == ""
    assert exists(stage, "checkStreamExists", STREAM)
    assert stream.renewed(plan()) == plan()
    assert stream.remove() == ""
    assert not exists(stage, "checkScopeExists", SCOPE)
    assert stream.remove() == ""


def test_an_answer_of_many_frames_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    through(mock_place(), monkeypatch)
    stream = ControllerStream(WHERE, "run")
    assert len({place.segment for place in stream.make(400).places}) == 400
    assert stream.remove() == ""


def test_a_token_is_taken_and_can_be_had_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = TokenChecker(b"key")
    stage = Stage(PravegaMock(auth=("admin", "secret"), token_key=b"key"))
    through(stage, monkeypatch)
    stream = ControllerStream(WHERE, "run", [("Authorization", "Basic YWRtaW46c2VjcmV0")])
    made = stream.make(1)
    assert tokens.expires_s(made.token) is not None
    stage.now_ns += 60_000_000_000
    renewed = stream.renewed(plan(made.token))
    assert (tokens.expires_s(renewed.token) or 0) == (tokens.expires_s(made.token) or 0) + 60
    assert stream.remove() == ""
    with pytest.raises(Failed, match="createScope: UNAUTHENTICATED"):
        ControllerStream(WHERE, "run").make(1)


def test_names_and_places_are_those_that_the_controller_gives(reach: Reach) -> None:
    second = SEGMENT | {"segmentId": {"streamInfo": STREAM, "segmentId": (7 << 32) + 5}}
    answers = ANSWERS | {"getCurrentSegments": {"segmentRanges": [second, SEGMENT]}}
    reach(Scripted(answers))
    made = ControllerStream(WHERE, "run").make(2)
    assert made.places == (
        Place(segment="bench-run/load/0.#epoch.0", host="store", port=12345),
        Place(segment="bench-run/load/5.#epoch.7", host="store", port=12345),
    )


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
def test_a_store_that_is_everywhere_is_where_the_controller_is(reach: Reach, everywhere: str) -> None:
    reach(Scripted(ANSWERS | {"getURI": {"endpoint": everywhere, "port": 1}}))
    (place,) = ControllerStream(WHERE, "run").make(1).places
    assert place.host == "127.0.0.1"


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"createScope": {"status": "INVALID_SCOPE_NAME"}}, "createScope was answered with INVALID_SCOPE_NAME"),
        ({"createStream": {"status": "FAILURE"}}, "createStream was answered with FAILURE"),
        ({"getDelegationToken": {"delegationToken": "a\nb"}}, "returned a token that no request can have"),
        ({"getDelegationToken": {"delegationToken": "a" * 8_193}}, "a token that no request can have"),
        ({"getCurrentSegments": {"segmentRanges": []}}, "returned 0 segments, where 1 were asked for"),
        ({"getCurrentSegments": {"segmentRanges": [SEGMENT, SEGMENT]}}, "2 segments, where 1 were"),
        ({"getCurrentSegments": {"segmentRanges": [{"minKey": 0.0}]}}, "segments of another stream"),
        (
            {"getCurrentSegments": {"segmentRanges": [{"segmentId": {"streamInfo": SCOPE, "segmentId": 0}}]}},
            "segments of another stream",
        ),
        (
            {"getCurrentSegments": {"segmentRanges": [{"segmentId": {"streamInfo": STREAM, "segmentId": -1}}]}},
            "segments of another stream",
        ),
        ({"getURI": {"endpoint": "", "port": 1}}, "returned a store at '', port 1"),
        ({"getURI": {"endpoint": "a\x1bb", "port": 1}}, r"a store at 'a\\\\x1bb', port 1"),
        ({"getURI": {"endpoint": "a b", "port": 1}}, "a store at 'a b'"),
        ({"getURI": {"endpoint": "h", "port": 65_536}}, "port 65536"),
        ({"getURI": {"endpoint": "h", "port": 0}}, "port 0"),
    ],
)
def test_a_controller_that_says_no_or_makes_no_sense(reach: Reach, answers: dict[str, Any], why: str) -> None:
    wire = Scripted(ANSWERS | answers)
    reach(wire)
    stream = ControllerStream(WHERE, "run")
    with pytest.raises(PeerError, match=why):
        stream.make(1)
    is_scope_made = "createScope" not in answers
    left = Scripted(ANSWERS)
    reach(left)
    assert stream.remove() == ""
    assert left.asked == (["sealStream", "deleteStream", "deleteScope"] if is_scope_made else [])


def test_what_cannot_be_taken_away_is_told(reach: Reach) -> None:
    stream = ControllerStream(WHERE, "run")
    refusing = ANSWERS | {"sealStream": {"status": "FAILURE"}, "deleteScope": {"status": "SCOPE_NOT_EMPTY"}}
    reach(Scripted(ANSWERS), Scripted(refusing))
    stream.make(1)
    assert stream.remove() == "scope bench-run is left on the server: sealStream was answered with FAILURE"


def test_a_stream_that_was_not_made_is_not_missed(reach: Reach) -> None:
    stream = ControllerStream(WHERE, "run")
    gone = {"status": "STREAM_NOT_FOUND"}
    reach(Scripted(ANSWERS | {"createStream": {"status": "FAILURE"}}), Scripted(ANSWERS | {"sealStream": gone}))
    with suppress(PeerError):
        stream.make(1)
    assert stream.remove() == ""


def test_a_controller_that_answers_no_more_is_told(reach: Reach) -> None:
    stream = ControllerStream(WHERE, "run")
    reach(Scripted(ANSWERS), Scripted({}))
    stream.make(1)
    left = stream.remove()
    assert left.startswith("scope bench-run is left on the server: the controller at memory: no answer to sealStream")


class Stopping(Scripted):
    """Somebody presses Ctrl-C when that is asked; or else the connection is lost."""

    def __init__(self, method: str, *, is_lost: bool = False) -> None:
        super().__init__(ANSWERS)
        self.method = method
        self.is_lost = is_lost

    def send(self, data: bytes | bytearray) -> None:
        super().send(data)
        if self.method in self.asked and not self.is_lost:
            raise Stopped(signal.SIGINT)

    def receive_within(self, seconds: float) -> bytes:
        if self.method in self.asked:
            raise Failed("lost memory: reset", kind="connection lost: reset")
        return super().receive_within(seconds)


@pytest.mark.parametrize(
    "wire",
    [
        lambda: Scripted({}),
        lambda: Scripted(ANSWERS | {"createScope": {"status": "FAILURE"}}),
        lambda: Stopping("createScope"),
        lambda: Stopping("createScope", is_lost=True),
    ],
)
@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (ANSWERS, ""),
        ({}, "scope bench-run may be left on the server: the controller at memory: no answer to deleteScope in 0.5 s"),
    ],
)
def test_a_scope_that_may_be_made_is_taken_away_or_told(
    reach: Reach, wire: Callable[[], Scripted], answers: dict[str, Any], told: str
) -> None:
    stream = ControllerStream(WHERE, "run")
    reach(wire(), left := Scripted(answers))
    with pytest.raises((PeerError, Stopped)):
        stream.make(1)
    assert stream.remove() == told
    assert left.asked == ["deleteScope"]


def test_a_scope_that_turns_out_not_to_be_there_is_not_left(reach: Reach) -> None:
    stream = ControllerStream(WHERE, "run")
    reach(Scripted({}), Scripted({"deleteScope": {"status": "SCOPE_NOT_FOUND"}}))
    with pytest.raises(PeerError):
        stream.make(1)
    assert stream.remove() == ""


@pytest.mark.parametrize(
    ("method", "status", "owed"),
    [
        ("createScope", "SCOPE_EXISTS", []),
        ("createScope", "INVALID_SCOPE_NAME", []),
        ("createStream", "STREAM_EXISTS", ["deleteScope"]),
        ("createStream", "INVALID_STREAM_NAME", ["deleteScope"]),
        ("createStream", "SCOPE_NOT_FOUND", ["deleteScope"]),
        ("createStream", "FAILURE", ["sealStream", "deleteStream", "deleteScope"]),
    ],
)
def test_what_is_not_ours_is_left_alone(reach: Reach, method: str, status: str, owed: list[str]) -> None:
    stream = ControllerStream(WHERE, "run")
    reach(Scripted(ANSWERS | {method: {"status": status}}), left := Scripted(ANSWERS))
    with pytest.raises(PeerError, match=status):
        stream.make(1)
    assert stream.remove() == ""
    assert left.asked == owed


@pytest.mark.parametrize("method", ["sealStream", "deleteStream", "deleteScope"])
def test_what_is_left_when_taking_away_is_stopped_goes_the_next_time(reach: Reach, method: str) -> None:
    stream = ControllerStream(WHERE, "run")
    gone = {"deleteStream": {"status": "STREAM_NOT_FOUND"}, "deleteScope": {"status": "SCOPE_NOT_FOUND"}}
    reach(Scripted(ANSWERS), Stopping(method), left := Scripted(ANSWERS | gone))
    stream.make(1)
    with pytest.raises(Stopped):
        stream.remove()
    assert stream.left("why") == "scope bench-run is left on the server: why"
    assert stream.remove() == ""
    calls = ["sealStream", "deleteStream", "deleteScope"]
    assert left.asked == calls[calls.index(method) :]
    assert stream.left("why") == ""
