import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import needs_protocol
from wiretool import limits
from wiretool.analysis.script import Sent, read_script
from wiretool.errors import EncodeError, InputError

HELLO = {"message": "Hello", "fields": {"high_version": 17, "low_version": 5}}
HELLO_BYTES = bytes.fromhex("ffffff81000000080000001100000005")


def frames(*objects: Any, **options: Any) -> list[Sent]:
    return list(read_script([json.dumps(each) for each in objects], **options))


def test_a_message_and_its_fields_become_a_frame() -> None:
    (frame,) = frames(HELLO, protocol="pravega")
    assert frame == Sent(0, "client", None, 12345, HELLO_BYTES)


def test_who_sends_is_said_by_the_line_the_option_or_the_message() -> None:
    reply = {"message": "SegmentCreated", "fields": {"request_id": 1, "segment": "s"}}
    assert frames(reply, protocol="pravega")[0].side == "server"
    assert frames(HELLO, protocol="pravega", side="server")[0].side == "server"
    assert frames(HELLO | {"side": "client"}, protocol="pravega", side="server")[0].side == "client"


def test_a_record_of_decode_says_all_by_itself() -> None:
    record = HELLO | {"n": 1, "kind": "frame", "time_ns": 5, "connection": 3, "side": "server", "protocol": "pravega"}
    assert frames(record) == [Sent(3, "server", 5, 12345, HELLO_BYTES)]


def test_empty_lines_and_what_is_no_frame_are_passed_over() -> None:
    skipped: list[tuple[int, str]] = []
    lines = ["", json.dumps({"kind": "gap"}), json.dumps(HELLO), "  \n"]
    found = read_script(lines, protocol="pravega", skipped=lambda number, kind: skipped.append((number, kind)))
    assert len(list(found)) == 1
    assert skipped == [(2, "gap")]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{}", "line 1: has no protocol; expected the key protocol, or --protocol NAME"),
        ('{"protocol": "pravega"}', "line 1: has no message"),
        ('{"protocol": "pravga", "message": "Hello"}', r"no protocol is called 'pravga' \(did you mean pravega"),
        ('{"protocol": "pravega", "message": "Helo"}', r"Helo.*did you mean"),
        ('{"protocol": "pravega", "message": 1}', "message: expected text, got 1"),
        ('{"protocol": "pravega", "message": "Hello", "fields": []}', r"fields: expected an object, got \[\]"),
        ('{"protocol": "pravega", "message": "Hello", "fields": {}}', "is missing"),
        ('{"protocol": "pravega", "message": "Hello", "side": "me"}', "side is client or server, not 'me'"),
        (json.dumps(HELLO | {"protocol": "pravega", "connection": -1}), "connection: expected a whole number"),
        (json.dumps(HELLO | {"protocol": "pravega", "time_ns": "x"}), "time_ns: expected a whole number"),
    ],
)
def test_a_line_that_makes_no_message_is_named(line: str, why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        list(read_script([line]))


@pytest.mark.parametrize(
    ("line", "why"),
    [("{", "not JSON: it ends early"), ("NaN", "not JSON: unexpected byte 0"), ("[]", "not a JSON object")],
)
def test_a_line_that_is_not_a_json_object_is_bad_input(line: str, why: str) -> None:
    with pytest.raises(InputError, match=rf'^a.jsonl: line 2: {why}; expected \{{"message"') as refused:
        list(read_script(["", line], name="a.jsonl"))
    assert refused.value.exit_code == 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def error_in(line: str) -> str:
    try:
        list(read_script([line], protocol="offramp"))
    except (EncodeError, InputError) as err:
        return str(err)
    return ""


@needs_protocol("offramp")
@given(
    st.text()
    | st.fixed_dictionaries(
        {},
        optional={
            "protocol": st.sampled_from(["pravega", "sbp", "sbp-0.1", "offramp", "pravega-draft"]) | JSON,
            "message": st.sampled_from(["Hello", "APPEND", "MESSAGE", "SetupAppend", "HandshakeRequest"]) | JSON,
            "fields": JSON,
            "side": st.sampled_from(["client", "server"]) | JSON,
            "connection": JSON,
        },
    ).map(json.dumps)
)
def test_any_line_is_a_frame_or_an_error_that_says_why(line: str) -> None:
    assert error_in(line).startswith("stdin: line 1: ") or not error_in(line)


# -- the order of lines ------------------------------------------------------------------------------------------------


def fragment(connection: int, length: int = 1) -> dict[str, Any]:
    """Return a record of a fragment, which has no bytes before the message that it belongs to is complete."""
    fields = {"opcode": "text", "length": length, "compressed": False}
    return {"protocol": "offramp", "message": "Fragment", "side": "client", "connection": connection, "fields": fields}


def hello(connection: int) -> dict[str, Any]:
    return HELLO | {"protocol": "pravega", "side": "client", "connection": connection}


@needs_protocol("offramp")
def test_a_frame_that_is_pending_holds_back_those_of_other_connections() -> None:
    found = frames(fragment(1), hello(2), hello(3))
    assert [each.connection for each in found] == [1, 2, 3]


@needs_protocol("offramp")
def test_frames_overtake_a_pending_one_where_too_many_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ENCODE_WAITING_MESSAGES_MAX", 3)
    found = frames(fragment(1), fragment(1, 2), hello(2), hello(3), hello(2), hello(2))
    assert [each.connection for each in found] == [2, 3, 1, 1, 2, 2]
    monkeypatch.setattr(limits, "ENCODE_WAITING_BYTES_MAX", len(HELLO_BYTES))
    found = frames(fragment(1), hello(2), hello(3), hello(2))
    assert [each.connection for each in found] == [2, 3, 1, 2]


@needs_protocol("offramp")
def test_a_connection_that_changes_its_protocol_loses_no_frame() -> None:
    found = frames(fragment(1), hello(1))
    assert [bool(each.data) for each in found] == [True, True]
    assert found[1].data == HELLO_BYTES
