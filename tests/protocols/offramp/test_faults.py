"""Faults in Offramp: events that span frames, masks, compression, and the greeting."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.talk import Sent
from tests.faults.run import Run, said
from tests.helpers.frames import talk
from tests.protocols.offramp.talk import Deflater, asking, frame, road_message, upgrading
from wiretool import limits
from wiretool.codec.message import Side
from wiretool.faults import Deliver, parse_rule
from wiretool.protocols.offramp import events, framing
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.messages import CommitEvent, RequestEvent

GREETING = (Sent("client", asking()), Sent("server", upgrading()))
OFFER = "permessage-deflate; client_max_window_bits"
PARTS = [
    frame("client", framing.FIN - 0x80 | 1, b'{"type":"COM'),
    frame("client", 0x89, b"ping"),
    frame("client", 0, b'MIT","offs'),
    frame("client", 0x80, b'ets":{"0":6}}'),
]


def opened(*rules: str, greeting: tuple[Sent, ...] = GREETING, seed: int = 1, is_observed: bool = True) -> Run:
    """A connection behind its greeting, of which nothing is kept."""
    run = Run("offramp", *rules, seed=seed, is_observed=is_observed)
    for side, data in greeting:
        run.say(side, data)
    run.out.clear()
    return run


def event_in(side: Side, data: bytes) -> tuple[framing.Header, dict[str, object]]:
    """The header of the one frame in `data`, and its event's members."""
    header = framing.read_header(data, 0, len(data))
    assert header is not None
    assert header.size + header.length == len(data)
    event = events.decode(framing.payload_of(header, data, 0, len(data)), side)
    return header, {name: getattr(event, name) for name in event.__struct_fields__}


@pytest.mark.parametrize("opcode", [1, 2])
def test_a_changed_event_of_the_server_stays_text_or_binary_and_has_no_mask(opcode: int) -> None:
    run = opened('message == "MESSAGE": set offset=77, payload.hotel="x"')
    run.say("server", encode(road_message(3), "server", opcode=opcode))
    header, members = event_in("server", run.bytes_from("server"))
    assert (header.opcode, header.is_masked, members["offset"]) == (opcode, False, 77)
    assert members["payload"] == {**road_message(3).payload, "hotel": "x"}


def test_a_changed_event_of_the_client_has_a_mask_of_its_own_that_the_seed_repeats() -> None:
    sent = encode(RequestEvent(count=5), "client", mask=b"abcd")
    masks = []
    for seed in (1, 1, 2):
        run = opened('message == "REQUEST": set count=6', seed=seed)
        run.say("client", sent)
        header, members = event_in("client", run.bytes_from("client"))
        assert (header.is_masked, header.opcode, members["count"]) == (True, 1, 6)
        masks.append(header.mask)
    assert masks[0] == masks[1] != masks[2]
    assert b"abcd" not in masks


def test_a_commit_is_stale() -> None:
    run = opened('message == "COMMIT": stale offset 2')
    run.say("client", encode(CommitEvent(correlationId="a", offsets={"0": 7, "3": 1, "4": 0}), "client"))
    assert event_in("client", run.bytes_from("client"))[1]["offsets"] == {"0": 5, "3": 0, "4": 0}


def test_a_request_is_answered_with_an_error() -> None:
    run = opened('message == "REQUEST": answer ERROR reason="no"')
    run.say("client", encode(RequestEvent(count=5), "client"))
    assert run.bytes_from("client") == b""
    header, members = event_in("server", run.bytes_from("server"))
    assert (header.is_masked, members) == (False, {"type": "ERROR", "reason": "no"})


def test_a_handshake_is_answered_and_changed() -> None:
    refusal = 'message == "HandshakeRequest": answer HandshakeResponse status=503, headers=[["Content-Length", "0"]]'
    run = opened(refusal, greeting=())
    assert run.say("client", asking()) == [Deliver(0, "server", b"HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n")]
    run = opened('message == "HandshakeResponse": set status=403', greeting=())
    run.say("client", asking())
    (effect,) = run.say("server", upgrading())
    assert isinstance(effect, Deliver)
    assert effect.data == upgrading().replace(b"101", b"403")


