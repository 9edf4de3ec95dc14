"""Recorded conversations with Pravega's store are spoken again to a mock: nothing differs, or what does is found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import HERE, SHARED
from tests.replay.liars import Liar
from tests.replay.stage import START_NS, Replayed, replay
from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Message
from wiretool.protocols.pravega.replay.initial_state import past_of
from wiretool.protocols.pravega.replay.state import Before
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.structures import TableEntries, TableEntry, TableKey, TableValue
from wiretool.protocols.pravega.tables import CreateTableSegment, UpdateTableEntries
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.recording import recording_of
from wiretool.server.options import MockOptions

OWN = HERE.parent / "captures" / "pravega"
ELSEWHERE = ("pravega-rust-client", "pravega-server", "pravega-server/probes")
#: Key-value tables and conditional appends by the Java client, and what its controller does meanwhile.
JAVA = "java_conditional.pcap"
#: Verdicts that say that there was nothing to say.
WELL = {Verdict.SAME, Verdict.MAPPED, Verdict.NOISE, Verdict.EXPLAINED}


def captures() -> list[Path]:
    """Every capture that is at hand, each name once."""
    found: dict[str, Path] = {}
    for folder in (OWN, *(SHARED / "captures" / name for name in ELSEWHERE)):
        for path in sorted(folder.glob("*.pcap*")):
            found.setdefault(path.name, path)
    return list(found.values())


def mock_options(path: Path) -> MockOptions:
    """The options of a mock that is such a server as was recorded."""
    return manners()["pravega"].mock_options(recording_of(read_packets([path])), MockOptions())


def told(replayed: Replayed) -> list[str]:
    """The findings, as a person would want to read them in a failing test."""
    return [
        f"{found.verdict.name} {found.request and found.request.message} {found.differences[:3]} {found.reasons}"
        for found in replayed.findings
    ]


def replay_alone(path: Path, mock: PravegaMock | None = None) -> Replayed:
    """A replay in which nobody calls the controller: what it did to the store is done in its place."""
    mocks = None if mock is None else {"pravega": mock}
    return replay(path, mocks=mocks, every={"pravega": manners()["pravega"]})


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_a_capture_is_spoken_again(path: Path) -> None:
    """With the calls to its controller."""
    assert told(replay(path)) == []


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_a_capture_is_spoken_again_to_a_store_alone(path: Path) -> None:
    assert told(replay_alone(path)) == []


def test_what_is_explained_has_a_reason() -> None:
    for outcome in replay_alone(OWN / "java_scale.pcap.gz").outcomes:
        assert outcome.verdict in WELL or outcome.reasons


# -- a server in another state -----------------------------------------------------------------------------------------


def older_mock(path: Path) -> PravegaMock:
    """A mock that has every segment that the recording takes for granted, but longer, and tables with other entries."""
    mock = PravegaMock(wire_version=mock_options(path).wire_version or 16)
    recording = recording_of(read_packets([path]))
    for before in past_of(recording.without(recording.of("pravega-controller"))).before.values():
        (_make_table if before.is_table else _make_segment)(mock, before)
    return mock


def _make_segment(mock: PravegaMock, before: Before) -> None:
    segment = mock.store.segments.create_segment(before.name, START_NS)
    mock.store.segments.append(segment, b"what was there before" * 50, START_NS)
    segment.attributes |= dict.fromkeys(list(before.attributes)[:1], 1_000_000)


def _make_table(mock: PravegaMock, before: Before) -> None:
    name = before.name
    mock.store.ask(CreateTableSegment(request_id=1, segment=name, key_length=before.key_length), START_NS)
    keys = (*before.entries, *before.absent)
    entries = tuple(TableEntry(key=TableKey(data=key), value=TableValue(data=b"another")) for key in keys)
    if entries:
        entry = TableEntries(entries=entries)
        mock.store.ask(UpdateTableEntries(request_id=2, segment=name, table_entries=entry), START_NS)


@pytest.mark.parametrize(
    "name", ["write.pcap", "read.pcap", "txn.pcap", "reconnect.pcap", "py_bytestream.pcap", JAVA, "java_scale.pcap.gz"]
)
def test_a_server_in_another_state_will_do(name: str) -> None:
    replayed = replay_alone(OWN / name, older_mock(OWN / name))
    assert told(replayed) == []
    assert any(outcome.verdict is Verdict.MAPPED for outcome in replayed.outcomes)


def test_a_replay_can_be_done_twice_to_one_server() -> None:
    """The second run finds segments that are longer, and writers that have appended all of it."""
    mock = PravegaMock(wire_version=17)
    for _ in range(2):
        assert told(replay_alone(OWN / "write.pcap", mock)) == []


# -- what is wrong is found --------------------------------------------------------------------------------------------


def changed(**fields: Callable[[Any], Any]) -> Callable[[Message], Message]:
    return lambda message: msgspec.structs.replace(
        message, **{name: change(getattr(message, name)) for name, change in fields.items()}
    )


def one_more(value: int) -> int:
    return value + 1


def other_last(data: bytes) -> bytes:
    return data[:-1] + bytes((data[-1] ^ 1,))


LIES = [
    ("write.pcap", "DataAppended", 700, changed(current_segment_write_offset=one_more)),
    ("write.pcap", "DataAppended", 0, changed(current_segment_write_offset=one_more)),
    ("write.pcap", "DataAppended", 700, changed(previous_event_number=one_more)),
    ("write.pcap", "DataAppended", 700, changed(previous_event_number=lambda number: 77)),
    ("write.pcap", "DataAppended", 700, changed(event_number=one_more)),
    ("write.pcap", "DataAppended", 999, changed(request_id=one_more)),
    ("write.pcap", "AppendSetup", 0, changed(last_event_number=one_more)),
    ("read.pcap", "SegmentRead", 0, changed(data=other_last)),
    ("read.pcap", "SegmentRead", 0, changed(at_tail=lambda flag: not flag)),
    ("read.pcap", "TableEntriesDeltaRead", 0, changed(should_clear=lambda flag: not flag)),
    ("read.pcap", "SegmentDeleted", 0, changed(segment=lambda name: name + "x")),
    ("py_bytestream.pcap", "SegmentIsTruncated", 0, changed(start_offset=one_more)),
    ("py_bytestream.pcap", "ConditionalCheckFailed", 0, changed(event_number=one_more)),
    (JAVA, "SegmentAttribute", 1, changed(value=one_more)),
    (JAVA, "TableRead", 5, lambda message: None),
    ("java_scale.pcap.gz", "SegmentIsSealed", 0, changed(offset=one_more)),
]


@pytest.mark.parametrize(("name", "message", "skip", "lie"), LIES, ids=[f"{lie[0]}-{lie[1]}" for lie in LIES])
def test_one_wrong_field_is_found(name: str, message: str, skip: int, lie: Any) -> None:
    liar = Liar(message, lie, skip=skip, wire_version=mock_options(OWN / name).wire_version or 16)
    replayed = replay_alone(OWN / name, liar)
    assert liar.has_lied
    assert replayed.findings


def test_a_wrong_field_is_the_one_difference() -> None:
    liar = Liar("DataAppended", changed(current_segment_write_offset=one_more), skip=500, wire_version=17)
    (found,) = replay_alone(OWN / "write.pcap", liar).findings
    assert found.verdict is Verdict.DIFFERENT
    assert [(each.steps, each.live - each.expected) for each in found.differences] == [
        (("current_segment_write_offset",), 1)
    ]


# -- recordings that are not whole -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["read.pcap", "txn.pcap", "reconnect.pcap", JAVA, "py_bytestream.pcap"])
@pytest.mark.parametrize("part", [slice(0, 60), slice(100, None), slice(70, 160)], ids=["end", "beginning", "both"])
def test_a_part_of_a_recording_is_spoken_again(name: str, part: slice, tmp_path: Path) -> None:
    path = tmp_path / "part.pcap"
    write_pcap(path, OWN / name, lambda at, count: at in range(*part.indices(count)))
    assert told(replay(path)) == []
    assert told(replay_alone(path)) == []


@pytest.mark.parametrize("name", ["read.pcap", "txn.pcap", "write.pcap", "py_bytestream.pcap"])
@pytest.mark.parametrize("lost", [37, 53, 61])
def test_holes_are_no_findings(name: str, lost: int, tmp_path: Path) -> None:
    path = tmp_path / "holes.pcap"
    write_pcap(path, OWN / name, lambda at, count: at % lost != lost - 1)
    assert told(replay(path)) == []
    assert told(replay_alone(path)) == []


def write_pcap(path: Path, source: Path, is_kept: Callable[[int, int], bool]) -> None:
    """Some of the packets of a capture, as they stand in the file."""
    data = source.read_bytes()
    assert data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"), "these captures are little-endian"
    packets, at = [], 24
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        packets.append(data[at:end])
        at = end
    kept = [packet for at, packet in enumerate(packets) if is_kept(at, len(packets))]
    path.write_bytes(data[:24] + b"".join(kept))
