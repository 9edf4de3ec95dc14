"""From any joint to any other one reads what the reading of the whole file gives there."""

import gzip
import os
import pickle
import random
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from struct import pack
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dissect.columns.made import HARMS, Spoken, packets_made
from tests.helpers.captures import (
    START_NS,
    block,
    interface,
    old_packet_block,
    packet_block,
    packets_of,
    pcap_bytes,
    pcapng_bytes,
    section,
    simple_packet_block,
    tcp_packets,
)
from wiretool.capture.columns.segments import read_segment_tables
from wiretool.capture.files import tables
from wiretool.capture.files.reading import read_packets
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.index import build as index_module
from wiretool.capture.index import window
from wiretool.capture.index.build import (
    NO_TIME,
    FileIndex,
    FileSegments,
    Joint,
    Span,
    extended,
    index_of,
    is_continued,
    read_range,
    read_span,
)
from wiretool.capture.index.cuts import cut_after
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.segments_of_packets import Segment, read_segments
from wiretool.errors import CaptureError, UsageError

CAPTURES = Path(__file__).parents[3] / "captures"
#: A segment, its turn and its mark.
Told = tuple[Segment, int, int]
CONNECTIONS = [Spoken("pravega"), Spoken("foreign", ipv6=True)]
EVERY = st.sampled_from([1, 300, 5000, 1 << 20])


@pytest.fixture(autouse=True)
def _small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "TABLE_PACKETS", 40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


def written(folder: Path, raw: bytes) -> Path:
    path = folder / "capture"
    path.unlink(missing_ok=True)  # another file, not the same one with other bytes
    path.write_bytes(raw)
    return path


def grown(path: Path, more: bytes) -> None:
    with path.open("ab") as file:
        file.write(more)


