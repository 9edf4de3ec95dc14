"""Servers that contradict what clients did to them: a replay finds each lie, and so do `--against` and `diff`."""

import pytest

from tests.conftest import HERE
from tests.protocols.pravega.replay.test_known_differences import APPENDS, append, creating, recorded, setting_up
from tests.protocols.pravega.replay.test_replay import told
from tests.protocols.pravega.server.talk import SEGMENT, WRITER
from tests.replay.liars import Liar
from tests.replay.lies import Lie, changed, find_beside_honest, find_in_diff, find_in_replay, play, server_of
from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.protocols.pravega.failures import NoSuchSegment, SegmentIsSealed
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import DataAppended, ReadSegment, SegmentRead
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.compare_servers import grid
from wiretool.replay.diff.comparing import compare
from wiretool.replay.recording import recording_of
from wiretool.server.mock import Action, Send

OWN = HERE.parent / "captures" / "pravega"


def recording_in(name: str) -> Recording:
    return recording_of(read_packets([OWN / name]))


@pytest.mark.parametrize("name", ["write.pcap", "txn.pcap", "java_scale.pcap.gz", "java_write_sync.pcap"])
def test_offsets_in_a_segment_that_the_recording_creates_are_not_shifted(name: str) -> None:
    """Neither is a shift learnt from the first ack, nor from all of them."""
    recording = recording_in(name)
    lie = changed(current_segment_write_offset=lambda offset: offset + 8)
    for found in (
        find_in_replay(recording, "DataAppended", lie),
        find_in_replay(recording, "DataAppended", lie, prepare=False),
        find_in_diff(recording, "DataAppended", lie),
    ):
        (first, *_) = found[0].differences
        assert (first.steps, first.live - first.expected) == (("current_segment_write_offset",), 8)
    assert find_beside_honest(recording, "DataAppended", lie)


# -- reads -------------------------------------------------------------------------------------------------------------

FOREIGN = "foreign/stream/9.#epoch.0"
READS = [*APPENDS, ReadSegment(segment=SEGMENT, offset=0, suggested_length=100, request_id=6)]
#: What a read says, and the fields in which that is found.
READ_LIES: dict[str, tuple[Lie, set[str]]] = {
    "all at once": (
        changed(data=bytes(4), segment=FOREIGN, offset=4096, end_of_segment=True),
        {"segment", "offset", "end_of_segment"},
    ),
    "zeros after the end": (changed(data=lambda data: data + bytes(8)), {"data"}),
    "another segment and less": (changed(data=lambda data: data[:-8], segment=FOREIGN), {"segment"}),
    "an end and less": (changed(data=lambda data: data[:-8], end_of_segment=True), {"end_of_segment"}),
    "an end of an open segment": (changed(end_of_segment=True), {"end_of_segment"}),
}


@pytest.mark.parametrize("case", READ_LIES.values(), ids=[name.replace(" ", "-") for name in READ_LIES])
def test_a_read_that_contradicts_the_segment_is_found(case: tuple[Lie, set[str]]) -> None:
    lie, fields = case
    recording = recorded(READS)
    assert told(play(recording, PravegaMock())) == []
    for found in (find_in_replay(recording, "SegmentRead", lie), find_in_diff(recording, "SegmentRead", lie)):
        (finding,) = found
        assert fields <= {each.steps[0] for each in finding.differences}
    assert find_beside_honest(recording, "SegmentRead", lie)


def test_a_read_of_real_traffic_that_is_about_another_segment_is_found() -> None:
    recording = recording_in("read.pcap")
    lie, fields = READ_LIES["all at once"]
    for found in (find_in_replay(recording, "SegmentRead", lie), find_in_diff(recording, "SegmentRead", lie)):
        assert found
        assert all(fields <= {each.steps[0] for each in finding.differences} for finding in found)
    assert find_beside_honest(recording, "SegmentRead", lie)


def test_a_shorter_read_is_no_finding() -> None:
    """A store brings what it has at hand; what is not at its tail may be."""
    recording = recorded(READS)
    lie = changed(data=lambda data: data[:-8], at_tail=False)
    assert not find_in_replay(recording, "SegmentRead", lie)
    assert not find_in_diff(recording, "SegmentRead", lie)


# -- reads in segments that were unloaded ------------------------------------------------------------------------------

TAIL = ReadSegment(segment=SEGMENT, offset=48, suggested_length=100, request_id=6)
EMPTY = SegmentRead(segment=SEGMENT, offset=48, at_tail=True, end_of_segment=False, data=b"", request_id=6)


class Unloading(PravegaMock):
    """A store that ends a read at the tail before the next append."""

    def __init__(self, reply: SegmentRead) -> None:
        super().__init__()
        self._reply = reply

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        actions = list(super().received(connection, data, now_ns))
        if b"what is appended" not in data:
            return actions
        kept = [each for each in actions if isinstance(each, Send) and b"what is appended" not in each.data]
        return [Send(connection, encode(self._reply, "server")), *kept]


