"""Faults in the controller's calls."""

import pytest

from tests.faults.run import Run
from tests.protocols.pravega_controller.talk import DATA, END_STREAM, RST, WINDOW, Peer, frame
from wiretool import limits
from wiretool.codec.message import Side
from wiretool.faults import Deliver
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega_controller import frames
from wiretool.records import Record

SCOPE = {"scope": "s"}


class Call(Run):
    """A connection on which `createScope` was called, up to the message that asks."""

    def __init__(self, *rules: str) -> None:
        super().__init__("pravega-controller", *rules)
        self.client, self.server = Peer("client"), Peer("server")
        settings = (0).to_bytes(3, "big") + bytes((4, 0)) + bytes(4)
        self.say("client", frames.PREFACE + settings)
        self.say("server", settings)
        self.say("client", self.client.asks(1, "createScope").data)
        self.out.clear()


def read(side: Side, asked: bytes, said: bytes) -> list[Record]:
    """The records of bytes that follow on the call."""
    run = Call()
    if side == "server":
        run.say("client", asked)
    run.records.clear()
    run.say(side, said)
    return run.records


ASK = Peer("client").says(1, "createScope", SCOPE, end=True).data
#: The same as most clients ask: the end stands in a frame of its own.
ASK_OPEN = Peer("client").says(1, "createScope", SCOPE).data
END = frame(DATA, END_STREAM, 1)
#: What was sent may be sent again: it no longer counts against the window of the connection.
CREDIT = frame(WINDOW, 0, 0, (len(ASK) - frames.HEADER_BYTES).to_bytes(4, "big"))
CANCEL = frame(RST, 0, 1, (8).to_bytes(4, "big"))
ANSWER = 'message == "createScope" and side == "client": answer createScope status="SCOPE_EXISTS"'
DROP = 'message == "createScope" and side == "client" nth=1: drop'


def test_a_question_is_changed_on_its_stream() -> None:
    run = Call('message == "createScope" and side == "client": set scope="other"')
    run.say("client", ASK)
    (record,) = read("client", b"", run.bytes_from("client"))
    assert record.message == "createScope"
    assert isinstance(record.fields, dict)
    assert record.fields["scope"] == "other"
    assert run.bytes_from("client")[4] == frames.END_STREAM


def test_a_call_is_answered_and_the_server_told_that_it_is_over() -> None:
    run = Call('message == "createScope" and side == "client": answer createScope status="SCOPE_EXISTS"')
    run.say("client", ASK)
    (reset,) = read("client", b"", run.bytes_from("client"))
    assert reset.message == "RstStream"
    opening, answer, ending, credit = read("server", ASK, run.bytes_from("server"))
    assert (opening.message, answer.message, ending.message) == ("Headers", "createScope", "Headers")
    assert credit.raw == CREDIT
    assert isinstance(answer.fields, dict)
    assert answer.fields["status"] == "SCOPE_EXISTS"


def test_the_end_behind_an_answered_question_goes_nowhere() -> None:
    run = Call(ANSWER)
    run.say("client", ASK_OPEN + END)
    opening, answer, ending, credit = read("server", ASK, run.bytes_from("server"))
    assert (opening.message, answer.message, ending.message) == ("Headers", "createScope", "Headers")
    assert credit.raw == CREDIT
    assert run.bytes_from("client") == CANCEL
    assert run.say("client", frame(DATA, 0, 3)) != []


def test_of_an_answered_call_the_server_hears_nothing_more() -> None:
    run = Call(ANSWER)
    run.say("client", ASK_OPEN)
    for late in (frame(WINDOW, 0, 1, (9).to_bytes(4, "big")), frame(DATA, 0, 1), CANCEL):
        assert run.say("client", late) == []
    assert run.bytes_from("client") == CANCEL
    headers = run.client.asks(3, "createScope").data
    assert run.say("client", headers) == [Deliver(0, "client", headers)]


def test_a_dropped_question_is_lost_with_its_end_until_the_client_gives_it_up() -> None:
    run = Call(DROP)
    assert run.say("client", ASK_OPEN) == [Deliver(0, "server", CREDIT)]
    assert run.say("client", END) == []
    assert run.hits() == 1
    assert run.say("client", CANCEL) == [Deliver(0, "client", CANCEL)]