def noted_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes are read of files from now on."""
    read, chunks = [], window._chunks

    def noted(name: str, file: BinaryIO, at: int, end: int, size: int) -> Iterator[bytes]:
        for chunk in chunks(name, file, at, end, size):
            read.append(len(chunk))
            yield chunk

    monkeypatch.setattr(window, "_chunks", noted)
    return read


def told(parts: Iterable[FileSegments]) -> list[Told]:
    out: list[Told] = []
    for part in parts:
        every = part.table.segments(np.arange(len(part.table)))
        out += zip(every, part.turns.tolist(), part.marks.tolist(), strict=True)
    return out


def of_whole(path: Path) -> tuple[list[Segment], str]:
    """All segments of a file, and its damage."""
    found: list[Segment] = []
    try:
        for table in read_segment_tables(read_packet_tables([path])):
            found.extend(table.segments(np.arange(len(table))))
    except CaptureError as err:
        return found, str(err)
    return found, ""


def turns_of(path: Path) -> dict[int, int]:
    """The turn of each packet, by its number."""
    turns, turn_ns = {}, NO_TIME
    try:
        for packet in read_packets([path]):
            turns[packet.number] = turn_ns = max(turn_ns, packet.time_ns)
    except CaptureError:
        pass
    return turns


def groups(count: int, seed: int) -> Iterator[tuple[int, int]]:
    """The ranges of a file in groups."""
    rng, first = random.Random(seed), 0
    while first < count:
        stop = first + rng.choice((1, 1, 2, 7, count))
        yield first, stop
        first = stop


def check(path: Path, every_bytes: int, seed: int = 0) -> FileIndex:
    """That ranges give what the whole file gives, however they are put together."""
    expected, damage = of_whole(path)
    index = index_of(path, every_bytes=every_bytes, cache=False)
    assert (f"{path}: {index.damage}" if index.damage else "") == damage
    at_once = told(read_range(path, index))
    assert [segment for segment, _, _ in at_once] == expected
    turns = turns_of(path)
    assert [turn for _, turn, _ in at_once] == [turns[segment.number] for segment in expected]
    assert index.packets == len(turns)
    parts = [part for bounds in groups(len(index.joints), seed) for part in read_range(path, index, *bounds)]
    assert told(parts) == at_once
    raw = path.read_bytes()
    for part in parts:
        for row in np.flatnonzero(part.table.starts < part.plain).tolist() if part.base >= 0 else []:
            start = part.base + int(part.table.starts[row])
            assert raw[start : start + int(part.table.lengths[row])] == part.table.payload(row)
    return index


def copied_of(parts: Iterable[FileSegments]) -> int:
    """How many payloads do not stand in the file."""
    return sum(int(((part.table.starts >= part.plain) & (part.table.lengths > 0)).sum()) for part in parts)


def of_many_sections(packets: Sequence[Packet], rng: random.Random) -> bytes:
    """A pcapng file whose sections have interfaces of several kinds, and packets in blocks of all kinds."""
    out: list[bytes] = []
    order, links = "<", [0]
    for packet in packets:
        if not out or rng.random() < 0.05:
            order, links = rng.choice("<>"), []
            out.append(section(order))
        while not links or rng.random() < 0.1:
            links.append(rng.choice((1, 1, 101)))
            out.append(interface(order, links[-1], snap=rng.choice((0, 200)), options=[(9, b"\x09"), (2, b"eth")]))
        index = rng.randrange(len(links))
        is_bare = links[index] == 101 and packet.data[12:14] in (b"\x08\x00", b"\x86\xdd")
        data = packet.data[14:] if is_bare else packet.data
        kind = rng.choice(("packet", "packet", "packet", "old", "simple", "other"))
        if kind == "simple" and links[0] == 1:
            out.append(simple_packet_block(order, packet.data, packet.length))
        elif kind == "old":
            out.append(old_packet_block(order, index, packet.time_ns, data))
        else:
            out.append(packet_block(order, index, packet.time_ns, data, len(data)))
        if kind == "other":
            out.append(block(order, 5, bytes(20)))
    return b"".join(out)


FORMS: dict[str, Callable[[Sequence[Packet], random.Random], bytes]] = {
    "pcap": lambda packets, _: pcap_bytes(packets),
    "nano": lambda packets, _: pcap_bytes(packets, nano=True, order=">"),
    "cut": lambda packets, _: pcap_bytes(packets)[:-3],
    "pcapng": lambda packets, _: pcapng_bytes(packets, order=">"),
    "many sections": of_many_sections,
    "gzip": lambda packets, _: gzip.compress(pcap_bytes(packets)),
}


@settings(max_examples=30)
@given(st.frozensets(st.sampled_from(HARMS)), st.sampled_from(sorted(FORMS)), EVERY, st.integers(0, 1000))
def test_ranges_of_any_packets(folder: Path, harms: frozenset[str], form: str, every_bytes: int, seed: int) -> None:
    packets = packets_made(CONNECTIONS, harms, seed, 50)
    path = written(folder, FORMS[form](packets, random.Random(seed)))
    index = check(path, every_bytes, seed)
    assert index.is_packed == (form == "gzip")
    if every_bytes == 1 and not index.is_packed:
        assert [joint.number for joint in index.joints] == list(range(1, index.packets + 1))


@settings(max_examples=30)
@given(st.sampled_from(["pcap", "pcapng", "many sections", "gzip"]), st.booleans(), EVERY, st.data())
def test_ranges_of_a_damaged_file(folder: Path, form: str, is_cut: bool, every_bytes: int, data: st.DataObject) -> None:
    raw = FORMS[form](packets_made(CONNECTIONS, frozenset(), 1, 20), random.Random(1))
    at = data.draw(st.integers(300, len(raw) - 1))
    path = written(
        folder, raw[:at] if is_cut else raw[:at] + data.draw(st.binary(min_size=1, max_size=9)) + raw[at + 9 :]
    )
    check(path, every_bytes)


@pytest.mark.parametrize(
    "name",
    [
        "offramp/mixed_noise.pcap",
        "offramp/payloads_intl.pcap",
        "offramp/plain_any_sll2.pcap",
        "offramp/plain_dumpcap.pcapng",
        "offramp/plain_ipv6.pcap",
        "offramp/plain_nano.pcap",
        "offramp/u2k_gzip.pcap.gz",
        "offramp/u2k_snap96.pcap",
        "pravega/java_mtu1500.pcap.gz",
        "pravega/read.pcap",
        "pravega-draft/blocks.pcap",
        "sbp/mixed_noise.pcap",
    ],
)
def test_ranges_of_real_captures(name: str) -> None:
    check(CAPTURES / name, 30_000)


def test_an_index_can_be_sent_to_another_process(tmp_path: Path) -> None:
    path = written(tmp_path, pcapng_bytes(packets_of([bytes(84)] * 99)))
    index = index_of(path, every_bytes=2000, cache=False)
    assert pickle.loads(pickle.dumps(index)) == index
    span = pickle.loads(pickle.dumps(index.span(1, 3)))
    assert (span.since, span.end) == (index.joints[1], index.joints[3].at)


@pytest.mark.parametrize("form", ["pcap", "nano", "pcapng"])
def test_joints_are_as_far_apart_as_is_asked(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, FORMS[form](packets_of([bytes(84)] * 1000), random.Random(0)))
    index = index_of(path, every_bytes=2000, cache=False)
    distances = np.diff([joint.at for joint in index.joints])
    assert set(distances.tolist()) <= set(range(2000, 2200))
    assert index.end == index.size == path.stat().st_size
    assert (index.first_ns, index.last_ns) == (START_NS + 1_000_000, START_NS + 1_000_000_000)
    assert index.kind == ("pcapng" if form == "pcapng" else "pcap")


def test_a_datagram_on_both_sides_of_a_joint_comes_once(tmp_path: Path) -> None:
    packets = packets_made([Spoken("pravega")], frozenset(["fragments"]), 3, 400)
    path = written(tmp_path, pcap_bytes(packets))
    index = check(path, 1)
    waiting = [joint for joint in index.joints if joint.fragments]
    assert len(waiting) > 3
    for joint in waiting:
        (place,) = joint.fragments
        (segment,) = [each for each, _, _ in told(read_range(path, index, joint.number - 1, joint.number))]
        assert place.at < joint.at
        assert segment.number == joint.number
    assert index.tail.fragments == ()
    assert copied_of(read_range(path, index)) == len(waiting)


def test_a_payload_behind_tags_stands_in_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, pcap_bytes(packets_made(CONNECTIONS, frozenset(["vlan", "snapped"]), 3, 100)))
    index = check(path, 3000)
    assert copied_of(read_range(path, index)) == 0
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert {part.base for part in read_range(packed, index_of(packed))} == {-1}


def test_a_packet_that_is_larger_than_a_table(tmp_path: Path) -> None:
    """It stands in the file like the others; what is behind its IP packet is nobody's."""
    frames = [packet.data for packet in tcp_packets([("client", b"abc"), ("client", b"defg")])]
    longer = [frames[3] + bytes(tables.TABLE_BYTES), *frames[:5], frames[3] + bytes(tables.TABLE_BYTES)]
    for raw in (pcap_bytes(packets_of(longer), snap=1 << 24), pcapng_bytes(packets_of(longer))):
        index = check(written(tmp_path, raw), 1 << 20)
        assert [joint.number for joint in index.joints] == [1, 2]