def unloaded(*, after_s: float = 100) -> Recording:
    """A read that waits at the tail, ends with nothing because its segment is unloaded, and an append after that."""
    mock = Unloading(EMPTY)
    return recorded([*APPENDS, TAIL, append(4, b"what is appended")], mock, late_ns=round(after_s * 1e9))


def test_a_read_that_was_unloaded_may_wait_for_what_is_appended() -> None:
    replayed = play(unloaded(), PravegaMock())
    assert told(replayed) == []
    (read,) = (each for each in replayed.outcomes if each.request and each.request.message == "ReadSegment")
    assert read.verdict is Verdict.EXPLAINED
    assert f"record {read.recorded[0].n}" in read.reasons[0]


@pytest.mark.parametrize(
    "lie",
    [
        changed(data=b"what nobody said"),
        changed(data=b"what is appended and more"),
        changed(segment=FOREIGN),
        lambda read: NoSuchSegment(request_id=6, segment=SEGMENT, offset=48),
        lambda read: SegmentIsSealed(request_id=6, segment=SEGMENT, offset=48),
    ],
    ids=["other bytes", "more bytes", "another segment", "missing", "sealed"],
)
def test_a_read_that_was_unloaded_is_judged_by_what_was_appended(lie: Lie) -> None:
    recording = unloaded()
    assert find_in_replay(recording, "SegmentRead", lie)
    assert find_beside_honest(recording, "SegmentRead", lie)
    assert find_in_diff(recording, "SegmentRead", lie)


def test_a_read_that_was_unloaded_is_answered_when_there_is_something() -> None:
    (finding,) = play(unloaded(), Liar("SegmentRead", lambda read: None)).findings
    assert finding.verdict is Verdict.MISSING


def test_a_read_that_waited_shortly_was_not_unloaded() -> None:
    assert play(unloaded(after_s=20), PravegaMock()).findings


def test_a_live_store_unloads_nothing_at_once() -> None:
    """However long the recorded read took."""
    recording = recorded(READS, late_ns=100_000_000_000)
    assert find_in_replay(recording, "SegmentRead", changed(data=b"", at_tail=True))


# -- bytes that a recording lacks --------------------------------------------------------------------------------------


def torn() -> Recording:
    """Return a recording of one writer that lacks one of its appends, near the end."""
    packets = list(read_packets([OWN / "write.pcap"]))
    records = recording_of(packets).of("pravega")
    appends = [each for dialogue in records for each in dialogue.records if each.message == "AppendBlockEnd"]
    lost = appends[len(appends) * 9 // 10].packets[0]
    return recording_of(packet for packet in packets if packet.number != lost)


def test_a_lost_packet_hides_no_ack_that_others_contradict() -> None:
    recording = torn()
    assert told(play(recording, PravegaMock(**server_of(recording)))) == []
    lie = changed(current_segment_write_offset=12345)
    assert len(find_in_replay(recording, "DataAppended", lie)) > 900
    assert len(find_beside_honest(recording, "DataAppended", lie)) > 900
    assert len(find_in_diff(recording, "DataAppended", lie)) > 900


@pytest.mark.parametrize(
    "lie",
    [changed(event_number=lambda number: number + 1), changed(current_segment_write_offset=lambda end: end + 4096)],
    ids=["number", "place"],
)
def test_after_a_lost_packet_acks_are_judged_by_what_it_cannot_have_changed(lie: Lie) -> None:
    recording = torn()
    skip = 950
    assert find_in_replay(recording, "DataAppended", lie, skip=skip)
    assert find_in_diff(recording, "DataAppended", lie, skip=skip)


# -- short connections -------------------------------------------------------------------------------------------------


class Repeating(PravegaMock):
    """A store that acknowledges an append also where its number is a repeated one."""

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        actions = list(super().received(connection, data, now_ns))
        if not actions and b"repeated" in data:
            told = DataAppended(
                writer_id=WRITER,
                event_number=1,
                previous_event_number=0,
                request_id=2,
                current_segment_write_offset=24,
            )
            actions.append(Send(connection, encode(told, "server")))
        return actions


def test_a_repeated_append_that_is_acknowledged_is_found_on_the_shortest_connection() -> None:
    says = [*creating(SEGMENT), *setting_up(), append(1), append(1, b"repeated")]
    recording = recorded(says)
    honest = play(recording, PravegaMock())
    assert told(honest) == []
    lying = play(recording, Repeating())
    (finding,) = lying.findings
    assert finding.verdict is Verdict.EXTRA
    assert list(grid(honest.outcomes, lying.outcomes))
    (finding,) = (
        each for each in compare(recording, recorded(says, Repeating()), manners()) if each.verdict.is_finding
    )
    assert finding.verdict is Verdict.EXTRA


def test_an_append_that_the_recording_ends_with_may_be_acknowledged() -> None:
    says = [*creating(SEGMENT), *setting_up(), append(1), append(2)]
    recording = recorded(says, Liar("DataAppended", lambda ack: None, skip=1))
    replayed = play(recording, PravegaMock())
    assert told(replayed) == []
    assert Verdict.UNKNOWN in {each.verdict for each in replayed.outcomes}
