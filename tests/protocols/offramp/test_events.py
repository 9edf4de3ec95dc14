"""The text of events: both decoders agree on any text, and what is written reads back."""

import inspect
import json
import math
import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.protocols.offramp.talk import every_event, json_values, side_of
from wiretool import limits
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, EncodeError, OverLimit
from wiretool.protocols.offramp import PROTOCOL, events
from wiretool.protocols.offramp.messages import (
    CancelEvent,
    CommitEvent,
    CommitResponseEvent,
    MessageEvent,
    Ping,
    RebalanceEvent,
    RequestEvent,
)

MESSAGE = '{"type":"MESSAGE","partition":0,"offset":1,"schema":2,"timestampMs":3,"payload":%s}'


def outcome(decode: Any, data: bytes, side: Side) -> Any:
    """All there is to compare of what a decoder does."""
    try:
        event = decode(data, side)
    except DecodeError as err:
        return type(err), err.kind, err.path, err.offset, err.why
    return type(event), repr(event)


def check_parity(data: bytes) -> None:
    sides: tuple[Side, Side] = ("client", "server")
    for side in sides:
        assert outcome(events.decode, data, side) == outcome(events.reference, data, side)


def kind_of(text: str | bytes, side: Side = "client") -> str:
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    check_parity(data)
    with pytest.raises(DecodeError) as caught:
        events.decode(data, side)
    return caught.value.kind


@given(every_event)
def test_what_is_written_reads_back(event: Message) -> None:
    side = side_of(event)
    data = events.encode(event)
    check_parity(data)
    assert events.decode(data, side) == event
    assert data.startswith(b'{"type":"')
    form = json_form(event)
    assert PROTOCOL.from_json(event.declaration.name, side, form) == event
    assert json_form(events.decode(json.dumps(form, indent=1).encode(), side)) == form


@given(every_event, st.data())
def test_decoders_agree_on_damaged_text(event: Message, data: st.DataObject) -> None:
    text = events.encode(event)
    at = data.draw(st.integers(0, len(text)))
    upto = data.draw(st.integers(at, min(len(text), at + 6)))
    put = data.draw(st.sampled_from([b"", b'"', b",", b":", b"{", b"}", b" ", b"\\", b"0", b"-", b"1e999", b"\xff"]))
    check_parity(text[:at] + put + text[upto:])


_TOKENS = (
    '"type" "REQUEST" "count" : , { } [ ] 1 -0 1.5 1e3 01 NaN true null "a" "\\ud800" "\\":" 9223372036854775808 \\ é'
)
_PIECES = st.sampled_from([*_TOKENS.split(" "), " ", '"x :y"', "\x01", "\ufeff"])


@given(st.lists(_PIECES, max_size=14).map("".join))
@example('{"type":"CANCEL","a" :1,"a":2}')
@example('{"type":"CANCEL","a":1,"b":{"c":1,"c":2}}')
@example('{"type":"CANCEL","a":"\\":","a":1}')
def test_decoders_agree_on_any_tokens(text: str) -> None:
    check_parity(text.encode("utf-8"))


@given(st.binary(max_size=40))
def test_any_bytes_are_an_event_or_a_defect(data: bytes) -> None:
    check_parity(data)
    shown = events.show(data)
    assert shown.message == "Unknown" or shown.fields["type"] == shown.message


@given(json_values)
def test_payloads_come_out_exact(payload: Any) -> None:
    text = MESSAGE % json.dumps(payload)
    check_parity(text.encode())
    event = events.decode(text.encode(), "server")
    assert isinstance(event, MessageEvent)
    assert event.payload == payload
    assert repr(event.payload) == repr(payload)


def test_numbers_beyond_a_double_stay_whole() -> None:
    digits = "9" * limits.JSON_INTEGER_DIGITS_MAX
    event = events.decode((MESSAGE % f"[1.0E308,4.9E-324,-0.0,{digits},18446744073709551616]").encode(), "server")
    assert isinstance(event, MessageEvent)
    assert event.payload == [1e308, 5e-324, 0.0, int(digits), 2**64]
    assert math.copysign(1, event.payload[2]) == -1


def test_numbers_beyond_every_bound_are_refused() -> None:
    assert kind_of(MESSAGE % ("9" * (limits.JSON_INTEGER_DIGITS_MAX + 1)), "server") == "out_of_range"
    assert kind_of(MESSAGE % "1e400", "server") == "out_of_range"
    assert kind_of('{"type":"REQUEST","count":1e400}') == "bad_field_type"
    assert kind_of('{"type":"CANCEL","x":1e400}') == "out_of_range"