def test_a_place_far_behind(tmp_path: Path) -> None:
    """At 5 GiB of a file, most of which is a hole."""
    packets = tcp_packets([("client", b"abc")])
    raw = pcap_bytes(packets)
    path, at = written(tmp_path, raw[:24]), 5 << 30
    with path.open("r+b") as file:
        file.seek(at)
        file.write(raw[24:])
    found = told(read_span(path, Span("pcap", False, Joint(at, 101), at + len(raw) - 24, 101 + len(packets))))
    assert [(segment.number, segment.payload) for segment, _, _ in found if segment.payload] == [(104, b"abc")]


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_a_range_reads_its_own_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    path = written(tmp_path, FORMS[form](packets_made([Spoken("pravega")], frozenset(), 3, 2000), random.Random(1)))
    index, read = index_of(path, every_bytes=20_000), noted_reads(monkeypatch)
    list(read_range(path, index, 5, 7))
    assert index.joints[7].at - index.joints[5].at <= sum(read) < 50_000


def test_where_too_much_waits_there_is_no_joint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packets = packets_made([Spoken("pravega")], frozenset(["fragments"]), 3, 400)
    path = written(tmp_path, pcap_bytes(packets))
    count = len(index_of(path, every_bytes=1, cache=False).joints)
    monkeypatch.setattr(index_module, "JOINT_PLACES_MAX", 0)
    assert 0 < len(check(path, 1).joints) < count
    assert not any(joint.fragments for joint in check(path, 1).joints)
    path = written(tmp_path, pcapng_bytes(packets))
    assert [joint.number for joint in check(path, 1).joints] == [1]


