"""Captures to tables on one machine: each flow as if it were alone, whatever the files and parts."""

import os
import random
import signal
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.talk import Sent
from tests.dissect.columns.made import FORMS, HARMS, Spoken, any_spoken, files_of, packets_made
from tests.helpers.captures import packets_of, pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from tests.pipeline import reference
from wiretool.capture.index.build import read_range
from wiretool.capture.packets import Packet
from wiretool.dissect.columns.apart import may_run_apart
from wiretool.errors import CaptureError, Killed
from wiretool.pipeline import local
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import Manifest
from wiretool.pipeline.local import run_local

CAPTURES = Path(__file__).parent.parent.parent / "captures"
#: One of each kind: several connections, holes, other link layers and forms of file, two protocols, packed.
REAL = (
    "pravega/java_pool4.pcap",
    "pravega/java_scale.pcap.gz",
    "offramp/u2k_drop5.pcap",
    "offramp/plain_any_sll2.pcap",
    "offramp/plain_dumpcap.pcapng",
    "sbp/mixed_noise.pcap",
    "sbp-0.1/pm_s2_batch.pcap",
)


def made(root: Path, captures: Sequence[Path], **options: object) -> Manifest:
    """The tables of captures."""
    notes: list[str] = []
    return run_local(Job(captures, root, **options), notes.append, lambda step: None)  # type: ignore[arg-type]


