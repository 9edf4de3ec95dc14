"""What is inferred of a store from what was recorded of it."""

from tests.helpers.captures import tcp_packets
from tests.replay import talks
from tests.replay.talks import SEGMENT, WRITER
from wiretool import limits
from wiretool.capture.tcp.stream_events import Side
from wiretool.codec.message import Message
from wiretool.protocols.pravega.failures import AuthTokenCheckFailed, NoSuchSegment, SegmentIsSealed
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import (
    AppendSetup,
    Hello,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega.replay.initial_state import past_of
from wiretool.protocols.pravega.replay.prepare import done
from wiretool.protocols.pravega.replay.state import Delete, Extend, Held, Past, Seal
from wiretool.protocols.pravega.segments import CreateSegment
from wiretool.protocols.pravega.structures import NONE_I64, TableEntries, TableEntry, TableKey, TableValue
from wiretool.protocols.pravega.tables import ReadTable, TableRead
from wiretool.replay.playing.id_map import Values
from wiretool.replay.recording import recording_of

TABLE = "scope/table/0.#epoch.0"
HELLO = Hello(high_version=17, low_version=5)


def past(*said: tuple[Side, Message]) -> Past:
    greeting: list[tuple[Side, Message]] = [("client", HELLO), ("server", HELLO)]
    frames = [(side, encode(message, side)) for side, message in (*greeting, *said)]
    return past_of(recording_of(tcp_packets(frames, server=("10.0.0.2", 12345))))


def set_up(last: int) -> list[tuple[Side, Message]]:
    asked = SetupAppend(request_id=1, writer_id=WRITER, segment=SEGMENT)
    told = AppendSetup(request_id=1, segment=SEGMENT, writer_id=WRITER, last_event_number=last)
    return [("client", asked), ("server", told)]


def append(number: int, data: bytes) -> tuple[Side, Message]:
    return "client", talks.block(number, data, request_id=number)


def ack(number: int, length: int) -> tuple[Side, Message]:
    return "server", talks.ack(number, length, request_id=number)


def read(offset: int, data: bytes) -> list[tuple[Side, Message]]:
    asked = ReadSegment(segment=SEGMENT, offset=offset, suggested_length=100, request_id=5)
    told = SegmentRead(segment=SEGMENT, offset=offset, at_tail=True, end_of_segment=False, data=data, request_id=5)
    return [("client", asked), ("server", told)]


def test_a_segment_was_as_long_as_an_ack_leaves_room_for() -> None:
    found = past(*set_up(41), append(42, b"0123456789"), ack(42, 1010)).before[SEGMENT]
    assert (found.length, found.attributes) == (1000, {WRITER: 41})


def test_old_contents_are_what_was_read() -> None:
    found = past(*read(3, b"3456"))
    assert found.before[SEGMENT].length == 7
    assert found.contents.fill(SEGMENT, 0, 7) == b"\0\0\x003456"


def test_what_somebody_else_appended_comes_before_it_is_read() -> None:
    found = past(*set_up(NONE_I64), append(1, b"ours"), ack(1, 4), *read(0, b"ours and theirs"))
    assert [*found.changes.values()] == [[Extend(SEGMENT, b" and theirs")]]


def test_of_very_much_that_somebody_else_appended_only_the_end_is_made() -> None:
    length = 2**60
    told = (*read(length, b"theirs"), *read(2 * length, b"more of theirs"))
    found = past(*set_up(NONE_I64), append(1, b"ours"), ack(1, 4), *told)
    made, (more,) = found.changes.values()
    assert more == Extend(SEGMENT, b"", length + 8)
    skipped = length + 2 - limits.REPLAY_OLD_BYTES_MAX
    assert made == [Extend(SEGMENT, bytes(limits.REPLAY_OLD_BYTES_MAX - 6) + b"theirs", skipped)]
    values = Values()
    values.shift("segment", SEGMENT, 10)
    next(done(made, values))
    assert values.shift_of("segment", SEGMENT) == 10 - skipped


def test_who_sealed_a_segment_need_not_be_recorded() -> None:
    refused = SegmentIsSealed(request_id=2, segment=SEGMENT, offset=2)
    found = past(*set_up(NONE_I64), append(1, b"ours"), ack(1, 4), append(2, b"more"), ("server", refused))
    assert [*found.changes.values()] == [[Seal(SEGMENT)]]
    assert not found.before[SEGMENT].is_sealed


def test_nor_who_deleted_it() -> None:
    asked = ReadSegment(segment=SEGMENT, offset=4, suggested_length=100, request_id=6)
    told = NoSuchSegment(request_id=6, segment=SEGMENT)
    found = past(*read(0, b"ours"), ("client", asked), ("server", told))
    assert [*found.changes.values()] == [[Delete(SEGMENT)]]


def test_what_was_never_there_is_not_made() -> None:
    asked = SetupAppend(request_id=1, writer_id=WRITER, segment=SEGMENT)
    told = NoSuchSegment(request_id=1, segment=SEGMENT)
    assert not past(("client", asked), ("server", told)).before


def test_an_append_that_the_server_never_took_is_left_out() -> None:
    found = past(*set_up(0), append(1, b"lost"), *set_up(0), append(1, b"lost"), ack(1, 4))
    assert len(found.unsaid) == 1


def test_a_change_that_was_refused_for_its_token_is_left_out() -> None:
    asked = CreateSegment(request_id=1, segment=SEGMENT, target_rate=0, scale_type=0)
    found = past(("client", asked), ("server", AuthTokenCheckFailed(request_id=1, error_code=0)))
    (why,) = found.unsaid.values()
    assert why == "the recorded server refused it (AuthTokenCheckFailed), this one would do it"


def test_entries_were_as_they_were_read() -> None:
    entry = TableEntry(key=TableKey(data=b"here", key_version=70), value=TableValue(data=b"value"))
    none = TableEntry(key=TableKey(data=b"gone", key_version=-1), value=TableValue(data=b""))
    asked = ReadTable(request_id=1, segment=TABLE, keys=(TableKey(data=b"here"), TableKey(data=b"gone")))
    told = TableRead(request_id=1, segment=TABLE, entries=TableEntries(entries=(entry, none)))
    found = past(("client", asked), ("server", told)).before[TABLE]
    assert (found.entries, found.absent) == ({b"here": Held(70, b"value")}, {b"gone"})
