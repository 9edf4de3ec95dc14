"""What may differ in a conversation with Pravega's store: each excuse beside what it does not excuse."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import pytest

from tests.helpers.captures import tcp_packets
from tests.protocols.pravega.server.talk import OTHER, SEGMENT, WRITER
from tests.replay.liars import Liar
from tests.replay.stage import START_NS, Replayed, Stage
from wiretool.analysis.dialogues import Recording
from wiretool.capture.tcp.stream_events import Side
from wiretool.codec.message import Message
from wiretool.protocols.pravega.failures import AuthTokenCheckFailed, NoSuchSegment, WrongHost
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import (
    AppendBlockEnd,
    ConditionalAppend,
    Hello,
    ReadSegment,
    SetupAppend,
)
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    GetStreamSegmentInfo,
    MergeSegments,
    MergeSegmentsBatch,
    SegmentsMerged,
)
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.structures import InnerEvent, TableEntries, TableEntry, TableKey, TableValue
from wiretool.protocols.pravega.tables import CreateTableSegment, ReadTableEntriesDelta, UpdateTableEntries
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.diff.comparing import compare
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of
from wiretool.server.mock import Send

THIRD = "scope/stream/2.#epoch.0"
TABLE = "scope/table/0.#epoch.0"
Lie = Callable[[Any], Message | None]


def recorded(says: Iterable[Message], mock: PravegaMock | None = None, *, late_ns: int = 0) -> Recording:
    """A conversation with a store, as a capture has it; all behind the last request comes so much later."""
    server = mock or PravegaMock()
    server.opened(1, "store", START_NS)
    said: list[tuple[Side, bytes]] = []
    for message in (Hello(high_version=16, low_version=5), *says):
        raw = encode(message, "client")
        said.append(("client", raw))
        said += [("server", each.data) for each in server.received(1, raw, START_NS) if isinstance(each, Send)]
    packets = tcp_packets(said, server=("10.0.0.2", 12345), acks=False)
    last = 4 + max(at for at, (side, _) in enumerate(said) if side == "client")  # behind the handshake
    return recording_of(
        packet._replace(time_ns=packet.time_ns + late_ns) if packet.number > last else packet for packet in packets
    )


def played(recording: Recording, mock: PravegaMock | None = None) -> Replayed:
    known = manners()
    script = script_of(recording, known)
    player = Player(script, known, prepare=recording)
    Stage(player, {"pravega": mock or PravegaMock()}).play()
    return Replayed(recording, script, player.outcomes(), player)


def changed(**fields: Any) -> Lie:
    return lambda message: msgspec.structs.replace(message, **fields)


def creating(*names: str) -> list[Message]:
    return [
        CreateSegment(request_id=at, segment=name, target_rate=0, scale_type=0) for at, name in enumerate(names, 100)
    ]


def setting_up(segment: str = SEGMENT) -> list[Message]:
    return [SetupAppend(request_id=1, writer_id=WRITER, segment=segment)]


def append(number: int, data: bytes = bytes(16)) -> Message:
    return AppendBlockEnd(
        writer_id=WRITER,
        size_of_whole_events=len(data),
        data=data,
        num_events=1,
        last_event_number=number,
        request_id=2,
    )


def conditional(number: int, offset: int) -> Message:
    event = InnerEvent(data=b"event")
    return ConditionalAppend(writer_id=WRITER, event_number=number, expected_offset=offset, event=event, request_id=3)


def merge(source: str = OTHER) -> Message:
    return MergeSegments(request_id=4, target=SEGMENT, source=source)


APPENDS = [*creating(SEGMENT), *setting_up(), append(1), append(2), append(3)]
MERGES = [*creating(SEGMENT, OTHER), *setting_up(OTHER), append(1), merge(), merge()]
BATCH = [
    *creating(SEGMENT, OTHER, THIRD),
    *setting_up(OTHER),
    append(1),
    *setting_up(THIRD),
    append(1),
    MergeSegmentsBatch(request_id=5, target_segment_id=SEGMENT, source_segment_ids=(OTHER, THIRD)),
]
ENTRY = TableEntry(key=TableKey(data=b"key"), value=TableValue(data=b"value"))
PAGES = [
    CreateTableSegment(request_id=1, segment=TABLE),
    UpdateTableEntries(request_id=2, segment=TABLE, table_entries=TableEntries(entries=(ENTRY,))),
    ReadTableEntriesDelta(request_id=3, segment=TABLE, from_position=25, suggested_entry_count=9),
]
ASKED = [*creating(SEGMENT), GetStreamSegmentInfo(request_id=7, segment_name=SEGMENT)]
READ = [*APPENDS, ReadSegment(segment=SEGMENT, offset=0, suggested_length=100, request_id=6)]


def told_first(**fields: Any) -> Lie:
    """Tells the first of the merged segments otherwise."""

    def lie(message: Any) -> Message:
        first, *others = message.merged
        told: Message = msgspec.structs.replace(message, merged=(msgspec.structs.replace(first, **fields), *others))
        return told

    return lie


FOUND: list[tuple[str, Sequence[Message], str, int, Lie]] = [
    ("an ack that does not come", APPENDS, "DataAppended", 0, lambda message: None),
    (
        "a refusal that does not come",
        [*creating(SEGMENT), *setting_up(), conditional(1, 7), conditional(2, 0)],
        "ConditionalCheckFailed",
        0,
        lambda message: None,
    ),
    ("a merge at another place", MERGES, "SegmentsMerged", 0, changed(new_target_write_offset=17)),
    ("a merge into another", MERGES, "SegmentsMerged", 0, changed(target=THIRD)),
    ("a merge that is none", MERGES, "SegmentsMerged", 0, lambda m: NoSuchSegment(request_id=4, segment=m.source)),
    ("a batch of others", BATCH, "SegmentsBatchMerged", 0, told_first(source="another")),
    ("a batch at another place", BATCH, "SegmentsBatchMerged", 0, told_first(new_target_write_offset=17)),
    ("a read without bytes", READ, "SegmentRead", 0, changed(data=b"", at_tail=True)),
    ("a page that goes on elsewhere", PAGES, "TableEntriesDeltaRead", 0, changed(last_position=7)),
]


@pytest.mark.parametrize(
    ("says", "name", "skip", "lie"), [each[1:] for each in FOUND], ids=[each[0].replace(" ", "-") for each in FOUND]
)
def test_it_is_the_one_finding(says: Sequence[Message], name: str, skip: int, lie: Lie) -> None:
    recording = recorded(says)
    assert not played(recording).findings
    liar = Liar(name, lie, skip=skip)
    (finding,) = played(recording, liar).findings
    assert liar.has_lied
    assert finding.verdict in (Verdict.DIFFERENT, Verdict.MISSING)


EXCUSED: list[tuple[str, Sequence[Message], str, int, Lie, Verdict]] = [
    (
        "merged before",
        MERGES,
        "NoSuchSegment",
        0,
        lambda m: SegmentsMerged(request_id=4, target=SEGMENT, source=OTHER, new_target_write_offset=16),
        Verdict.EXPLAINED,
    ),
    ("merged at once", BATCH, "SegmentsBatchMerged", 0, told_first(new_target_write_offset=32), Verdict.EXPLAINED),
    ("a page that stays", PAGES, "TableEntriesDeltaRead", 0, changed(last_position=25), Verdict.EXPLAINED),
    (
        "another host",
        ASKED,
        "StreamSegmentInfo",
        0,
        lambda m: WrongHost(request_id=7, segment=SEGMENT, correct_host=""),
        Verdict.EXPLAINED,
    ),
    (
        "another token",
        ASKED,
        "StreamSegmentInfo",
        0,
        lambda m: AuthTokenCheckFailed(request_id=7, error_code=0),
        Verdict.EXPLAINED,
    ),
]


@pytest.mark.parametrize(
    ("says", "name", "skip", "lie", "verdict"),
    [each[1:] for each in EXCUSED],
    ids=[each[0].replace(" ", "-") for each in EXCUSED],
)
def test_it_is_excused(says: Sequence[Message], name: str, skip: int, lie: Lie, verdict: Verdict) -> None:
    replayed = played(recorded(says, Liar(name, lie, skip=skip)))
    assert not replayed.findings
    assert verdict in {outcome.verdict for outcome in replayed.outcomes}


def test_what_is_excused_as_another_message_is_not_as_another_field() -> None:
    refused = WrongHost(request_id=7, segment=SEGMENT, correct_host="")
    recording = recorded(ASKED, Liar("StreamSegmentInfo", lambda message: refused))
    other = msgspec.structs.replace(refused, segment=OTHER)
    (finding,) = played(recording, Liar("StreamSegmentInfo", lambda message: other)).findings
    assert [difference.steps for difference in finding.differences] == [("segment",)]


def test_a_read_that_has_bytes_does_not_end_because_its_segment_is_unloaded() -> None:
    """However long the recorded one took: a store has 60 s in which nobody uses a segment, and this one none."""
    empty = changed(data=b"", at_tail=True)
    for late_ns in (10_000_000_000, 100_000_000_000):
        (finding,) = played(recorded(READ, late_ns=late_ns), Liar("SegmentRead", empty)).findings
        assert {difference.steps for difference in finding.differences} >= {("data",)}


def test_a_comparison_of_two_recordings_finds_a_refusal_that_only_one_has() -> None:
    """A later ack does not stand for it, as it does for acks that are merged."""
    says = [*creating(SEGMENT), *setting_up(), conditional(1, 7), conditional(2, 0)]
    mute = recorded(says, Liar("ConditionalCheckFailed", lambda message: None))
    (finding,) = (each for each in compare(recorded(says), mute, manners()) if each.verdict.is_finding)
    assert finding.verdict is Verdict.MISSING
