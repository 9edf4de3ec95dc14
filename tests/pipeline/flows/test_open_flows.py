"""Flows carried over from batch to batch: wherever a stream is cut, the tables say the same."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dissect.columns.made import HARMS, Spoken, any_spoken, files_of, packets_made
from tests.helpers.captures import Talk, packets_of, pcap_bytes
from wiretool.capture.index.build import index_of, read_range
from wiretool.capture.tcp.segments_of_packets import ACK
from wiretool.errors import UsageError
from wiretool.pipeline.flows import open_flows as carry
from wiretool.pipeline.flows import reading as flows
from wiretool.pipeline.flows.open_flows import Carried, CarryReader
from wiretool.pipeline.flows.reading import COMPARED_BYTES_MAX, Flow, FlowBatch, FlowReader
from wiretool.pipeline.flows.rows import ORDER, rows_of
from wiretool.pipeline.flows.state import deserialize
from wiretool.pipeline.tables import FlowTables

CAPTURES = Path(__file__).parents[3] / "captures"
_TURNS, _FLOWS = [[(name, "ascending") for name in names] for names in (ORDER[1:], ORDER)]


def rows_in(paths: Sequence[Path]) -> pa.Table:
    """The segment rows of captures, in the order in which they were captured."""
    batches = []
    for place, path in enumerate(paths):
        index = index_of(path, cache=False)
        batches += [rows_of(each, place) for each in read_range(path, index, 0, len(index.joints))]
    return pa.Table.from_batches(batches).sort_by(_TURNS)


def by_flow(rows: pa.Table) -> list[pa.RecordBatch]:
    """Them as a reader takes them."""
    batches: list[pa.RecordBatch] = rows.sort_by(_FLOWS).combine_chunks().to_batches()
    return batches


class Gathered(FlowTables):
    """Tables that are kept here; what a part of a stream makes is put to what came of it before."""

    def __init__(self, paths: Sequence[Path], before: "Gathered | None" = None) -> None:
        super().__init__(Path(), "part", [path.name for path in paths], has_events=True)
        self.gathered: dict[Path, list[pa.Table]] = before.gathered if before else defaultdict(list)

    def write(self, told: FlowBatch) -> None:
        """Instead of into files."""
        for folder, rows in self.placed(told):
            self.gathered[folder].append(rows)

    def take_all(self, batches: Iterator[FlowBatch]) -> "Gathered":
        """All of these batches."""
        for told in batches:
            self.write(told)
        return self

    @property
    def rows(self) -> dict[str, list[str]]:
        """The rows in each folder, as text, in an order of their own."""
        return {
            str(folder): sorted(str(row) for table in tables for row in table.to_pylist())
            for folder, tables in self.gathered.items()
        }


class Stream:
    """A stream of captures, each batch of which is read by a reader that knows nothing but bytes."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        self.carried: dict[bytes, Carried] = {}
        self.notes: list[str] = []
        self.tables: Gathered | None = None

    def read(self, rows: pa.Table) -> None:
        """The next batch."""
        tables, left = Gathered(self.paths, self.tables), list[Carried]()
        self.tables = tables.take_all(self._reader(tables).read(by_flow(rows), self.carried, left.append))
        self.carried.update((each.flow, each) for each in left)

    def close(self) -> None:
        """The end of the stream."""
        tables = Gathered(self.paths, self.tables)
        self.tables = tables.take_all(self._reader(tables).close(self.carried.values()))

    def _reader(self, tables: Gathered) -> CarryReader:
        return CarryReader(self.paths, tables, self.notes.append)


def check(paths: Sequence[Path], cuts: Sequence[float]) -> dict[str, list[str]]:
    """What captures say; AssertionError where a stream of them, cut at these parts of it, says something else."""
    rows = rows_in(paths)
    notes: list[str] = []
    once = Gathered(paths).take_all(FlowReader(paths, notes=notes.append).read(by_flow(rows)))
    stream = Stream(paths)
    for start, stop in pairwise([0, *sorted(int(part * len(rows)) for part in cuts), len(rows)]):
        stream.read(rows.slice(start, stop - start))
    stream.close()
    assert stream.tables is not None
    assert stream.tables.rows == once.rows
    assert sorted(stream.notes) == sorted(notes)
    return once.rows


_CUTS = st.lists(st.floats(0, 1), min_size=1, max_size=5)