# -- wrong lengths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "by", "head"), [(20, 1, 2), (125, 1, 4), (126, -1, 2), (65_535, 1, 10), (65_536, -1, 4)]
)
@pytest.mark.parametrize("side", ["client", "server"])
def test_a_wrong_length_takes_the_form_it_needs(side: Side, size: int, by: int, head: int) -> None:
    sent = frame(side, 0x81, b"{" + b" " * (size - 2) + b"}")
    run = opened(f'side == "{side}": wrong length {by}')
    run.say(side, sent)
    data = run.bytes_from(side)
    header = framing.read_header(data, 0, len(data))
    original = framing.read_header(sent, 0, len(sent))
    assert header is not None
    assert original is not None
    assert (header.length, header.mask) == (size + by, original.mask)
    assert header.size == head + (4 if side == "client" else 0)
    assert data[header.size :] == sent[original.size :]


def test_a_length_below_nothing() -> None:
    run = opened('message == "Ping": wrong length -1')
    run.say("server", frame("server", 0x89, b""))
    assert run.bytes_from("server") == b"\x89\0"
    assert "a length of -1 does not fit a frame" in run.interceptor.standings[1].why


# -- messages in several frames ----------------------------------------------------------------------------------------


def test_an_event_in_parts_is_judged_as_one() -> None:
    run = opened('message == "COMMIT": set offsets={"0": 1}')
    for data in PARTS[:3]:
        assert run.say("client", data) == []
    run.say("client", PARTS[3])
    data = run.bytes_from("client")
    assert data.startswith(PARTS[1])
    header, members = event_in("client", data[len(PARTS[1]) :])
    assert (header.opcode, members["offsets"]) == (1, {"0": 1})


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("drop", PARTS[1]),
        ("duplicate", b"".join(PARTS) + PARTS[0] + PARTS[2] + PARTS[3]),
        ("delay 1ms", b"".join(PARTS)),
        ("cut after 10", PARTS[1] + PARTS[0][:10]),
    ],
)
def test_all_parts_of_an_event_share_its_fate(action: str, expected: bytes) -> None:
    run = opened(f'message == "COMMIT": {action}')
    for data in PARTS:
        run.say("client", data)
    run.wait(5)
    assert run.bytes_from("client") == expected


def test_parts_without_end_pass_as_they_are() -> None:
    run = opened("length > 1000000000: drop", is_observed=False)
    part = bytes(4 * 1024 * 1024)
    first, next_part = frame("client", 0x01, part), frame("client", 0, part)
    run.say("client", first)
    count = 1
    while not run.out:
        run.say("client", next_part)
        count += 1
    assert count <= limits.WEBSOCKET_MESSAGE_BYTES_MAX // len(part) + 1
    last = frame("client", 0x80, b"}")
    run.say("client", last)
    request = encode(RequestEvent(count=1), "client")
    run.say("client", request)
    assert run.bytes_from("client") == first + next_part * (count - 1) + last + request


def test_parts_of_a_side_that_ends_pass_as_they_are() -> None:
    run = opened('side == "client": drop')
    run.say("client", PARTS[0])
    run.end("client")
    assert run.bytes_from("client") == PARTS[0]


def test_a_rule_that_comes_between_two_parts_does_not_see_their_message() -> None:
    run = opened()
    run.say("client", PARTS[0])
    run.interceptor.add(parse_rule('side == "client": drop', protocols=["offramp"]))
    for data in PARTS[1:]:
        run.say("client", data)
    assert run.bytes_from("client") == b"".join(PARTS)
    run.say("client", encode(RequestEvent(count=1), "client"))
    assert run.bytes_from("client") == b"".join(PARTS)