def written(folder: Path, files: Sequence[bytes]) -> list[Path]:
    """The files in a folder, named in their order."""
    paths = [folder / f"{number:03d}.pcap" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    return paths


def check_frames(root: Path, expected: Sequence[reference.Row]) -> None:
    """AssertionError where the frames differ from the expected ones."""
    found = [{name: row[name] for name in expected[0]} for row in reference.rows(root, "frames")] if expected else []
    assert found == expected


@pytest.mark.parametrize("least", [0, 1 << 30], ids=["read in a process", "in one"])
@pytest.mark.parametrize("name", REAL)
def test_real_captures(name: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "APART_PACKETS_MIN", least)
    made(tmp_path / "tables", [CAPTURES / name])
    check_frames(tmp_path / "tables", reference.frames_of([CAPTURES / name]))


@settings(max_examples=40)
@given(
    connections=st.lists(any_spoken(), min_size=1, max_size=4),
    harms=st.frozensets(st.sampled_from(HARMS), max_size=2),
    form=st.sampled_from(FORMS),
    splits=st.sampled_from([1, 2, 5]),
    seed=st.integers(0, 2**32),
)
def test_made_captures(connections: list[Spoken], harms: frozenset[str], form: str, splits: int, seed: int) -> None:
    """Any connections, harmed in any way, in any form of file, dealt into any number of parts."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = written(folder, files_of(packets_made(connections, harms, seed, 60), form, seed))
        random.Random(seed).shuffle(paths)
        manifest = made(folder / "tables", paths, splits=splits, has_events=True)
        check_frames(folder / "tables", reference.frames_of(sorted(paths)))
        check_sums(folder / "tables", manifest)


def check_sums(root: Path, manifest: Manifest) -> None:
    """AssertionError where tables do not fit one another, or the manifest."""
    frames = reference.rows(root, "frames")
    by_name = {(row["connection"], row["n"]): row for row in frames}
    assert len(by_name) == len(frames) == manifest.rows("frames")
    for name in manifest.tables:
        rows = reference.table(root, name).to_pylist()
        assert len(rows) == manifest.rows(name)
        if name == "ledger":
            assert sum(row["frames"] for row in rows) == manifest.total["frames"]
            assert {row["connection"] for row in rows} >= {row["connection"] for row in frames}
        elif name == "exchanges":
            assert len({(row["connection"], row["n"]) for row in rows}) == len(rows)
            for row in rows:
                request, reply = (by_name.get((row["connection"], row[each])) for each in ("n", "reply_n"))
                assert request is not None
                assert (request["message"], request["time_ns"]) == (row["request"], row["time_ns"])
                assert (reply["message"] if reply else None) == row["reply"]
                assert row["latency_ns"] is None or reply is not None
        else:
            for row in rows:
                frame = by_name[row["connection"], row["n"]]
                assert (frame["time_ns"], frame["protocol"]) == (row["time_ns"], row["protocol"])
                assert name in ("frames", "gaps", "problems", "events", f"{frame['protocol']}.{frame['message']}")
    kinds = [row["kind"] for row in frames]
    assert [manifest.rows(name) for name in ("gaps", "problems")] == [kinds.count("gap"), kinds.count("problem")]
    for row in frames:
        request = by_name.get((row["connection"], row["reply_to"]))
        assert row["reply_to"] is None or (request is not None and request["side"] != row["side"])


@pytest.mark.parametrize("least", [0, 1 << 30], ids=["read in a process", "in one"])
def test_a_capture_that_changes_under_the_reading_is_told(
    least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is indexed as it was, and then cut."""
    monkeypatch.setattr(local, "APART_PACKETS_MIN", least)
    (path,) = written(tmp_path, [(CAPTURES / "pravega" / "write.pcap").read_bytes()])

    def cut(*given: Any) -> Iterator[Any]:
        path.write_bytes(path.read_bytes()[:5_000])
        yield from read_range(*given)

    monkeypatch.setattr(local, "read_range", cut)
    with pytest.raises(CaptureError, match=r"000\.pcap"):
        made(tmp_path / "tables", [path])
    assert not (tmp_path / "tables").exists()


@pytest.mark.skipif(
    not may_run_apart() and "CI" not in os.environ, reason="no processes that share what was read (Windows, macOS)"
)
def test_a_process_that_is_killed_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()

    def killed(*given: Any) -> Iterator[Any]:
        assert os.getpid() != here
        os.kill(os.getpid(), signal.SIGKILL)
        yield from read_range(*given)

    monkeypatch.setattr(local, "APART_PACKETS_MIN", 0)
    monkeypatch.setattr(local, "read_range", killed)
    with pytest.raises(Killed):
        made(tmp_path / "tables", [CAPTURES / "pravega" / "write.pcap"])
    assert not (tmp_path / "tables").exists()


# -- files of one tap, and of two --------------------------------------------------------------------------------------


def talk(seed: int) -> list[Packet]:
    """Three connections side by side, with losses and packets out of order."""
    troubles = frozenset(["lost", "late", "swapped"])
    connections = [Spoken(protocol, each=3, troubles=troubles) for protocol in ("pravega", "sbp", "offramp-deflate")]
    return packets_made(connections, frozenset(), seed, 80)


def without_places(rows: Sequence[reference.Row]) -> list[reference.Row]:
    """Rows without the names of files and the numbers of packets in them."""
    return [{name: value for name, value in row.items() if not name.endswith(("_file", "_packet"))} for row in rows]


@needs_protocol("offramp")
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_rolling_files_are_as_one(seed: int, cuts: list[int]) -> None:
    """A flow that goes on in the next file comes out whole, and each packet is found where it is."""
    packets = talk(seed)
    bounds = [0, *sorted({min(cut, len(packets)) for cut in cuts}), len(packets)]
    with TemporaryDirectory() as name:
        folder = Path(name)
        parts = [packets[start:stop] for start, stop in pairwise(bounds)]
        one = written(folder, [pcap_bytes(packets)])
        (folder / "rolling").mkdir()
        many = written(folder / "rolling", [pcap_bytes(part) for part in parts])
        made(folder / "whole", one)
        made(folder / "parts", many)
        whole, pieces = (reference.rows(folder / root, "frames") for root in ("whole", "parts"))
        assert without_places(pieces) == without_places(whole)
        ledgers = [reference.table(folder / root, "ledger").to_pylist() for root in ("whole", "parts")]
        assert sorted(map(repr, ledgers[0])) == sorted(map(repr, ledgers[1]))
        first_in = {str(path): start for path, start in zip(many, bounds[:-1], strict=True)}
        for row, piece in zip(whole, pieces, strict=True):
            for end in ("first", "last"):
                assert first_in[piece[f"{end}_file"]] + piece[f"{end}_packet"] == row[f"{end}_packet"]


@needs_protocol("offramp")
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), late_ns=st.integers(0, 400_000))
def test_packets_that_two_taps_have_seen_are_taken_once(seed: int, late_ns: int) -> None:
    """The other tap is behind a router: other addresses of its link, one hop less to live, a little later."""
    packets = [packet._replace(data=_with_id(packet.data, number)) for number, packet in enumerate(talk(seed)[:300], 1)]
    routed = [
        packet._replace(data=_routed(packet.data), time_ns=packet.time_ns + late_ns)
        for packet in packets
        if random.Random(f"{seed}{packet.number}").random() < 0.95
    ]
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = written(folder, [pcap_bytes(packets, nano=True), pcap_bytes(routed, nano=True)])
        made(folder / "one", paths[:1])
        made(folder / "both", paths)
        for table in ("frames", "ledger"):
            one, both = (reference.table(folder / root, table).to_pylist() for root in ("one", "both"))
            assert sorted(map(repr, without_places(one))) == sorted(map(repr, without_places(both)))