def test_sections_without_packets_are_not_kept(tmp_path: Path) -> None:
    empty = (section() + interface()) * 1000
    raw = (
        empty
        + section(">")
        + interface(">")
        + packet_block(">", 0, 5, b"one")
        + empty
        + pcapng_bytes(packets_of([b"2"]))
    )
    index = check(written(tmp_path, raw), 1)
    assert [len(joint.blocks) for joint in index.joints] == [2, 2]
    assert index.joints[0].blocks[0] == len(empty)


def test_a_simple_packet_has_the_time_before_it(tmp_path: Path) -> None:
    frames = [packet.data for packet in tcp_packets([("client", b"abc")])]
    raw = section() + interface() + packet_block("<", 0, 1_700_000_000_000_000, frames[0])
    raw += b"".join(simple_packet_block("<", frame) for frame in frames[1:])
    path = written(tmp_path, raw)
    index = check(path, 1)
    assert {segment.time_ns for segment, _, _ in told(read_range(path, index, 3, 5))} == {START_NS}


# -- files that are none, and files that grow --------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [b"", pcap_bytes([]), pcapng_bytes([])])
def test_a_file_without_packets(tmp_path: Path, raw: bytes) -> None:
    path = written(tmp_path, raw)
    index = check(path, 1)
    assert (index.joints, index.packets, index.damage, index.end) == ((), 0, "", len(raw))
    assert (index.first_ns, index.last_ns) == (NO_TIME, NO_TIME)
    assert list(read_range(path, index)) == []