@settings(max_examples=8)
@given(
    connections=st.lists(any_spoken(), min_size=1, max_size=3),
    harms=st.frozensets(st.sampled_from(HARMS), max_size=1),
    form=st.sampled_from(["pcap", "two files", "gzip"]),
    cuts=_CUTS,
    seed=st.integers(0, 1 << 16),
)
def test_any_cuts(connections: list[Spoken], harms: frozenset[str], form: str, cuts: list[float], seed: int) -> None:
    with TemporaryDirectory() as folder:
        paths = []
        for number, data in enumerate(files_of(packets_made(connections, harms, seed, 60), form, seed)):
            paths.append(Path(folder) / f"{number}.pcap")
            paths[-1].write_bytes(data)
        check(paths, cuts)


@pytest.mark.parametrize(
    "name", ["pravega/reconnect.pcap", "offramp/deflate_context_takeover.pcap", "offramp/u2k_drop5.pcap"]
)
def test_real_captures(name: str) -> None:
    check([CAPTURES / name], [0.3, 0.32, 0.7])


def written(folder: Path, frames: Sequence[bytes]) -> Path:
    """A capture of Ethernet frames."""
    path = folder / "made.pcap"
    path.write_bytes(pcap_bytes(packets_of(frames)))
    return path


def test_what_is_long_past_is_not_compared(tmp_path: Path) -> None:
    """However it is cut: only what is near the end of a stream can be carried on."""
    talk = Talk(("10.0.0.1", 40_000), ("10.0.0.2", 5555), isn=(1000, 5000))
    talk.open()
    talk.say("client", bytes(COMPARED_BYTES_MAX), mtu=16_000, acks=True)
    begin = talk.next["client"]
    talk.say("client", bytes(COMPARED_BYTES_MAX - 100), mtu=16_000, acks=True)
    talk.send("client", ACK, b"other bytes, too long ago", seq=begin - COMPARED_BYTES_MAX)
    talk.send("client", ACK, b"partly" * 30, seq=begin - 140)
    talk.send("client", ACK, b"shortly before", seq=begin)
    rows = check([written(tmp_path, talk.frames)], [0.2, 0.6, 0.95])
    problems = [row for folder, rows in rows.items() if folder.startswith("problems") for row in rows]
    assert len(problems) == 3
    assert f"'offset': {COMPARED_BYTES_MAX - 100}," in str(problems)


def test_what_is_carried_stays_small(tmp_path: Path) -> None:
    packets = packets_made([Spoken("sbp", acks=True)], frozenset(), 1, 3_000)
    rows = rows_in([written(tmp_path, [packet.data for packet in packets])])
    stream = Stream([tmp_path / "made.pcap"])
    sizes = []
    for start in range(0, len(rows) - 600, 600):
        stream.read(rows.slice(start, 600))
        sizes.append(sum(len(each.state) for each in stream.carried.values()))
    assert len(sizes) > 5
    assert max(sizes) < 1.1 * sizes[3]


def test_unfinished_frames_of_many_flows_are_not_held_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each flow holds the beginning of a frame of 15 MB that never ends; together they may hold what a pool may."""
    begin = (2).to_bytes(4, "big") + (15_000_000).to_bytes(4, "big") + bytes(200_000)
    frames: list[bytes] = []
    talks: list[Talk] = []
    for step in range(2):
        for number in range(12):
            talk = talks[number] if step else Talk(("10.0.0.1", 40_000 + number), ("10.0.0.2", 12_345))
            done = len(talk.frames)
            if not step:
                talks.append(talk)
                talk.open()
            talk.say("client", begin if not step else bytes(10), mtu=60_000)
            frames += talk.frames[done:]
    rows = rows_in([written(tmp_path, frames)])
    stream = Stream([tmp_path / "made.pcap"])
    monkeypatch.setattr(flows, "POOL_BYTES", 1_000_000)
    most = 0
    whole = carry._Pool.take

    def noting(self: carry._Pool, flow: Flow, *more: Any) -> int:
        nonlocal most
        base = whole(self, flow, *more)
        most = max(most, len(self.waiting) + 1)
        return base

    monkeypatch.setattr(carry._Pool, "take", noting)
    first = len(rows) - 12
    stream.read(rows.slice(0, first))
    most = 0
    stream.read(rows.slice(first))
    assert len(stream.carried) == 12
    assert 1 < most <= 4  # of some 280 kB each


def test_what_another_version_has_left_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"is of 'wiretool 0\.0\.1 flow 1'; expected 'wiretool .*; continue with the version"
    ):
        deserialize(b"wiretool 0.0.1 flow 1\n\x80\x05N.", {})
