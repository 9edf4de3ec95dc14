"""What each action comes to in each protocol, on real frames."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.bench.talk import Sent, frame, sbp_frame
from tests.faults.run import Run, said
from tests.helpers.frames import SAYINGS, talk
from wiretool.codec.message import Message, Side
from wiretool.faults import Cut, Deliver, Finish
from wiretool.faults.adapter import fault_adapter_of
from wiretool.filter.names import spelt
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp.messages import SbpFrame

WRITER = "6f1d2a9c-0b35-4c1e-9a77-1f2e3d4c5b6a"
SEGMENT = "scope/stream/0.#epoch.3"
READ = {"segment": SEGMENT, "offset": 40, "suggested_length": 100, "delegation_token": "t", "request_id": 9}
ACK = {"writer_id": WRITER, "event_number": 5, "previous_event_number": 4, "request_id": 5}


def message_of(protocol: str, side: Side, data: bytes) -> tuple[str, Any]:
    """Name and fields of one whole frame, and nothing wrong in it."""
    reading = PROTOCOLS[protocol].open(False).read(side, data, 0, len(data), 1)
    assert not reading.defects, reading.defects
    return reading.message, reading.fields


def through(protocol: str, rule: str, *sent: Sent) -> Run:
    """A run with one rule."""
    run = Run(protocol, rule)
    for side, data in sent:
        run.say(side, data)
    return run


# -- set, in any protocol ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name not in ("offramp", "pravega-controller")])
@given(data=st.data())
def test_a_field_set_to_what_it_is_changes_no_byte(name: str, data: st.DataObject) -> None:
    side, message = data.draw(SAYINGS[name]())
    raw = PROTOCOLS[name].encode(message, side)
    run = Run(name)
    run.say(side, raw)
    conversation = PROTOCOLS[name].open(True)
    conversation.read(side, raw, 0, len(raw), 1)
    assume(conversation.is_decided)  # else it is read, and written, by the first schema that fits
    assume(len(run.records) == 1)  # a frame that breaks the rules of its connection has a problem beside it
    (record,) = run.records
    dialect = fault_adapter_of(PROTOCOLS[name])
    form = dialect.form(record)
    names = [key for key in form if key != "opcode" and form[key] is not None]
    assume(names and (side, record.message) in dialect.kinds)
    field = data.draw(st.sampled_from(names))
    rule = f'message == "{record.message}" and side == "{side}": set {spelt((field,))}={json.dumps(form[field])}'
    again = through(name, rule, Sent(side, raw))
    assert again.hits() == 1
    assert again.bytes_from(side) == raw


# -- Pravega -----------------------------------------------------------------------------------------------------------


def test_the_third_of_a_message_is_changed() -> None:
    rule = 'message == "DataAppended" nth=3: set previous_event_number=77'
    run = Run("pravega", rule).talk(talk("pravega"))
    acks = [data for data in run.frames_from("server") if message_of("pravega", "server", data)[0] == "DataAppended"]
    numbers = [message_of("pravega", "server", data)[1].previous_event_number for data in acks]
    assert numbers == [0, 1, 77, *range(3, 28)]
    assert run.hits() == 1
    assert run.bytes_from("client") == b"".join(said(talk("pravega"), "client"))


def test_a_field_inside_others_is_changed() -> None:
    entry = {"key": {"data": "01", "key_version": 3}, "value": {"data": "02"}}
    update = {"request_id": 1, "segment": SEGMENT, "table_entries": {"entries": [entry, entry]}}
    sent = frame("pravega", "client", "UpdateTableEntries", update)
    rule = 'message == "UpdateTableEntries": set table_entries.entries[1].key.data="ffee", segment="a/b/0"'
    run = through("pravega", rule, sent)
    _, message = message_of("pravega", "client", run.bytes_from("client"))
    assert [each.key.data for each in message.table_entries.entries] == [b"\1", b"\xff\xee"]
    assert message.segment == "a/b/0"


def test_a_place_that_a_message_does_not_have_leaves_it_as_it_is() -> None:
    update = {"request_id": 1, "segment": SEGMENT, "table_entries": {"entries": []}}
    sent = frame("pravega", "client", "UpdateTableEntries", update)
    rule = 'message == "UpdateTableEntries": set table_entries.entries[0].key.data="00"'
    run = through("pravega", rule, sent, sent)
    assert run.bytes_from("client") == sent.data * 2
    assert run.hits() == 0
    assert run.interceptor.standings[1].failures == 2
    (note,) = run.notes
    assert "cannot act on record 1: table_entries.entries: has 0 elements" in note


def test_bytes_behind_the_last_field_are_kept() -> None:
    ack = frame("pravega", "server", "KeepAlive", {})
    longer = Sent("server", ack.data[:4] + (3).to_bytes(4, "big") + b"\1\2\3")
    keep = frame("pravega", "server", "SegmentCreated", {"request_id": 1, "segment": "s"}).data
    with_more = keep[:4] + (len(keep) - 8 + 3).to_bytes(4, "big") + keep[8:] + b"\7\7\7"
    run = through("pravega", 'message == "SegmentCreated": set request_id=258', longer, Sent("server", with_more))
    expected = with_more[:8] + (258).to_bytes(8, "big") + with_more[16:]
    assert run.bytes_from("server") == longer.data + expected


def test_an_undecodable_frame_cannot_be_changed_but_dropped() -> None:
    broken = Sent("server", (7).to_bytes(4, "big") + (4).to_bytes(4, "big") + bytes(4))
    run = through("pravega", 'message == "DataAppended": set event_number=1', broken)
    assert run.bytes_from("server") == broken.data
    assert "is missing" in run.interceptor.standings[1].why
    assert through("pravega", 'message == "DataAppended": drop', broken).bytes_from("server") == b""


@pytest.mark.parametrize(("rule", "length"), [("wrong length", 9), ("wrong length -2", 6), ("wrong length 100", 108)])
def test_a_wrong_length(rule: str, length: int) -> None:
    sent = frame("pravega", "client", "Hello", {"high_version": 17, "low_version": 5})
    run = through("pravega", f": {rule}", sent)
    assert run.bytes_from("client") == sent.data[:4] + length.to_bytes(4, "big") + sent.data[8:]


def test_a_length_that_cannot_be() -> None:
    sent = frame("pravega", "client", "KeepAlive", {})
    run = through("pravega", ": wrong length -1", sent)
    assert run.bytes_from("client") == sent.data
    assert "a length of -1 does not fit 4 bytes" in run.interceptor.standings[1].why


def test_a_stale_epoch_and_a_stale_offset() -> None:
    read = frame("pravega", "client", "ReadSegment", READ)
    run = through("pravega", 'message == "ReadSegment": stale epoch 2', read)
    assert message_of("pravega", "client", run.bytes_from("client"))[1].segment == "scope/stream/0.#epoch.1"
    run = through("pravega", ": stale offset 15", read)
    assert message_of("pravega", "client", run.bytes_from("client"))[1].offset == 25
    merge = {"request_id": 1, "target_segment_id": SEGMENT, "source_segment_ids": [f"{SEGMENT}#transaction.a", "x"]}
    run = through("pravega", ": stale epoch", frame("pravega", "client", "MergeSegmentsBatch", merge))
    message = message_of("pravega", "client", run.bytes_from("client"))[1]
    assert message.target_segment_id == "scope/stream/0.#epoch.2"
    assert message.source_segment_ids == ("scope/stream/0.#epoch.2#transaction.a", "x")


@pytest.mark.parametrize("rule", [": stale epoch", ": stale offset"])
def test_what_is_at_its_lowest_stays(rule: str) -> None:
    read = frame("pravega", "client", "ReadSegment", READ | {"segment": "s/t/0.#epoch.0", "offset": 0})
    run = through("pravega", rule, read)
    assert run.bytes_from("client") == read.data
    assert "in it can be lower" in run.interceptor.standings[1].why


def test_a_request_is_answered_and_does_not_go_on() -> None:
    run = through(
        "pravega", 'message == "ReadSegment": answer NoSuchSegment', frame("pravega", "client", "ReadSegment", READ)
    )
    assert run.bytes_from("client") == b""
    name, message = message_of("pravega", "server", run.bytes_from("server"))
    assert (name, message.request_id, message.segment, message.offset) == ("NoSuchSegment", 9, SEGMENT, 40)


def test_what_is_given_goes_before_what_is_taken_over_and_names_may_differ() -> None:
    ask = frame("pravega", "client", "GetStreamSegmentInfo", {"request_id": 4, "segment_name": SEGMENT})
    rule = 'message == "GetStreamSegmentInfo": answer WrongHost correct_host="h:1", request_id=5'
    name, message = message_of("pravega", "server", through("pravega", rule, ask).bytes_from("server"))
    assert (name, message.request_id, message.segment, message.correct_host) == ("WrongHost", 5, SEGMENT, "h:1")


def test_a_reply_is_replaced() -> None:
    ack = frame("pravega", "server", "DataAppended", ACK)
    rule = 'message == "DataAppended": answer InvalidEventNumber'
    name, message = message_of("pravega", "server", through("pravega", rule, ack).bytes_from("server"))
    assert (name, message.writer_id, message.request_id, message.event_number) == ("InvalidEventNumber", WRITER, 5, 5)


def test_an_answer_waits_for_the_end_of_a_frame_that_is_under_way() -> None:
    run = Run("pravega", 'message == "ReadSegment": answer NoSuchSegment')
    ack = frame("pravega", "server", "DataAppended", ACK).data
    run.say("server", ack + ack[:10])
    run.say("client", frame("pravega", "client", "ReadSegment", READ).data)
    assert run.bytes_from("server") == ack + ack[:10]
    run.say("server", ack[10:] + ack[:3])
    frames = run.bytes_from("server")
    answer = frames[2 * len(ack) : -3]
    assert frames == ack + ack + answer + ack[:3]
    assert message_of("pravega", "server", answer)[0] == "NoSuchSegment"


# -- SBP ---------------------------------------------------------------------------------------------------------------

BEAT = {"client_id": "c", "client_role": 3}
SBP = ("sbp", "sbp-0.1")


def beat(protocol: str, side: Side, payload: bytes = b"") -> Sent:
    """A heartbeat; its answer has a status in the newest schema."""
    fields: Mapping[str, Any] = BEAT | (
        {"status": {"code": 1200, "message": "OK"}} if (protocol, side) == ("sbp", "server") else {}
    )
    table = "HeartbeatRequest" if side == "client" else "HeartbeatResponse"
    return sbp_frame(protocol, side, "HEARTBEAT", 7, table, fields, payload)


@pytest.mark.parametrize("protocol", SBP)
def test_a_field_of_a_header_is_changed(protocol: str) -> None:
    run = through(protocol, ': set header.fields.client_id="other", stream_id=8', beat(protocol, "client"))
    name, fields = message_of(protocol, "client", run.bytes_from("client"))
    assert name == "HEARTBEAT"
    assert fields["header"]["fields"]["client_id"] == "other"
    assert fields["stream_id"] == 8


def test_a_code_is_changed_and_what_is_beside_it_stays() -> None:
    rule = 'message == "HEARTBEAT" and side == "server": set header.fields.status.code=1201'
    run = through("sbp", rule, beat("sbp", "client"), beat("sbp", "server"))
    reading = PROTOCOLS["sbp"].open(False).read("server", run.bytes_from("server"), 0, len(run.bytes_from("server")), 1)
    assert isinstance(reading.fields, dict)
    assert reading.fields["header"]["fields"]["status"] == {"code": 1201, "message": "OK"}


@pytest.mark.parametrize("protocol", SBP)
def test_another_payload_has_its_own_checksum_unless_one_is_set(protocol: str) -> None:
    sent = beat(protocol, "client", b"abc")
    run = through(protocol, ': set payload.hex="00ff"', sent)
    assert message_of(protocol, "client", run.bytes_from("client"))[1]["payload"]["hex"] == "00ff"
    run = through(protocol, ': set payload.hex="00ff", checksum="00000000"', sent)
    assert run.bytes_from("client")[-6:] == b"\x00\xff\0\0\0\0"


@pytest.mark.parametrize("protocol", SBP)
def test_a_wrong_checksum(protocol: str) -> None:
    sent = beat(protocol, "client", b"abc")
    run = through(protocol, ": wrong checksum", sent)
    data = run.bytes_from("client")
    assert data[:-4] == sent.data[:-4]
    reading = PROTOCOLS[protocol].open(False).read("client", data, 0, len(data), 1)
    assert [defect.kind for defect in reading.defects] == ["checksum_mismatch"]


@pytest.mark.parametrize("protocol", SBP)
def test_a_wrong_length_of_a_frame(protocol: str) -> None:
    sent = beat(protocol, "client")
    run = through(protocol, ": wrong length 2", sent)
    assert run.bytes_from("client") == (len(sent.data) - 2).to_bytes(4, "big") + sent.data[4:]


def test_a_header_that_cannot_be_read_cannot_be_changed() -> None:
    spoken = PROTOCOLS["sbp"]
    raw = spoken.encode(SbpFrame(opcode=3, stream_id=1, header=b"\xff" * 9), "client")
    run = through("sbp", ': set header.fields.client_id="x"', Sent("client", raw))
    assert run.bytes_from("client") == raw
    assert "cannot be read" in run.interceptor.standings[1].why


def test_a_header_that_is_not_there_is_begun() -> None:
    raw = PROTOCOLS["sbp"].encode(SbpFrame(opcode=3, stream_id=1), "client")
    run = through("sbp", ': set header.fields.client_id="x"', Sent("client", raw))
    fields = message_of("sbp", "client", run.bytes_from("client"))[1]
    assert fields["header"]["fields"]["client_id"] == "x"


def test_a_request_of_sbp_is_answered() -> None:
    rule = 'message == "HEARTBEAT" and side == "client": answer HEARTBEAT header.fields.status.code=1300'
    run = through("sbp", rule, beat("sbp", "client"))
    assert run.bytes_from("client") == b""
    name, fields = message_of("sbp", "client", run.bytes_from("server"))
    assert (name, fields["flags"], fields["stream_id"]) == ("HEARTBEAT", 3, 7)
    assert fields["header"]["fields"]["status"]["code"] == 1300


def test_a_system_error_for_an_answer() -> None:
    rule = 'message == "HEARTBEAT" and side == "client": answer HEARTBEAT flags=7, header.fields.status.code=1300'
    fields = message_of("sbp", "client", through("sbp", rule, beat("sbp", "client")).bytes_from("server"))[1]
    assert fields["header"]["table"] == "SystemError"


def test_stale_in_a_range() -> None:
    asked = {"max_wait_ms": 1, "offset": 10, "range": {"stream_id": 1, "epoch": 4, "index": 0, "start": 5, "end": -1}}
    sent = sbp_frame("sbp", "client", "FETCH", 1, "FetchRequest", asked, b"")
    fields = message_of("sbp", "client", through("sbp", ": stale epoch", sent).bytes_from("client"))[1]
    assert fields["header"]["fields"]["range"]["epoch"] == 3
    fields = message_of("sbp", "client", through("sbp", ": stale offset 7", sent).bytes_from("client"))[1]
    inside = fields["header"]["fields"]
    assert (inside["offset"], inside["range"]["start"], inside["range"]["end"]) == (3, 0, -1)


def test_the_draft_has_offsets_too() -> None:
    ack = frame("pravega-draft", "server", "DataAppended", {"connection_id": WRITER, "connection_offset_ack_level": 8})
    run = through("pravega-draft", ": stale offset 3", ack)
    assert message_of("pravega-draft", "server", run.bytes_from("server"))[1].connection_offset_ack_level == 5


# -- everything that needs no fields -----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [*PROTOCOLS])
@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("delay 1ms", lambda data: data),
        ("stall 1ms", lambda data: data),
        ("duplicate 2", lambda data: data * 3),
        ("drop", lambda data: b""),
        ("reorder 1ms", lambda data: data),
        ("cut after 5", lambda data: data[:5]),
        ("cut after 0", lambda data: b""),
        ("cut after 100000", lambda data: data),
        ("reset", lambda data: b""),
    ],
)
def test_one_frame_alone(protocol: str, action: str, expected: Any) -> None:
    side, data = talk(protocol)[0]
    run = through(protocol, f": {action}", Sent(side, data))
    run.wait(5)
    assert run.bytes_from(side) == expected(data)
    assert run.hits() == (0 if action.startswith("reorder") else 1)
    cuts = {"cut": [Cut(0, is_abort=False)], "reset": [Cut(0, is_abort=True)]}
    assert run.endings == cuts.get(action.split(" ")[0], [])


def test_a_cut_goes_out_behind_the_bytes_before_it() -> None:
    run = Run("pravega", "nth=2: cut after 3")
    first, _, second = (sent.data for sent in talk("pravega")[:3])
    assert run.say("client", first + second) == [Deliver(0, "client", first + second[:3]), Cut(0, is_abort=False)]


def test_the_end_of_a_side_is_behind_what_is_delayed() -> None:
    run = Run("pravega", ": delay 5ms")
    first = talk("pravega")[0].data
    run.say("client", first)
    assert run.end("client") == []
    assert run.end("server") == [Finish(0, "server")]
    assert run.wait(5) == [Deliver(0, "client", first), Finish(0, "client")]


def test_sayings_cover_every_protocol() -> None:
    assert set(SAYINGS) == set(PROTOCOLS)
    assert all(issubclass(cls, Message) for spoken in PROTOCOLS.values() for cls in spoken.messages)
