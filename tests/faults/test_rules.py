"""Rules on one line: what they do, and each mistake told with its place, its reason and what was meant."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool import limits
from wiretool.errors import UsageError
from wiretool.faults import parse_rule
from wiretool.faults.actions import (
    Action,
    Answer,
    Change,
    CutAfter,
    Delay,
    Drop,
    Duplicate,
    Keep,
    Reorder,
    Reset,
    Set,
    Stale,
    Stall,
    WrongChecksum,
    WrongLength,
)
from wiretool.faults.adapter import Kind
from wiretool.faults.rule import When

DATA_APPENDED: Kind = ("server", "DataAppended")
BEAT = 'message == "HEARTBEAT" and side == "server"'


@pytest.mark.parametrize(
    ("protocol", "text", "action"),
    [
        ("pravega", ": delay 200ms", Delay(200_000_000)),
        ("pravega", ": stall", Stall()),
        ("pravega", ": stall 2s", Stall(2_000_000_000)),
        ("pravega", ": drop", Drop()),
        ("pravega", ": duplicate", Duplicate(1)),
        ("pravega", ": duplicate 3", Duplicate(3)),
        ("pravega", ": reorder", Reorder(100_000_000)),
        ("pravega", ": reorder 1s", Reorder(1_000_000_000)),
        ("pravega", ": cut after 12", CutAfter(12)),
        ("pravega", ": cut 12 bytes", CutAfter(12)),
        ("pravega", ": reset", Reset()),
        (
            "pravega",
            'message == "DataAppended": set previous_event_number=77, request_id = -1',
            Set((Change(("previous_event_number",), 77), Change(("request_id",), -1))),
        ),
        (
            "pravega",
            'message == "UpdateTableEntries": set table_entries.entries[0].key.data="00ff"',
            Set((Change(("table_entries", "entries", 0, "key", "data"), "00ff"),)),
        ),
        ("pravega", ": wrong length", WrongLength(1)),
        ("pravega", ": wrong length -8", WrongLength(-8)),
        ("sbp", ": wrong checksum", WrongChecksum()),
        ("pravega", 'message == "ReadSegment": answer NoSuchSegment', Answer("NoSuchSegment")),
        (
            "pravega",
            'message == "ReadSegment": answer WrongHost correct_host="h:1"',
            Answer("WrongHost", (Change(("correct_host",), "h:1"),)),
        ),
        ("pravega", ": stale epoch", Stale("epoch", 1)),
        ("pravega", 'message == "AppendBlockEnd" every=9: keep twice', Keep("twice")),
        ("pravega", ": stale offset 100", Stale("offset", 100)),
        (
            "sbp",
            f"{BEAT}: set header.fields.status.code=1201",
            Set((Change(("header", "fields", "status", "code"), 1201),)),
        ),
        ("sbp", f"{BEAT}: set stream_id=7", Set((Change(("stream_id",), 7),))),
        ("sbp", f'{BEAT}: set checksum="00000000"', Set((Change(("checksum",), "00000000"),))),
        ("sbp", f'{BEAT}: set payload.hex="00"', Set((Change(("payload", "hex"), "00"),))),
        ("sbp", f'{BEAT}: set header.raw_hex="00"', Set((Change(("header", "raw_hex"), "00"),))),
        ("offramp", 'message == "COMMIT": set offsets["0"]=9', Set((Change(("offsets", "0"), 9),))),
        ("offramp", 'message == "MESSAGE": set payload.a.b=[1]', Set((Change(("payload", "a", "b"), [1]),))),
        ("offramp", 'message == "REBALANCE": set assignment=[1,2]', Set((Change(("assignment",), [1, 2]),))),
    ],
)
def test_an_action_and_its_text(protocol: str, text: str, action: Action) -> None:
    rule = parse_rule(text, protocols=[protocol])
    assert rule.action == action
    assert parse_rule(rule.text, protocols=[protocol]) == rule
    assert str(rule) == rule.text


def test_the_parts_of_a_rule() -> None:
    rule = parse_rule('message == "DataAppended" nth=3: set previous_event_number=77', protocols=["pravega"])
    assert rule.expression == 'message == "DataAppended"'
    assert rule.when == When("nth", 3)
    assert rule.sides == {("pravega", "server")}
    assert rule.kinds == frozenset({("pravega", DATA_APPENDED)})
    assert rule.text == 'message == "DataAppended" nth=3: set previous_event_number=77'
    assert parse_rule("probability=0.25: drop", protocols=["pravega"]).when == When("probability", 0.25)
    assert parse_rule(": drop", protocols=["pravega"]).sides == {("pravega", "client"), ("pravega", "server")}


def test_a_rule_may_be_of_one_protocol_among_several() -> None:
    both = ["pravega", "pravega-controller"]
    rule = parse_rule('message == "DataAppended": set event_number=1', protocols=both)
    assert rule.sides == {("pravega", "server")}
    assert parse_rule('protocol == "pravega-controller": drop', protocols=both).sides == {
        ("pravega-controller", "client"),
        ("pravega-controller", "server"),
    }
    assert parse_rule(": wrong checksum", protocols=["pravega", "sbp"]).sides == {("sbp", "client"), ("sbp", "server")}


@pytest.mark.parametrize(
    ("protocol", "text", "why"),
    [
        ("pravega", "drop", "column 5: no colon"),
        ("pravega", ":", "column 2: the end; expected an action"),
        ("pravega", ": dorp", "column 3: unknown action 'dorp' (did you mean drop?); there are delay, stall,"),
        ("pravega", ": wrong size", "column 3: unknown action 'wrong size'; there are delay"),
        ("pravega", ": wrong", "column 8: the end; expected wrong length or wrong checksum"),
        ("pravega", ": drop it", "column 8: 'it' after the end of the action"),
        ("pravega", ": delay", "column 8: the end; expected a duration like 200ms"),
        (
            "pravega",
            ": delay 200",
            "column 9: duration '200': not a duration; expected a number with ns, us, ms",
        ),
        ("pravega", ": delay 1 min", "column 9: duration '1 min': a space before the unit; expected 1min"),
        ("pravega", ": delay 2.5  s", "column 9: duration '2.5  s': a space before the unit; expected 2.5s"),
        ("pravega", ": delay 1 more", "column 9: duration '1': not a duration; expected a number with ns, us, ms"),
        ("pravega", ": delay 0ms", "a duration of 0 ns; above 0"),
        ("pravega", ": stall 48h", "a duration of 172800000000000 ns; above 0, and 86400000000000 at most"),
        ("pravega", ": reorder 0s", "a duration of 0 ns"),
        ("pravega", ": keep", "column 7: the end; expected nothing or twice or late"),
        ("pravega", ": keep twise", "keep twise (did you mean twice?); expected nothing, twice, late"),
        ("pravega", 'message == "Hello": keep late', "Hello: is not kept by the server: AppendBlockEnd, Condition"),
        ("pravega", 'message == "DataAppended": keep late', "DataAppended: is not kept by the server"),
        ("sbp", 'message == "APPEND": keep late', "APPEND: is not kept by the server: nothing of sbp can be"),
        ("pravega", ": duplicate 0", "duplicate 0: 1 to 1000 copies"),
        ("pravega", ": duplicate many", "column 13: 'many'; expected a whole number"),
        ("pravega", ": duplicate 1001", "1 to 1000 copies"),
        ("pravega", ": cut after", "column 12: the end; expected a whole number"),
        ("pravega", ": cut after -1", "cut after -1: no frame has less than 0 bytes"),
        ("pravega", ": wrong length 0", "wrong length 0 would be the right one"),
        ("pravega", ": stale offset 0", "stale offset 0: at least 1 lower"),
        ("pravega", "nth=0: drop", "nth=0: counted from 1"),
        ("pravega", "every=0: drop", "every=0: counted from 1"),
        ("pravega", "nth=-1: drop", "column 5: nth=-1 is not a number"),
        ("pravega", "nth=1.5: drop", "column 5: nth=1.5 is not a whole number"),
        ("pravega", "nth=: drop", "column 5: nth= is not a number"),
        ("pravega", "probability=0: drop", "probability=0: above 0, and 1 at most"),
        ("pravega", "probability=1.01: drop", "probability=1.01: above 0, and 1 at most"),
        ("pravega", 'message = "Hello": drop', "column 9: '=' means nothing here (did you mean ==?)"),
        ("pravega", 'mesage == "Hello": drop', "column 1: no record has mesage (did you mean message?)"),
        (
            "pravega",
            'message == "DataApended": drop',
            "column 12: no message is called 'DataApended' (did you mean Data",
        ),
        (
            "pravega",
            "fields.event_numbr == 1: drop",
            "no record has fields.event_numbr (did you mean fields.event_number",
        ),
        ("pravega", 'message == "Hello" and side == "sever": drop', "column 32: side is never 'sever' (did you mean"),
        (
            "pravega",
            'message == "DataAppended" and side == "client": drop',
            "the condition is never true of any message",
        ),
        ("pravega", 'kind == "problem": drop', "the condition is never true of any message"),
        ("pravega", ": set", "column 6: the end; expected a field"),
        ("pravega", ": set x", "column 8: a field, = and its value: the = is missing"),
        ("pravega", ": set x=scope", "column 9: 'scope'; expected a JSON value (text in quotes)"),
        ("pravega", ": set x=1,", "column 11: the end; expected a field"),
        ("pravega", ": set request_id=1, request_id=2", "request_id is set twice"),
        (
            "pravega",
            'message == "DataAppended": set event_numbr=1',
            "DataAppended: has no field 'event_numbr' (did you mean",
        ),
        (
            "pravega",
            'message == "DataAppended": set event_number=9223372036854775808',
            "DataAppended.event_number: i64 takes a whole number from -9223372036854775808 to 92233720",
        ),
        ("pravega", 'message == "DataAppended": set event_number="1"', "takes a whole number from"),
        ("pravega", 'message == "DataAppended": set writer_id="me"', "DataAppended.writer_id: 'me' is not a UUID"),
        ("pravega", 'message == "DataAppended": set event_number.x=1', "DataAppended.event_number: has no 'x' in it"),
        (
            "pravega",
            'message == "UpdateTableEntries": set table_entries.entries.key=1',
            "entries: is a list: [0] is its first",
        ),
        ("pravega", 'message == "UpdateTableEntries": set table_entries[0]=1', "table_entries: is not a list"),
        ("pravega", ": set nonsense=1", "has no field 'nonsense' (and so for all"),
        ("pravega", 'message == "Unknown": set type=1', "Unknown: has no declared fields"),
        ("pravega", ": wrong checksum", "frames of pravega have no checksum"),
        ("pravega", 'message == "ReadSegment": answer', "column 33: the end; expected the name of a message"),
        (
            "pravega",
            'message == "ReadSegment": answer NoSuchSegmnt',
            "the server of pravega sends no NoSuchSegmnt (did you mean",
        ),
        ("pravega", 'message == "ReadSegment": answer SetupAppend', "the server of pravega sends no SetupAppend"),
        (
            "pravega",
            'message == "ReadSegment": answer NoSuchSegment segmnt="x"',
            "NoSuchSegment: has no field 'segmnt' (did",
        ),
        (
            "pravega",
            'message == "Hello" and side == "client": answer NoSuchSegment',
            "NoSuchSegment.request_id: is missing",
        ),
        ("pravega", 'message == "KeepAlive": stale epoch', "KeepAlive: has no epoch"),
        ("pravega", 'message == "KeepAlive": stale offset', "KeepAlive: has no offset"),
        ("pravega-draft", ": stale epoch", "has no epoch"),
        ("offramp", ": stale epoch", "has no epoch"),
        ("offramp", ": wrong checksum", "frames of offramp have no checksum"),
        ("offramp", 'message == "HandshakeRequest": wrong length', "is not a frame and has no length"),
        ("offramp", 'message == "HandshakeRequest": set road="x"', "road follows from target and headers"),
        ("offramp", 'message == "COMMIT": set offsets["x"]=1', 'COMMIT.offsets: "x" names no partition'),
        ("offramp", 'message == "MESSAGE": set offset=true', "MESSAGE.offset: expected a whole number, got true"),
        (
            "sbp",
            f"{BEAT}: set status=1",
            "HEARTBEAT: has no field 'status' that can be set (did you mean header.fields.status?)",
        ),
        (
            "sbp",
            f"{BEAT}: set steam_id=1",
            "HEARTBEAT: has no field 'steam_id' that can be set (did you mean stream_id?)",
        ),
        ("sbp", f"{BEAT}: set opcode=1", "HEARTBEAT: has no field 'opcode' that can be set"),
        ("sbp", f"{BEAT}: set flags.x=1", "HEARTBEAT: has nothing in flags"),
        ("sbp", f"{BEAT}: set flags=256", "HEARTBEAT.flags: u8 takes a whole number from 0 to 255"),
        ("sbp", f'{BEAT}: set checksum="0"', "HEARTBEAT.checksum: expected 8 hex digits, got '0'"),
        ("sbp", f"{BEAT}: set header.status=1", "HEARTBEAT.header: has fields, by header.fields.NAME, or raw_hex"),
        ("sbp", f"{BEAT}: set header.fields.staus=1", "has no field 'staus' (did you mean status?)"),
        ("sbp", f"{BEAT}: set header=1", "HEARTBEAT.header: expected an object"),
        (
            "sbp",
            'message == "PING" and side == "client": set header.fields.x=1',
            "PING: has a header of no known fields",
        ),
        (
            "sbp",
            'message == "APPEND" and side == "client": answer APEND',
            "sbp has no operation APEND (did you mean APPEND?)",
        ),
        (
            "sbp",
            'message == "APPEND" and side == "client": answer APPEND header.fields.throttle_time_ms=1',
            "APPEND.header.status: is required and missing",
        ),
        (
            "pravega-controller",
            'message == "Headers": set end_stream=true',
            "its content is required to read later headers",
        ),
        ("pravega-controller", 'message == "createScope": answer getURI', "is answered by createScope, not by getURI"),
        ("pravega-controller", 'message == "Headers": answer createScope', "Headers: is not a message of a call"),
        ("pravega-controller", 'message == "Preface": wrong length', "is not a frame and has no length"),
        ("pravega", f"{'x' * (limits.FAULT_RULE_CHARACTERS_MAX + 1)}", "characters, 65536 at most"),
    ],
)
def test_each_mistake_is_told(protocol: str, text: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_rule(text, protocols=[protocol], origin="--fault")
    assert why in str(caught.value)
    assert str(caught.value).startswith(f"--fault {text[:200]!r}"[:180])


def test_an_unknown_protocol() -> None:
    with pytest.raises(UsageError, match="no protocol is called 'pravga'"):
        parse_rule(": drop", protocols=["pravga"])


@given(st.text(st.sampled_from("abc:=\"'[]{}0123., nthsdrop\\"), max_size=30))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        rule = parse_rule(text, protocols=["pravega", "sbp"])
    except UsageError:
        return
    assert parse_rule(rule.text, protocols=["pravega", "sbp"]) == rule


def test_which_of_the_frames() -> None:
    rng = random.Random(1)
    counts = range(1, 8)
    assert [When().fits(count, rng) for count in counts] == [True] * 7
    assert [count for count in counts if When("nth", 3).fits(count, rng)] == [3]
    assert [count for count in counts if When("every", 3).fits(count, rng)] == [3, 6]
    assert all(When("probability", 1).fits(count, rng) for count in counts)
    some = [When("probability", 0.5).fits(count, rng) for count in range(1_000)]
    assert 400 < sum(some) < 600