def _with_id(data: bytes, number: int) -> bytes:
    """The frame with an identification of its own, as senders give each packet."""
    return data[:18] + number.to_bytes(2, "big") + data[20:]


def _routed(data: bytes) -> bytes:
    return bytes(range(12)) + data[12:22] + bytes([data[22] - 1]) + data[23:]


@pytest.mark.parametrize("flow_segments_max", [1, 4_096])
def test_notes_name_connections_by_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flow_segments_max: int
) -> None:
    monkeypatch.setattr("wiretool.pipeline.flows.reading.POOLED_SEGMENTS", flow_segments_max)
    notes: list[str] = []
    sent = [Sent("client", b"\x7f\xff\xff\xff\xff\xff\xff\xff?")]
    data = pcap_bytes(tcp_packets(sent, server=("10.0.0.2", 12345), acks=False))
    run_local(Job(written(tmp_path, [data]), tmp_path / "tables"), notes.append, lambda step: None)
    assert notes == ["connection 10.0.0.1:40000 -> 10.0.0.2:12345: read as pravega because of its port alone"]


def test_many_days_need_few_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wiretool.sinks.arrow.open_tables.FILES_OPEN_MAX", 3)
    monkeypatch.setattr("wiretool.pipeline.flows.reading.POOL_RECORDS", 1)
    day_ns = 86_400 * 1_000_000_000
    said = packets_made([Spoken("pravega")] * 3, frozenset(), 1, 40)
    packets = [packet._replace(time_ns=packet.time_ns + number % 3 * day_ns) for number, packet in enumerate(said)]
    paths = written(tmp_path, [pcap_bytes(packets)])
    few = made(tmp_path / "few", paths)
    monkeypatch.undo()
    many = made(tmp_path / "many", paths)
    assert reference.every_row(tmp_path / "few", few) == reference.every_row(tmp_path / "many", many)
    assert len(few.tables["frames"]) > len(many.tables["frames"])


def test_connections_that_begin_alike_have_numbers_of_their_own(tmp_path: Path) -> None:
    """A clock that stands still, and a client that begins anew with the same sequence number."""
    begin, *_, end = tcp_packets([], end="rst")
    packets = [packet._replace(time_ns=0) for packet in packets_of([begin.data, end.data] * 2)]
    made(tmp_path / "tables", written(tmp_path, [pcap_bytes(packets)]))
    rows = reference.table(tmp_path / "tables", "ledger").to_pylist()
    assert len({row["connection"] for row in rows}) == len(rows) == 2