def test_what_is_no_capture(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="neither pcap nor pcapng: starts with 68 65 6c 6c"):
        index_of(written(tmp_path, b"hello"))
    with pytest.raises(CaptureError, match="neither pcap nor pcapng: starts with 1f 8b"):
        index_of(written(tmp_path, gzip.compress(b"\x1f\x8bhello")))
    with pytest.raises(CaptureError, match="no such file"):
        index_of(tmp_path / "gone")
    with pytest.raises(CaptureError, match="a folder; expected a file"):
        index_of(tmp_path)
    with pytest.raises(CaptureError, match="not a seekable file; expected a regular file"):
        index_of(Path(os.devnull))
    with pytest.raises(UsageError, match="a split point every 0 bytes"):
        index_of(tmp_path / "gone", every_bytes=0)


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody writes to it, and whoever opens one waits until somebody does; also in the place of an indexed file."""
    path = written(tmp_path, pcap_bytes(packets_of([b"abc"] * 9)))
    index = index_of(path)
    path.unlink()
    os.mkfifo(path)
    for look in (
        lambda: index_of(path),
        lambda: extended(path, index),
        lambda: is_continued(path, index),
        lambda: list(read_range(path, index)),
        lambda: cut_after(path, index, index.joints[0], index.last_ns - 1),
    ):
        with pytest.raises(CaptureError, match=f"{path.name}: not a seekable file; expected a regular file"):
            look()


def test_who_writes_to_a_named_pipe_is_let_be(tmp_path: Path) -> None:
    """It waits for a reader, and would be ended by one that goes away."""
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", f"exec cat /dev/zero > '{tmp_path / 'pipe'}'"])
    try:
        waits_until = time.monotonic() + 0.5
        while time.monotonic() < waits_until:  # it takes a moment until it waits
            with pytest.raises(CaptureError, match="not a seekable file"):
                index_of(tmp_path / "pipe")
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.wait()


@settings(max_examples=30)
@given(st.sampled_from(["pcap", "nano", "pcapng", "many sections"]), EVERY, st.integers(0, 99), st.data())
def test_a_growing_file(folder: Path, form: str, every_bytes: int, seed: int, data: st.DataObject) -> None:
    """However it grows its joints are those of the whole, and each part comes once."""
    raw = FORMS[form](packets_made(CONNECTIONS, frozenset(HARMS), seed, 10), random.Random(seed))
    cuts = sorted(data.draw(st.lists(st.one_of(st.integers(0, 40), st.integers(0, len(raw))), max_size=6)))
    path = written(folder, raw[: cuts[0] if cuts else None])
    index, parts, since = index_of(path, every_bytes=every_bytes, cache=False, is_growing=True), [], Joint(0, 1)
    for cut in [*cuts, len(raw)]:
        grown(path, raw[path.stat().st_size : cut])
        index = extended(path, index, every_bytes=every_bytes)
        assert index.damage == ""
        parts += told(read_span(path, index.between(since, index.tail)))
        since = index.tail
    assert extended(path, index, every_bytes=every_bytes, is_growing=False) == check(path, every_bytes)
    assert parts == told(read_range(path, index))


def test_what_is_before_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = pcap_bytes(packets_of([bytes(1000)] * 5000))
    path = written(tmp_path, raw[:-700])
    index = index_of(path, is_growing=True)
    path.write_bytes(raw)
    read = noted_reads(monkeypatch)
    assert extended(path, index).packets == 5000
    assert sum(read) < 2000


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_garbage_is_damage_of_a_growing_file_too(tmp_path: Path, form: str) -> None:
    raw = FORMS[form](packets_of([bytes(60)] * 20), random.Random(0)) + pack("<4I", 6, 0xFFFF_FFFF, 0xFFFF_FFFF, 9)
    path = written(tmp_path, raw)
    index = index_of(path, is_growing=True)
    assert index == index_of(path, cache=False)
    assert index.packets == 20
    assert ("claims" if form == "pcap" else "block length") in index.damage
    grown(path, bytes(5000))
    assert extended(path, index).damage == index.damage
    check(path, 1)


@pytest.mark.parametrize("raw", [pcap_bytes(packets_of([b"x"]))[:17], pcapng_bytes([])[:17], b"\x0a\x0d"])
def test_a_head_that_is_not_whole_yet(tmp_path: Path, raw: bytes) -> None:
    path = written(tmp_path, raw)
    assert index_of(path, is_growing=True).damage == ""
    if len(raw) > 4:
        assert "ends early" in index_of(path).damage
    else:
        with pytest.raises(CaptureError, match="neither pcap nor pcapng"):
            index_of(path)


def test_a_file_that_is_another_one(tmp_path: Path) -> None:
    """A ring of files is written again from the first one on, which is emptied before."""
    first, second = (pcap_bytes(packets_of([bytes(60)] * 9, start_ns=start)) for start in (START_NS, START_NS + 10**9))
    path = written(tmp_path, first)
    index = index_of(path)
    assert is_continued(path, index)
    for raw in (b"", first[:-1], second, second * 2):
        path.write_bytes(raw)
        assert not is_continued(path, index)
        with pytest.raises(CaptureError, match="the file was rewritten; expected an unchanged file"):
            extended(path, index)
    (tmp_path / "other").write_bytes(first)
    (tmp_path / "other").rename(path)
    assert not is_continued(path, index)


def test_a_file_that_was_changed_after_it_was_indexed(tmp_path: Path) -> None:
    packets = packets_made([Spoken("pravega")], frozenset(["fragments"]), 3, 400)
    for raw, others in (
        (pcap_bytes(packets), [b"", b"x" * 5000, pcap_bytes(packets[:9])]),
        (pcapng_bytes(packets), [b""]),
    ):
        path = written(tmp_path, raw)
        index = index_of(path, every_bytes=1000)
        joint = next(at for at, joint in enumerate(index.joints) if joint.fragments or joint.blocks)
        for other in others:
            path.write_bytes(other)
            with pytest.raises(CaptureError, match="the file changed after it was indexed"):
                list(read_range(path, index, joint, joint + 1))


def test_read_segments_agrees(tmp_path: Path) -> None:
    """With what goes packet by packet, too."""
    path = written(tmp_path, pcap_bytes(packets_made(CONNECTIONS, frozenset(HARMS), 5, 60)))
    found = [segment for segment, _, _ in told(read_range(path, index_of(path, every_bytes=999)))]
    assert found == list(read_segments(read_packets([path])))
