"""Faults in the controller's calls."""

import pytest

from tests.faults.run import Run
from tests.protocols.pravega_controller.talk import Peer
from wiretool.codec.message import Side
from wiretool.faults import Deliver
from wiretool.protocols.pravega_controller import frames
from wiretool.protocols.registry import PROTOCOLS
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
    opening, answer, ending = read("server", ASK, run.bytes_from("server"))
    assert (opening.message, answer.message, ending.message) == ("Headers", "createScope", "Headers")
    assert isinstance(answer.fields, dict)
    assert answer.fields["status"] == "SCOPE_EXISTS"


def test_headers_stay_where_they_are() -> None:
    run = Call('message == "Headers": drop', 'message == "createScope": drop')
    headers = run.client.asks(3, "getURI").data
    assert run.say("client", headers) == [Deliver(0, "client", headers)]
    assert "later headers refer to it" in run.interceptor.standings[1].why
    assert run.say("client", ASK) == []


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