def test_an_answer_waits_for_the_last_part_of_a_message() -> None:
    run = opened('message == "REQUEST": answer ERROR reason="no"')
    text = events.encode(road_message(1))
    first, last = frame("server", 0x02, text[:9]), frame("server", 0x80, text[9:])
    run.say("server", first)
    run.say("client", encode(RequestEvent(count=1), "client"))
    run.say("server", frame("server", 0x89, b"") + last[:3])
    assert run.bytes_from("server") == first + b"\x89\0" + last[:3]
    run.say("server", last[3:])
    data = run.bytes_from("server").removeprefix(first + b"\x89\0" + last)
    assert event_in("server", data)[1]["type"] == "ERROR"


# -- compression -------------------------------------------------------------------------------------------------------


def test_with_a_rule_the_offer_to_compress_is_taken_out_of_the_request() -> None:
    for rule in ('side == "server": drop', 'message == "COMMIT": drop'):
        run = opened(rule, greeting=())
        run.say("client", asking(OFFER))
        assert run.bytes_from("client") == asking()
        assert any("permessage-deflate was taken out" in note for note in run.notes)


def test_an_offer_is_found_whatever_its_case_and_lines() -> None:
    plain = asking()
    head, _, rest = plain.partition(b"\r\n")
    odd = b"sec-websocket-EXTENSIONS: foo,\r\n permessage-deflate\r\nSec-WebSocket-Extensions:permessage-deflate\r\n"
    run = opened('side == "server": drop', greeting=())
    run.say("client", head + b"\r\n" + odd + rest)
    assert run.bytes_from("client") == plain


def test_a_second_request_on_the_connection_is_seen_too() -> None:
    run = opened('side == "server" nth=99: drop', greeting=())
    run.say("client", asking(OFFER) + asking(OFFER))
    assert run.bytes_from("client") == asking() * 2


@pytest.mark.parametrize("rules", [(), ('protocol == "offramp" and side == "client" and time < 0: drop',)])
def test_other_offers_and_connections_without_rules_stay_as_they_are(rules: tuple[str, ...]) -> None:
    run = opened(*rules, greeting=())
    asked = asking("x-webkit-frame" if rules else OFFER)
    run.say("client", asked)
    assert run.bytes_from("client") == asked


def test_a_rule_on_the_request_sees_it_as_it_came_and_does_not_bring_the_offer_back() -> None:
    run = opened('message == "HandshakeRequest": set version="HTTP/1.0"', greeting=())
    run.say("client", asking(OFFER))
    assert run.bytes_from("client") == asking().replace(b"HTTP/1.1", b"HTTP/1.0")
    assert run.records[0].raw == asking(OFFER)


def test_what_is_compressed_can_be_delayed_but_not_changed() -> None:
    run = opened(greeting=(Sent("client", asking(OFFER)), Sent("server", upgrading(OFFER))))
    deflate = Deflater()
    sent = [frame("server", 0xC2, deflate(events.encode(road_message(number)))) for number in range(3)]
    ids = [
        run.interceptor.add(parse_rule(f'message == "MESSAGE": {action}', protocols=["offramp"]))
        for action in ("drop", "set offset=9", "duplicate", "reorder", "stale offset", "delay 1ms")
    ]
    for data in sent:
        run.say("server", data)
    run.wait(1)
    assert run.bytes_from("server") == b"".join(sent)
    assert [run.hits(number) for number in ids] == [0, 0, 0, 0, 0, 3]
    assert "it is compressed" in run.interceptor.standings[1].why


@given(cuts=st.lists(st.integers(1, 60), min_size=1, max_size=5), seed=st.integers(0, 3))
def test_however_a_session_is_cut_its_changes_are_the_same(cuts: list[int], seed: int) -> None:
    rules = ('message == "COMMIT": set offsets={"0": 1}', "every=4: drop", 'side == "server": duplicate')
    whole = Run("offramp", *rules, seed=seed).talk(talk("offramp"))
    cut = Run("offramp", *rules, seed=seed)
    rng = random.Random(seed)
    for side, data in talk("offramp"):
        at = 0
        while at < len(data):
            size = rng.choice(cuts)
            cut.say(side, data[at : at + size])
            at += size
    for side in ("client", "server"):
        assert cut.bytes_from(side) == whole.bytes_from(side)
    assert whole.bytes_from("client") != b"".join(said(talk("offramp"), "client"))
