"""Calls of a controller: the mock's answers, and all that may come instead of one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega_controller.load.controllers import SETTINGS, Saying, Scripted, begun, ended, mock_place
from wiretool.load.link import Failed
from wiretool.protocols.pravega.framing import encode as encode_pravega
from wiretool.protocols.pravega.messages import Hello
from wiretool.protocols.pravega_controller.encoding import encode
from wiretool.protocols.pravega_controller.load import client as pravega_controller
from wiretool.protocols.pravega_controller.load.client import Controller, Undone
from wiretool.protocols.pravega_controller.messages import Data, GoAway, Ping, RstStream

SCOPE = {"scope": "sc"}
MESSAGE = Data(stream_id=1, data=b"\0\0\0\0\0")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is not answered is given up at once."""
    monkeypatch.setattr(pravega_controller, "CALL_S", 0.2)


def failure(*said: bytes) -> str:
    with pytest.raises(Failed) as caught:
        Controller(Saying(*said)).ask("createScope", SCOPE)
    return str(caught.value)


def test_calls_are_answered_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pravega_controller, "CALL_S", 60.0)
    controller = Controller(mock_place().wire("controller"))
    assert controller.ask("createScope", SCOPE) == {"status": "SUCCESS"}
    assert controller.ask("checkScopeExists", SCOPE) == {"exists": True}
    assert controller.refusal("createScope", SCOPE) == "createScope was answered with SCOPE_EXISTS"
    with pytest.raises(Failed, match="the controller at memory: createScope was answered with SCOPE_EXISTS"):
        controller.do("createScope", SCOPE)
    for _ in range(100):
        assert controller.refusal("deleteScope", {"scope": "none"}).endswith("SCOPE_NOT_FOUND")
    controller.do("deleteScope", SCOPE)
    controller.close()


def test_an_answer_may_come_byte_by_byte_with_pings_in_between() -> None:
    said = SETTINGS + begun() + encode(Ping(opaque_data=bytes(8)), "server") + encode(MESSAGE, "server") + ended()
    pieces = [said[at : at + 1] for at in range(len(said))]
    assert Controller(Saying(*pieces)).ask("createScope", SCOPE) == {"status": "SUCCESS"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([], "no answer to createScope in 0.2 s"),
        ([SETTINGS, begun()], "no answer to createScope in 0.2 s"),
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "not a controller: not HTTP/2: HTTP/1.1 400 Bad"),
        ([encode_pravega(Hello(high_version=17, low_version=5), "server")], "not a controller: not HTTP/2"),
        ([SETTINGS + begun(status="404")], "createScope was answered with HTTP status 404"),
        (
            [SETTINGS, begun() + ended(status=16, message="who%20are \x1byou")],
            r"createScope: UNAUTHENTICATED who are \\x1byou",
        ),
        ([SETTINGS + begun() + ended(status=99)], "createScope: 99"),
        ([SETTINGS + begun() + ended()], "createScope has ended without an answer"),
        ([SETTINGS + begun() + encode(Data(stream_id=1, end_stream=True), "server")], "has ended without a status"),
        ([SETTINGS + encode(RstStream(stream_id=1, error_code="REFUSED_STREAM"), "server")], "broken off: REFUSED"),
        (
            [SETTINGS + encode(GoAway(last_stream_id=0, error_code="ENHANCE_YOUR_CALM", debug_data=b"a\nb"), "server")],
            r"it takes no more calls: ENHANCE_YOUR_CALM a\\x0ab",
        ),
        (
            [SETTINGS + encode(GoAway(last_stream_id=1, error_code="INTERNAL_ERROR"), "server") + begun()],
            "it takes no more calls: INTERNAL_ERROR",
        ),
        (
            [SETTINGS, encode(GoAway(last_stream_id=0, error_code="NO_ERROR"), "server"), begun()],
            "it takes no more calls: NO_ERROR",
        ),
        ([SETTINGS + encode(Data(stream_id=3, data=b"x"), "server")], r"the server violates HTTP/2 \(PROTOCOL_ERROR\)"),
        ([SETTINGS + begun() + encode(Data(stream_id=1, data=b"\1\0\0\0\1x"), "server")], "compressed"),
        ([SETTINGS + begun() + encode(Data(stream_id=1, data=b"\0\0\0\0\1\7"), "server")], "bad_protobuf"),
        ([SETTINGS + b"\xff\xff\xff\0\0\0\0\0\1"], "16777215"),
    ],
)
def test_what_is_no_answer_is_told_with_its_address(said: list[bytes], why: str) -> None:
    told = failure(*said)
    assert told.startswith("the controller at memory: ")
    assert re.search(why, told), told


@pytest.mark.parametrize("last_stream", [1, 2**31 - 1])
@pytest.mark.parametrize("step", [1, 1_000])
def test_a_server_that_goes_away_answers_what_it_serves(last_stream: int, step: int) -> None:
    goodbye = encode(GoAway(last_stream_id=last_stream, error_code="NO_ERROR", debug_data=b"max_age"), "server")
    said = SETTINGS + goodbye + begun() + encode(MESSAGE, "server") + ended()
    controller = Controller(Saying(*[said[at : at + step] for at in range(0, len(said), step)]))
    controller.do("createScope", SCOPE)
    with pytest.raises(Undone, match="the controller at memory: the server takes no more calls on this connection"):
        controller.do("createScope", SCOPE)


def answered_with(status: int) -> bytes:
    return begun() + encode(Data(stream_id=1, data=b"\0\0\0\0\2\x08" + bytes([status])), "server") + ended()


@pytest.mark.parametrize(
    ("said", "is_undone"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", True),
        (SETTINGS + begun(status="404"), True),
        (SETTINGS + begun(status="503"), False),
        (SETTINGS + begun() + ended(status=16), True),
        (SETTINGS + begun() + ended(status=14), False),
        (SETTINGS + encode(RstStream(stream_id=1, error_code="REFUSED_STREAM"), "server"), True),
        (SETTINGS + encode(RstStream(stream_id=1, error_code="INTERNAL_ERROR"), "server"), False),
        (SETTINGS + encode(GoAway(last_stream_id=0, error_code="NO_ERROR"), "server"), True),
        (SETTINGS + encode(GoAway(last_stream_id=1, error_code="INTERNAL_ERROR"), "server"), False),
        (SETTINGS + answered_with(1), False),
        (SETTINGS + answered_with(2), True),
        (SETTINGS + answered_with(3), True),
        (SETTINGS, False),
    ],
)
def test_what_says_that_nothing_was_done_is_known(said: bytes, is_undone: bool) -> None:
    with pytest.raises(Failed) as caught:
        Controller(Saying(said)).do("createScope", SCOPE)
    assert isinstance(caught.value, Undone) == is_undone


def test_what_a_server_writes_is_told_in_a_line() -> None:
    assert len(failure(SETTINGS + begun() + ended(status=2, message="x" * 5_000))) < 300


def test_who_asks_is_told_with_each_call() -> None:
    wire = Scripted({"createScope": {"status": "SUCCESS"}})
    controller = Controller(wire, [("Authorization", "Basic YTpi")])
    controller.do("createScope", SCOPE)
    controller.do("createScope", SCOPE)
    assert [headers["authorization"] for headers in wire.headers] == ["Basic YTpi"] * 2


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=4), st.booleans())
def test_any_bytes_at_all_are_an_answer_or_a_failure(pieces: list[bytes], is_begun: bool) -> None:
    controller = Controller(Saying(*([SETTINGS] if is_begun else []), *pieces))
    with pytest.raises(Failed):
        controller.ask("createScope", SCOPE)