@pytest.mark.parametrize("brackets", ["[]", '{"a":}'])
def test_nesting_ends_at_its_bound(brackets: str) -> None:
    opening, closing = (brackets[:-1], brackets[-1])
    deepest = limits.JSON_NESTING_MAX - 1

    def nested(depth: int) -> str:
        return MESSAGE % (opening * depth + "1" + closing * depth)

    check_parity(nested(deepest).encode())
    events.decode(nested(deepest).encode(), "server")
    assert kind_of(nested(deepest + 1), "server") == "nesting_too_deep"
    assert kind_of(nested(500), "server") == "nesting_too_deep"
    assert kind_of(opening * 200_000, "server") == "nesting_too_deep"
    assert kind_of('{"type":"' + "[" * 5_000, "server") == "malformed_json"
    check_parity((MESSAGE % f'"{"[" * 300}"').encode())
    events.decode((MESSAGE % f'"{"[" * 300}"').encode(), "server")


def test_where_text_is_wrong_is_said_in_bytes() -> None:
    with pytest.raises(DecodeError, match=r"malformed_json at byte 16: expected a ") as caught:
        events.decode('{"é":"日",'.encode() + b'"x" 1}', "client")
    assert caught.value.offset == 16
    with pytest.raises(DecodeError, match=r"trailing_data at byte 17: '!' after the first value"):
        events.decode(b'{"type":"CANCEL"}!', "client")
    with pytest.raises(DecodeError, match="malformed_utf8 at byte 9: byte 0xff: invalid start byte"):
        events.decode(b'{"type":"\xff"}', "client")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"type":"COMMIT","offsets":{"0":null}}', "bad_field_type"),
        ('{"type":"COMMIT","offsets":{"0":1,"0":2}}', "duplicate_key"),
        ('{"type":"COMMIT","offsets":{"":2}}', "bad_partition_key"),
        ('{"type":"COMMIT","offsets":{"٣":2}}', "bad_partition_key"),
        ('{"type":"COMMIT","offsets":{"99999999999":2}}', "bad_partition_key"),
        ('{"type":"COMMIT","correlationId":1.5,"offsets":{}}', "bad_field_type"),
        ('{"type":"REQUEST","count":2,"type":"CANCEL"}', "duplicate_key"),
        ('{"type":"CANCEL","x":[{"a":1,"a":2}]}', "duplicate_key"),
        ('{"type":"CANCEL"}{"type":"CANCEL"}', "trailing_data"),
        ('\ufeff{"type":"CANCEL"}', "malformed_json"),
        ('{"type":"CANCEL","x":Infinity}', "malformed_json"),
        ('{"type":"CANCEL","x":-Infinity}', "malformed_json"),
        ('{"type":"CANCEL","x":"\t"}', "malformed_json"),
        ('{"type":"CANCEL","x":"\\x"}', "malformed_json"),
        ('{"type":"CANCEL"/**/}', "malformed_json"),
        ("", "malformed_json"),
        ('"', "malformed_json"),
        ("-1.5", "not_an_object"),
    ],
)
def test_defects_of_a_client(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"type":"REBALANCE","assignment":[null]}', "bad_field_type"),
        ('{"type":"REBALANCE","assignment":[1.0]}', "bad_field_type"),
        ('{"type":"REBALANCE","assignment":{"0":1}}', "bad_field_type"),
        ('{"type":"REBALANCE","assignment":"12"}', "bad_field_type"),
        ('{"type":"REBALANCE","assignment":[2147483648]}', "out_of_range"),
        ('{"type":"ERROR"}', "missing_field"),
        ('{"type":"COMMIT_RESPONSE","correlationId":"x","success":null}', "missing_field"),
        ('{"type":"COMMIT_RESPONSE","correlationId":"x","success":1}', "bad_field_type"),
    ],
)
def test_defects_of_a_server(text: str, kind: str) -> None:
    assert kind_of(text, "server") == kind


def test_the_first_defect_in_the_order_of_the_declaration_counts() -> None:
    text = b'{"payload":1,"schema":"x","offset":99999999999999999999,"type":"MESSAGE","partition":1}'
    with pytest.raises(DecodeError, match=r"out_of_range .*\(MESSAGE\.offset\)"):
        events.decode(text, "server")