def test_a_dropped_question_without_its_end_is_given_up() -> None:
    run = Call(DROP)
    run.say("client", ASK_OPEN)
    assert run.say("client", CANCEL) == [Deliver(0, "client", CANCEL)]
    assert not run.interceptor._lines[0].directions["client"].remnants


def test_the_end_goes_nowhere_though_the_rule_is_gone() -> None:
    run = Call(DROP)
    run.say("client", ASK_OPEN)
    run.interceptor.remove(1)
    assert run.say("client", END) == []
    again = run.client.asks(3, "createScope").data + run.client.says(3, "createScope", SCOPE, end=True).data
    run.say("client", again)
    assert run.bytes_from("client") == again


def test_the_window_of_the_server_is_opened_too() -> None:
    run = Call('message == "createScope" and side == "server": drop')
    run.say("client", ASK)
    run.say("server", run.server.headers(1, ((":status", "200"),)).data)
    answer = run.server.says(1, "createScope", {"status": "SCOPE_EXISTS"}).data
    credit = frame(WINDOW, 0, 0, (len(answer) - frames.HEADER_BYTES).to_bytes(4, "big"))
    assert run.say("server", answer) == [Deliver(0, "client", credit)]
    trailers = run.server.trails(1).data
    assert run.say("server", trailers) == [Deliver(0, "server", trailers)]


def test_the_rest_of_a_request_that_goes_nowhere_is_credited() -> None:
    run = Call(DROP)
    run.say("client", ASK_OPEN)
    late = frame(WINDOW, 0, 0, (3).to_bytes(4, "big"))
    assert run.say("client", frame(DATA, 0, 1, b"abc")) == [Deliver(0, "server", late)]


def test_rules_see_what_goes_nowhere() -> None:
    run = Call(DROP, 'message == "Data" nth=2: drop')
    run.say("client", ASK_OPEN + END)
    again = run.client.asks(3, "createScope").data + run.client.says(3, "createScope", SCOPE).data
    run.say("client", again + frame(DATA, END_STREAM, 3))
    assert run.bytes_from("client") == again
    assert (run.hits(1), run.hits(2)) == (1, 1)


def test_calls_that_never_end_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP2_STREAMS_MAX", 2)
    run = Call('message == "createScope": drop')
    run.say("client", ASK_OPEN)
    for stream in (3, 5):
        run.say("client", run.client.asks(stream, "createScope").data)
        run.say("client", run.client.says(stream, "createScope", SCOPE).data)
    assert run.say("client", END) == [Deliver(0, "client", END)]
    assert run.say("client", frame(DATA, END_STREAM, 5)) == []


def test_headers_stay_where_they_are() -> None:
    run = Call('message == "Headers": drop', 'message == "createScope": drop')
    headers = run.client.asks(3, "getURI").data
    assert run.say("client", headers) == [Deliver(0, "client", headers)]
    assert "later headers refer to it" in run.interceptor.standings[1].why
    assert run.say("client", ASK) == [Deliver(0, "server", CREDIT)]


def test_a_message_in_two_frames_stays_as_it_is() -> None:
    body = ASK[frames.HEADER_BYTES :]
    halves = [
        len(part).to_bytes(3, "big") + bytes((0, end)) + (1).to_bytes(4, "big") + part
        for part, end in ((body[:3], 0), (body[3:], 1))
    ]
    run = Call('message == "createScope": set scope="other"')
    for half in halves:
        run.say("client", half)
    assert run.bytes_from("client") == b"".join(halves)
    assert "does not stand in this frame alone" in run.interceptor.standings[1].why


@pytest.mark.parametrize("by", [1, -2])
def test_a_wrong_length(by: int) -> None:
    run = Call(f'message == "createScope": wrong length {by}')
    run.say("client", ASK)
    length = int.from_bytes(ASK[:3], "big") + by
    assert run.bytes_from("client") == length.to_bytes(3, "big") + ASK[3:]


def test_the_dialect_is_there() -> None:
    assert PROTOCOLS["pravega-controller"].ports == (9090,)
