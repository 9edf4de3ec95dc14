"""Whole connections: what each frame says, which request it answers, and what is wrong in it."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.offramp.talk import (
    BINARY,
    FIN,
    NO_FRAME,
    RSV1,
    TARGET,
    TEXT,
    UPGRADE,
    Deflater,
    Talk,
    Watched,
    asking,
    every_event,
    frame,
    kinds,
    opened,
    session,
    side_of,
    upgrading,
)
from wiretool import limits
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, EncodeError, ProtocolViolation
from wiretool.protocols.base.conversation import Reading
from wiretool.protocols.offramp import PROTOCOL, events
from wiretool.protocols.offramp.closing import close_code
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.handshake import request, response
from wiretool.protocols.offramp.messages import (
    CancelEvent,
    Close,
    CommitEvent,
    CommitResponseEvent,
    ConnectionEvent,
    ErrorEvent,
    Ping,
    Pong,
    RebalanceEvent,
    RequestEvent,
)


def test_a_good_session_has_no_defect() -> None:
    talk = Talk()
    told = [(side, talk.say(side, data)) for side, data in session()]
    assert [reading.message for _, reading in told] == [
        *("HandshakeRequest", "HandshakeResponse", "CONNECTION", "REQUEST", "REBALANCE"),
        *["MESSAGE"] * 6,
        *("Fragment", "Ping", "Fragment", "COMMIT", "Pong", "Empty", "COMMIT_RESPONSE"),
        *("COMMIT", "COMMIT_RESPONSE", "CANCEL", "Close", "Close"),
    ]
    assert not [reading for _, reading in told if reading.defects]
    replies = {n: reading.reply_to for n, (_, reading) in enumerate(told, 1) if reading.reply_to}
    assert replies == {2: 1, 16: 13, 18: 15, 20: 19, 23: 22}
    commit = told[14][1].fields
    assert commit == CommitEvent(correlationId="é", offsets={"0": 6})


@given(every_event)
def test_an_event_in_a_frame_reads_back(event: Message) -> None:
    talk = Talk(from_start=False)
    side = side_of(event)
    data = PROTOCOL.encode(event, side)
    reading = talk.say(side, data)
    assert reading.fields == event
    assert kinds(reading) in ([], ["message_too_big"])
    if len(data) < limits.OFFRAMP_CLIENT_MESSAGE_BYTES_MAX:
        assert talk.connection.trust(side, data, 0, len(data)) == 4


@given(st.lists(st.integers(1, 400), max_size=12), st.booleans())
def test_however_the_stream_is_cut_it_says_the_same(cuts: list[int], one_by_one: bool) -> None:
    def told(watched: Watched) -> list[Any]:
        return [list(watched.told(side)) for side in ("client", "server")]

    whole = Watched()
    for side, data in session():
        whole.feed(side, data)
    whole.end()
    cut = Watched()
    for side, data in session():
        pieces = [data[at : at + 1] for at in range(len(data))] if one_by_one else _cut(data, cuts)
        for piece in pieces:
            cut.feed(side, piece)
    cut.end()
    assert told(cut) == told(whole)
    assert not [piece for _, piece in cut.pieces if piece.kind != "frame"]


def _cut(data: bytes, sizes: list[int]) -> list[bytes]:
    out = []
    for size in sizes:
        out.append(data[:size])
        data = data[size:]
    return [piece for piece in [*out, data] if piece]


def test_the_upgrade_and_the_first_events_in_one_segment() -> None:
    watched = Watched()
    said = session()
    watched.feed("client", said[0][1])
    watched.feed("server", b"".join(data for side, data in said if side == "server"))
    watched.feed("client", b"".join(data for side, data in said[1:] if side == "client"))
    assert [reading.defects for _, _, reading in watched.readings] == [[]] * len(said)


_sides: st.SearchStrategy[Side] = st.sampled_from(["client", "server"])
_frames = st.tuples(
    st.sampled_from([0, 1, 2, 3, 8, 9, 10, 0x80, 0x81, 0x82, 0x88, 0xC1, 0x41, 0xA2]), st.binary(max_size=9)
)


@given(
    st.booleans(),
    st.lists(st.tuples(_sides, _frames.map(lambda made: (made[0], made[1])) | st.binary(max_size=30)), max_size=12),
    st.sampled_from(["", "permessage-deflate", "permessage-deflate;server_no_context_takeover"]),
    st.integers(0, 12),
)
def test_any_frames_and_bytes_are_told(
    from_start: bool, said: list[tuple[Side, Any]], extensions: str, hole: int
) -> None:
    watched = Watched(from_start=from_start)
    sent: dict[Side, int] = {"client": 0, "server": 0}
    if extensions:
        watched.feed("client", asking(extensions))
        watched.feed("server", upgrading(extensions))
        sent = {"client": len(asking(extensions)), "server": len(upgrading(extensions))}
    for number, (side, what) in enumerate(said):
        data = what if isinstance(what, bytes) else frame(side, what[0], what[1])
        sent[side] += len(data)
        if number == hole and data:
            watched.gap(side, len(data))
        else:
            watched.feed(side, data)
    watched.end()
    for side, total in sent.items():
        lengths = [piece.length for its_side, piece in watched.pieces if its_side == side]
        assert sum(lengths) == total
    for side, piece, reading in watched.readings:
        check_told(watched, side, piece.data[piece.at : piece.end], reading)


def check_told(watched: Watched, side: Side, data: bytes, reading: Reading) -> None:
    """Fields are what JSON can hold, spans tile, and asking changes nothing."""
    if isinstance(reading.fields, Message):
        json_form(reading.fields)
    spans = PROTOCOL.open(False).annotate(side, data, 0, len(data))
    at = 0
    for span in spans:
        assert span.offset == at
        assert span.length > 0
        at += span.length
    assert at == len(data)
    assert watched.connection.trust(side, data, 0, len(data)) in (0, 1, 2, 4)
    for defect in reading.defects:
        assert close_code(defect) in (1002, 1007, 1009, 1011)
        assert str(defect)


# -- what is wrong ---------------------------------------------------------------------------------------------------


def test_an_event_of_the_wrong_side_is_shown_and_said_to_be_wrong() -> None:
    reading = opened().text("client", '{"type":"REBALANCE","assignment":[1,0]}')
    assert reading.message == "REBALANCE"
    assert reading.fields == {"type": "REBALANCE", "assignment": [1, 0]}
    assert kinds(reading) == ["wrong_direction"]


@pytest.mark.parametrize(
    ("data", "kind", "code"),
    [
        (frame("client", FIN | TEXT, b"x" * 8193), "message_too_big", 1009),
        (frame("client", FIN | TEXT, "é".encode() * 4096), "malformed_json", 1011),
        (frame("client", FIN | TEXT, ("é" * 8193).encode()), "message_too_big", 1009),
        (frame("client", FIN | TEXT, ("😀" * 4097).encode()), "message_too_big", 1009),
        (frame("client", FIN | BINARY, ("é" * 4097).encode()), "message_too_big", 1009),
        (frame("client", FIN | TEXT, b'{"type":"CANCEL","x":"\xff"}'), "bad_utf8", 1007),
        (frame("client", FIN | BINARY, b'{"type":"CANCEL","x":"\xff"}'), "malformed_utf8", 1011),
        (frame("client", FIN, b"x"), "lone_continuation", 1002),
        (frame("client", FIN | RSV1 | TEXT, b"x"), "reserved_bits", 1002),
        (frame("client", 9, b""), "control_fragmented", 1002),
        (frame("client", FIN | 9, bytes(126)), "control_too_long", 1002),
        (frame("client", FIN | 11, b"abc"), "reserved_opcode", 1002),
        (frame("client", FIN | 8, b"x"), "bad_close_body", 1002),
        (frame("client", FIN | 8, b"\x03\xed"), "bad_close_code", 1002),
        (frame("client", FIN | 8, b"\x03\xe8\xff"), "bad_close_reason", 1002),
        (frame("client", FIN | 8, b"\x13\x88"), "bad_close_code", 1002),
        (frame("server", FIN | TEXT, b'{"type":"CANCEL"}'), "unmasked_client_frame", 1002),
    ],
)
def test_defects_and_the_codes_that_answer_them(data: bytes, kind: str, code: int) -> None:
    reading = opened().say("client", data)
    assert kind in kinds(reading)
    assert code in [close_code(defect) for defect in reading.defects]


def test_defects_of_a_server() -> None:
    assert kinds(opened().say("server", frame("client", FIN | BINARY, b'{"type":"REBALANCE","assignment":[]}'))) == [
        "masked_server_frame"
    ]
    assert kinds(opened().text("server", "")) == ["malformed_json"]
    assert kinds(opened().say("server", frame("server", FIN | 8, (1012).to_bytes(2, "big")))) == []
    assert kinds(opened().say("client", frame("client", FIN | 8, (1012).to_bytes(2, "big")))) == ["bad_close_code"]


def test_a_bad_text_is_one_defect() -> None:
    reading = opened().say("client", frame("client", FIN | TEXT, b'{"type":"CANCEL","x":"\xff"}'))
    assert kinds(reading) == ["bad_utf8"]
    assert reading.fields == {"data": b'{"type":"CANCEL","x":"\xff"}'.hex()}


def test_a_message_inside_a_message() -> None:
    talk = opened()
    talk.say("client", frame("client", TEXT, b'{"type":'))
    reading = talk.text("client", '{"type":"CANCEL"}')
    assert (reading.message, kinds(reading)) == ("CANCEL", ["message_inside_message"])


def test_fragments_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WEBSOCKET_MESSAGE_BYTES_MAX", 100)
    talk = opened()
    readings = [talk.say("client", frame("client", first, b"x" * 60)) for first in (TEXT, 0, 0, FIN)]
    assert [kinds(reading) for reading in readings] == [[], ["message_too_big"], [], []]
    assert readings[3].message == "Fragment"
    assert talk.text("client", '{"type":"CANCEL"}').fields == CancelEvent()


def test_times_that_are_wrong() -> None:
    talk = Talk()
    assert kinds(talk.text("client", '{"type":"CANCEL"}')) == ["frame_before_upgrade"]
    talk = Talk(extensions="")
    early = talk.event("server", RebalanceEvent(assignment=()))
    assert kinds(early) == ["event_before_connection"]
    assert isinstance(early.defects[0], ProtocolViolation)
    talk = opened()
    assert kinds(talk.event("server", ConnectionEvent(agentName="x"))) == ["repeated_connection"]
    talk.event("client", Close())
    assert kinds(talk.event("client", Ping())) == ["frame_after_close"]
    assert kinds(talk.event("server", RebalanceEvent(assignment=(1,)))) == []
    assert kinds(talk.say("client", asking())) == ["http_after_upgrade"]


def test_a_close_that_is_none_ends_nothing() -> None:
    talk = opened()
    assert kinds(talk.say("client", frame("client", FIN | 8, b"x"))) == ["bad_close_body"]
    answer = talk.event("server", Close(code=1002))
    assert (answer.reply_to, kinds(answer)) == (None, [])
    echo = talk.event("client", Close(code=1002))
    assert (echo.reply_to, kinds(echo)) == (talk.n - 1, [])


# -- requests and replies --------------------------------------------------------------------------------------------


def test_commits_are_answered_by_their_id_in_order() -> None:
    talk = opened()
    numbers = [(talk.event("client", CommitEvent(correlationId=key, offsets={})), talk.n)[1] for key in "abaca"]
    answers = [talk.event("server", CommitResponseEvent(correlationId=key, success=True)).reply_to for key in "caaabx"]
    assert answers == [numbers[3], numbers[0], numbers[2], numbers[4], numbers[1], None]


@pytest.mark.parametrize(
    ("sent", "echoed"),
    [('"a\\ud800b"', "a?b"), ("7", "7"), ("true", "true"), ("null", None), ('"' + "x" * 200 + '"', "x" * 200)],
)
def test_an_id_is_known_in_the_form_the_server_gives_it_back(sent: str, echoed: str | None) -> None:
    talk = opened()
    talk.text("client", f'{{"type":"COMMIT","correlationId":{sent},"offsets":{{}}}}')
    n = talk.n
    assert talk.event("server", CommitResponseEvent(correlationId=echoed, success=True)).reply_to == n


def test_an_error_answers_the_negative_request_that_it_names() -> None:
    talk = opened()
    numbers = {}
    for count in (-5, 3, -7):
        talk.event("client", RequestEvent(count=count))
        numbers[count] = talk.n
    given = [talk.event("server", ErrorEvent(reason=f"too small (given {count})")).reply_to for count in (-7, -5, 3)]
    assert given == [numbers[-7], numbers[-5], None]
    assert talk.event("server", ErrorEvent(reason="other")).reply_to is None


def test_pongs_answer_pings_of_the_other_side() -> None:
    talk = opened()
    talk.event("client", Ping(payload=b"a"))
    assert talk.event("client", Pong(payload=b"a")).reply_to is None
    assert talk.event("server", Pong(payload=b"b")).reply_to is None
    assert talk.event("server", Pong(payload=b"a")).reply_to == talk.n - 3


def test_http_answers_come_in_order() -> None:
    talk = Talk()
    talk.say("client", encode(request("/a", (("Host", "x"),)), "client"))
    talk.say("client", asking())
    assert talk.event("server", response(100)).reply_to == 1
    assert talk.event("server", response(404, (("Content-Length", "2"),), body=b"no")).reply_to == 1
    assert talk.event("server", response(101)).reply_to == 2
    assert talk.event("server", response(500, (("Content-Length", "0"),))).reply_to is None


def test_the_answer_to_head_has_no_body() -> None:
    talk = Talk()
    talk.event("client", request("/", method="HEAD"))
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    assert talk.connection.extent("server", answer + b"HTTP/", 0, 43) == len(answer)
    assert talk.say("server", answer).reply_to == 1


@pytest.mark.parametrize("first", [(), (request("/", method="GET"),)])
def test_frames_before_the_upgrade_have_a_response_of_their_own(first: tuple[Message, ...]) -> None:
    talk = Talk()
    for each in first:
        talk.event("client", each)
    talk.event("client", CancelEvent())
    cancel = talk.n
    talk.event("client", request("/", method="HEAD"))
    for number, _ in enumerate(first, 1):
        assert talk.event("server", response(401, (("Content-Length", "2"),), body=b"no")).reply_to == number
    refusal = encode(response(400, (("Content-Length", "2"),), body=b"{}"), "server")
    assert talk.connection.extent("server", refusal, 0, len(refusal)) == len(refusal)
    assert talk.say("server", refusal).reply_to == cancel


@pytest.mark.parametrize("cut", [1, 1_000])
@pytest.mark.parametrize("heads_before", [0, 2])
def test_bytes_that_are_no_frame_have_a_response_of_their_own(heads_before: int, cut: int) -> None:
    """Each response has a body of its own or none, also where all are in one packet."""
    watched = Watched()
    head = encode(request(TARGET, UPGRADE, method="HEAD"), "client")
    for _ in range(heads_before):
        watched.feed("client", head)
    watched.feed("client", NO_FRAME + head * 4)
    refused = encode(response(405, (("Allow", "GET"), ("Content-Length", "0"))), "server")
    broken = encode(response(400, (("Content-Length", "5"),), body=b"{ \n }"), "server")
    answers = refused * heads_before + broken
    for at in range(0, len(answers), cut):
        watched.feed("server", answers[at : at + cut])
    assert [piece.kind for side, piece in watched.pieces if side == "client"].count("lost") == 1
    replies = [(piece.kind, piece.length) for side, piece in watched.pieces if side == "server"]
    assert replies == [*(("frame", len(refused)) for _ in range(heads_before)), ("frame", len(broken))]
    answered = [reading.reply_to for side, _, reading in watched.readings if side == "server"]
    assert answered == [*range(1, heads_before + 1), None]


def test_responses_in_one_packet_answer_one_request_each() -> None:
    """The second response has a body, as it does not answer HEAD."""
    watched = Watched()
    watched.feed("client", encode(request(TARGET, UPGRADE, method="HEAD"), "client"))
    watched.feed("client", encode(request(TARGET, UPGRADE), "client"))
    first = b"HTTP/1.1 405 Not allowed\r\nContent-Length: 9\r\n\r\n"
    second = encode(response(401, (("Content-Length", "2"),), body=b"no"), "server")
    interim = encode(response(100), "server")
    watched.feed("server", interim + first + interim + second)
    lengths = [piece.length for side, piece in watched.pieces if side == "server"]
    assert lengths == [len(interim), len(first), len(interim), len(second)]
    assert [reading.reply_to for side, _, reading in watched.readings if side == "server"] == [1, 1, 2, 2]


def test_many_responses_in_one_packet_are_cut_in_little_time() -> None:
    """The time for each response does not depend on the number of those before it."""
    watched = Watched()
    for _ in range(1_000):
        watched.feed("client", encode(request(TARGET, UPGRADE, method="HEAD"), "client"))
    refused = b"HTTP/1.1 405 Not allowed\r\nContent-Length: 9\r\n\r\n"
    begun = time.process_time()
    watched.feed("server", refused * 1_000)
    assert time.process_time() - begun < 2.0
    assert [reading.reply_to for side, _, reading in watched.readings if side == "server"] == [*range(1, 1_001)]


def test_frames_that_overtake_the_upgrade_take_no_response() -> None:
    talk = Talk()
    talk.say("client", asking())
    talk.event("client", CancelEvent())
    assert talk.event("server", response(101)).reply_to == 1
    assert talk.event("server", response(500, (("Content-Length", "0"),))).reply_to is None


def test_a_body_without_length_is_whole_when_the_stream_is_over() -> None:
    talk = Talk()
    data = b"HTTP/1.0 200 OK\r\n\r\nhello"
    assert talk.connection.extent("server", data, 0, len(data)) > len(data)
    talk.connection.end("server")
    assert talk.connection.extent("server", data, 0, len(data)) == len(data)


# -- compression -----------------------------------------------------------------------------------------------------


def compressed(deflater: Deflater, event: Message, first: int = FIN | RSV1 | BINARY) -> bytes:
    return frame("server", first, deflater(events.encode(event)))


def test_compressed_messages_and_fragments() -> None:
    deflater, talk = Deflater(), Talk(extensions="permessage-deflate")
    assert talk.say("server", compressed(deflater, ConnectionEvent(agentName="a"))).message == "CONNECTION"
    data = deflater(events.encode(RebalanceEvent(assignment=(1, 2))))
    assert talk.say("server", frame("server", RSV1 | BINARY, data[:5])).message == "Fragment"
    assert talk.event("server", Ping(payload=b"x")).message == "Ping"
    assert talk.say("server", frame("server", FIN, data[5:])).fields == RebalanceEvent(assignment=(1, 2))
    assert talk.text("server", '{"type":"REBALANCE","assignment":[]}').fields == RebalanceEvent(assignment=())
    assert talk.say("client", frame("client", FIN | RSV1 | TEXT, b"\0")).message == "Empty"
    assert kinds(talk.say("client", frame("client", RSV1, b"\0"))) == ["reserved_bits", "lone_continuation"]


def test_a_hole_takes_the_context_with_it() -> None:
    deflater, talk = Deflater(), Talk(extensions="permessage-deflate")
    talk.say("server", compressed(deflater, ConnectionEvent(agentName="a")))
    deflater(events.encode(RebalanceEvent(assignment=(7, 8, 9))))
    talk.connection.hole("server")
    data = compressed(deflater, RebalanceEvent(assignment=(7, 8, 9)))
    reading = talk.say("server", data)
    assert (reading.message, kinds(reading)) == ("Deflated", [])
    assert reading.fields == {
        "opcode": "binary",
        "fin": True,
        "length": len(data) - 2,
        "data": data[2:].hex(),
        "why": "the messages that it refers to were not captured",
    }


def test_a_side_without_context_is_read_on_after_a_hole() -> None:
    deflater, talk = Deflater(resets=True), Talk(extensions="permessage-deflate;server_no_context_takeover")
    talk.say("server", compressed(deflater, ConnectionEvent(agentName="a")))
    talk.connection.hole("server")
    assert talk.say("server", compressed(deflater, RebalanceEvent(assignment=(7,)))).message == "REBALANCE"


def test_a_capture_from_the_middle_inflates_what_stands_alone() -> None:
    talk = Talk(from_start=False)
    deflater = Deflater()
    assert talk.say("server", compressed(deflater, ConnectionEvent(agentName="a"))).message == "CONNECTION"
    assert talk.say("server", compressed(deflater, RebalanceEvent(assignment=()))).message == "REBALANCE"
    later = Deflater()
    later(events.encode(ConnectionEvent(agentName="b")))
    talk = Talk(from_start=False)
    assert talk.say("server", compressed(later, ConnectionEvent(agentName="b"))).message == "Deflated"
    assert talk.text("server", '{"type":"REBALANCE","assignment":[]}').message == "REBALANCE"


def test_what_does_not_inflate_is_a_defect() -> None:
    talk = Talk(extensions="permessage-deflate")
    reading = talk.say("server", frame("server", FIN | RSV1 | BINARY, b"\xff\xff"))
    assert (reading.message, kinds(reading)) == ("Deflated", ["bad_deflate"])
    assert close_code(reading.defects[0]) == 1007


def test_a_message_that_cannot_be_read_may_have_been_the_first_event() -> None:
    talk = Talk(extensions="permessage-deflate")
    talk.connection.joiners["server"].hole()
    assert talk.say("server", frame("server", FIN | RSV1 | BINARY, b"\xff\xff")).message == "Deflated"
    assert kinds(talk.text("server", '{"type":"REBALANCE","assignment":[]}')) == []


# -- holes -----------------------------------------------------------------------------------------------------------


def test_a_continuation_behind_a_hole_is_no_defect() -> None:
    talk = opened()
    talk.say("client", frame("client", TEXT, b'{"type":'))
    talk.connection.hole("client")
    for first in (0, FIN):
        reading = talk.say("client", frame("client", first, b'"CANCEL"}'))
        assert (reading.message, kinds(reading)) == ("Fragment", [])
    assert kinds(talk.say("client", frame("client", FIN, b"x"))) == ["lone_continuation"]


def test_a_hole_in_the_handshake_is_no_defect() -> None:
    for lost in ("client", "server"):
        watched = Watched()
        for number, (side, data) in enumerate(session()):
            if number < 2 and side == lost:
                watched.gap(side, len(data))
            else:
                watched.feed(side, data)
        watched.end()
        assert len(watched.readings) == len(session()) - 1
        assert not [reading for _, _, reading in watched.readings if reading.defects]


@pytest.mark.parametrize("size", [1, 40, 1_460])
def test_a_hole_anywhere_costs_what_is_in_it(size: int) -> None:
    said = session(40)
    segments: list[tuple[Side, bytes]] = []
    for side, data in said:
        segments += [(side, data[at : at + size]) for at in range(0, len(data), size)]
    whole = Watched()
    for side, data in said:
        whole.feed(side, data)
    expected = {side: list(whole.told(side)) for side in ("client", "server")}
    for lost in range(0, len(segments), max(1, len(segments) // 40)):
        watched = Watched()
        hole = (0, 0)
        sent = {"client": 0, "server": 0}
        for number, (side, data) in enumerate(segments):
            if number == lost:
                hole = (sent[side], sent[side] + len(data))
                watched.gap(side, len(data))
            else:
                watched.feed(side, data)
            sent[side] += len(data)
        watched.end()
        check_hole(watched, expected, segments[lost][0], hole)


def check_hole(watched: Watched, expected: dict[str, list[Any]], lost: Side, hole: tuple[int, int]) -> None:
    """Every frame outside the hole is told with its meaning, and none that was not sent.

    The rest of a message whose first fragment is lost says less than it did, and what a frame answers may be unknown.
    """
    for side in ("client", "server"):
        told = {(at, length): meaning for at, length, meaning in watched.told(side)}
        assert told.keys() <= {(at, length) for at, length, _ in expected[side]}
        for at, length, meaning in expected[side]:
            if side == lost and at < hole[1] and hole[0] < at + length:
                continue
            found = told.get((at, length))
            weak = meaning[0] in ("Fragment", "Ping", "Empty", "COMMIT")
            assert found == meaning or (side == lost and weak and (found is None or found[0] == "Fragment"))


# -- the protocol ----------------------------------------------------------------------------------------------------


def test_a_side_sends_only_what_is_its_own() -> None:
    with pytest.raises(EncodeError, match="a server sends no REQUEST"):
        PROTOCOL.encode(RequestEvent(count=1), "server")
    with pytest.raises(EncodeError, match="Ping: a control frame takes 125 bytes, not 126"):
        PROTOCOL.encode(Ping(payload=bytes(126)), "client")
    with pytest.raises(EncodeError, match=r"Close\.reason: a reason needs a code"):
        PROTOCOL.encode(Close(reason="x"), "client")
    with pytest.raises(EncodeError, match="1005 is not a code that a client may send"):
        PROTOCOL.encode(Close(code=1005), "client")
    with pytest.raises(EncodeError, match="too big"):
        PROTOCOL.encode(Close(code=70_000), "client")


def test_frames_are_made_as_their_senders_make_them() -> None:
    assert PROTOCOL.encode(CancelEvent(), "client")[:6] == b"\x81\x91\0\0\0\0"
    assert encode(CancelEvent(), "client", mask=b"abcd", opcode=BINARY)[:6] == b"\x82\x91abcd"
    assert PROTOCOL.encode(RebalanceEvent(assignment=()), "server")[:2] == b"\x82\x24"
    assert PROTOCOL.encode(Close(code=1000, reason="é"), "server") == b"\x88\x04\x03\xe8\xc3\xa9"
    assert PROTOCOL.encode(Close(), "client") == b"\x88\x80\0\0\0\0"


def test_names_lead_to_messages() -> None:
    for cls in PROTOCOL.messages:
        assert cls.declaration.spec
        with pytest.raises(EncodeError):
            PROTOCOL.from_json(cls.declaration.name, "client", {"nothing": 1})
    with pytest.raises(EncodeError, match=r'REQUEST\.type: expected "REQUEST", got "CANCEL"'):
        PROTOCOL.from_json("REQUEST", "client", {"type": "CANCEL", "count": 1})


def test_trust_goes_by_what_cannot_be_chance() -> None:
    talk = opened()

    def points(side: Side, data: bytes) -> int:
        return talk.connection.trust(side, data, 0, len(data))

    assert points("client", frame("client", FIN | TEXT, b'{"type":"CANCEL"}')) == 4
    assert points("client", frame("client", FIN | TEXT, b'{"type":"REQUEST","count":"1"}')) == 1
    assert points("client", frame("client", FIN | TEXT, b'{"type":"OTHER"}')) == 0
    assert points("client", frame("client", FIN | TEXT, b'{"type":"ERROR","reason":""}')) == 0
    assert points("client", frame("client", FIN | TEXT, b"hello")) == 0
    assert points("client", frame("client", FIN | TEXT, b"")) == 1
    assert points("server", frame("server", FIN | TEXT, b"")) == 0
    assert points("server", frame("client", FIN | TEXT, b'{"type":"CANCEL"}')) == 0
    assert points("client", frame("client", FIN | 8, b"\x03\xe8ade")) == 2
    assert points("client", frame("client", FIN | 8, b"")) == 1
    assert points("client", frame("client", FIN | 8, b"\x00\x01")) == 0
    assert points("client", frame("client", FIN | 9, b"x")) == 1
    assert points("client", frame("client", TEXT, b' {"type":')) == 1
    assert points("client", frame("client", TEXT, b"x")) == 0
    assert points("client", frame("client", TEXT, b"")) == 1
    assert points("client", frame("client", TEXT, b" ")) == 1
    assert points("client", frame("client", 0, b"text")) == 1
    assert points("client", frame("client", 0, b"\x01")) == 0
    assert points("client", asking()) == 4
    assert points("client", b"GET / HTTP/1.1\r\n\r\n") == 0
    assert points("client", b"GET / HTTP/9\r\n\r\n") == 0
    assert points("client", b"GET / HTTP/1.1\r\nodd\r\n\r\n") == 0
    assert Talk().connection.trust("client", b"GET / HTTP/1.1\r\n\r\n", 0, 18) == 1
    assert points("server", upgrading()) == 2


def test_another_service_on_the_connection_is_not_trusted() -> None:
    talk = Talk()
    talk.event("client", request("/chat", (("Upgrade", "websocket"),)))
    assert talk.connection.trust("server", upgrading(), 0, len(upgrading())) == 1
    talk.say("server", upgrading())
    assert talk.connection.trust("server", upgrading(), 0, len(upgrading())) == 0
    data = frame("client", FIN | TEXT, b'{"type":"CANCEL"}')
    assert talk.connection.trust("client", data, 0, len(data)) == 0


def test_compressed_frames_are_trusted_by_their_form() -> None:
    talk = Talk(extensions="permessage-deflate")
    deflater = Deflater()

    def points(data: bytes) -> int:
        return talk.connection.trust("server", data, 0, len(data))

    first = compressed(deflater, ConnectionEvent(agentName="a"))
    assert points(first) == 4
    assert points(compressed(deflater, ConnectionEvent(agentName="a"))) == 2
    assert points(frame("server", FIN | RSV1 | BINARY, b"\xff\xff\xff")) == 0
    assert points(frame("server", FIN | RSV1 | BINARY, Deflater()(b"no event"))) == 0
    assert points(frame("server", RSV1 | BINARY, first[2:9])) == 1
    assert points(frame("server", 0, b"\x01")) == 1


def test_a_long_frame_is_trusted_by_its_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = opened().connection
    message = b'{"type":"MESSAGE","payload":"' + b"x" * 300_000
    for side in ("client", "server"):
        for ending, points in ((b'"}', 4), (b'"} \n ', 4), (b"]", 0)):
            for pad in range(4):
                data = frame(side, FIN | BINARY, message + b"x" * pad + ending)
                assert connection.trust(side, data, 0, len(data)) == points
    for first, begun, points in ((FIN | 1, b"[", 0), (1, b"{", 1), (0, b"x", 1)):
        data = frame("server", first, begun + bytes(300_000))
        assert connection.trust("server", data, 0, len(data)) == points
    negotiated = Talk(extensions="permessage-deflate").connection
    data = frame("server", FIN | RSV1 | 2, bytes(300_000))
    assert negotiated.trust("server", data, 0, len(data)) == 1


def test_candidates_are_every_frame_that_can_be_told() -> None:
    for side in ("client", "server"):
        frames = [data for its_side, data in session(30) if its_side == side]
        stream = b"".join(frames)
        found = set(opened().connection.candidates(side, stream, 0, len(stream)))
        at = 0
        missed = 0
        for data in frames:
            missed += at not in found
            at += len(data)
        assert missed <= 4  # continuations, a Ping and a Pong with a payload
        assert len(found) < len(stream) / 10 + len(frames)
        assert set(opened().connection.candidates(side, stream, len(frames[0]), len(stream))) >= {
            each for each in found if each >= len(frames[0])
        }


def test_decode_errors_are_decode_errors() -> None:
    with pytest.raises(DecodeError):
        Talk().connection.extent("client", b"\x16\x03\x01\x02\x00", 0, 5)