def test_what_may_be_missing() -> None:
    assert events.decode(b'{"type":"COMMIT","offsets":{}}', "client") == CommitEvent(offsets={})
    response = events.decode(b'{"type":"COMMIT_RESPONSE","success":true}', "server")
    assert response == CommitResponseEvent(success=True)
    with_null = MessageEvent(partition=0, offset=1, schema=2, payload=None)
    assert events.decode((MESSAGE % "null").replace('"timestampMs":3', '"timestampMs":null').encode(), "server") == (
        with_null
    )


def test_texts_are_compact_with_type_first_as_the_servers_are() -> None:
    assert events.encode(RequestEvent(count=2**63 - 1)) == b'{"type":"REQUEST","count":9223372036854775807}'
    assert events.encode(CancelEvent()) == b'{"type":"CANCEL"}'
    assert events.encode(CommitEvent(offsets={"0": 1})) == b'{"type":"COMMIT","offsets":{"0":1}}'
    written = events.encode(CommitResponseEvent(correlationId=None, success=False))
    assert written == b'{"type":"COMMIT_RESPONSE","correlationId":null,"success":false}'
    message = MessageEvent(partition=0, offset=1, schema=2, payload={"é": "日"})
    assert (
        events.encode(message).decode() == '{"type":"MESSAGE","partition":0,"offset":1,"schema":2,"payload":{"é":"日"}}'
    )
    half = CommitEvent(correlationId="\ud800é", offsets={})
    assert events.encode(half) == b'{"type":"COMMIT","correlationId":"\\ud800\\u00e9","offsets":{}}'
    assert events.decode(events.encode(half), "client") == half


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (RequestEvent(count=2**63), r"REQUEST\.count: 9223372036854775808 is not an int64"),
        (RequestEvent(count="1"), r'REQUEST\.count: expected a whole number, got "1"'),  # type: ignore[arg-type]
        (RebalanceEvent(assignment=(True,)), r"REBALANCE\.assignment\[0\]: expected a whole number, got true"),
        (CommitEvent(offsets={"01": 1}), r'COMMIT\.offsets: "01" names no partition'),
        (MessageEvent(partition=0, offset=1, schema=2, payload=float("nan")), "MESSAGE: is not JSON"),
        (MessageEvent(partition=0, offset=1, schema=2, payload=b"x"), "MESSAGE: is not JSON"),
        (Ping(), "Ping is not an event"),
    ],
)
def test_events_without_a_text_are_refused(event: Message, why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        events.encode(event)


@pytest.mark.parametrize(
    ("text", "message", "fields"),
    [
        (b"hello", "Unknown", {"text": "hello"}),
        (b"[1]", "Unknown", {"text": "[1]"}),
        (b"\xff", "Unknown", {"data": "ff"}),
        (b'{"a":1}', "Unknown", {"a": 1}),
        (b'{"type":"HEARTBEAT"}', "Unknown", {"type": "HEARTBEAT"}),
        (b'{"type":["REQUEST"]}', "Unknown", {"type": ["REQUEST"]}),
        (b'{"type":"REQUEST","count":"7"}', "REQUEST", {"type": "REQUEST", "count": "7"}),
        (b'{"type":"REQUEST","count":1,"count":2}', "REQUEST", {"type": "REQUEST", "count": 2}),
        (b'{"type":"REQUEST","count":1e999}', "Unknown", {"text": '{"type":"REQUEST","count":1e999}'}),
        (b'{"type":"CANCEL"} behind', "CANCEL", {"type": "CANCEL"}),
    ],
)
def test_a_defective_event_is_shown_as_far_as_it_goes(text: bytes, message: str, fields: Any) -> None:
    assert events.show(text) == (message, fields)


def test_a_parser_that_runs_out_of_stack_says_so() -> None:
    data = (MESSAGE % ("[" * 150 + "]" * 150)).encode()
    with pytest.raises(OverLimit, match="nesting_too_deep"):
        _decode_with_ever_more_room(data)


def _decode_with_ever_more_room(data: bytes) -> None:
    """Until the parser's own recursion is what does not fit."""
    for room in range(100, 400, 5):
        with suppress(RecursionError):
            _decode_with_room(room, data)


def _decode_with_room(room: int, data: bytes) -> None:
    """Decode with about `room` frames left of those that Python allows."""
    depth = len(inspect.stack(0))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + room)
    try:
        events.reference(data, "server")
    finally:
        sys.setrecursionlimit(limit)
