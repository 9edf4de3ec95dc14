"""Small flows are read together where they are in good order; the tables are those of flows read one by one."""

import random
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from tests.bench.columns.captures import Recipe, write_in_arrays
from tests.dissect.columns.made import Spoken, packets_made
from tests.helpers.captures import pcap_bytes
from tests.pipeline.flows.test_open_flows import Gathered, by_flow, rows_in
from wiretool.batches.batch import Batch
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet, Tick
from wiretool.capture.tcp.segments_of_packets import FIN
from wiretool.dissect.columns.read import BulkDissector
from wiretool.pipeline.flows import groups as flow_groups
from wiretool.pipeline.flows import reading as flows
from wiretool.pipeline.flows.groups import FlowGroup, GroupRecords
from wiretool.pipeline.flows.reading import FlowReader

COUNT = 40


def short_packets() -> list[Packet]:
    """Return the packets of short connections in good order."""
    raw = BytesIO()
    write_in_arrays(raw, Recipe("short", COUNT, COUNT))
    packets = read_packets([BytesIO(raw.getvalue())])
    return [packet for packet in packets if not isinstance(packet, Tick)]


def damaged(packets: list[Packet], luck: random.Random, damages: int) -> list[Packet]:
    """Return the packets with some lost, doubled, or out of their places."""
    out = list(packets)
    for _ in range(damages):
        at = luck.randrange(len(out))
        kind = luck.choice(["lost", "doubled", "late"])
        packet = out[at] if kind == "doubled" else out.pop(at)
        if kind != "lost":
            out.insert(min(at + luck.randrange(1, 60), len(out)), packet)
    return [packet._replace(number=number) for number, packet in enumerate(out, 1)]


def written(folder: Path, *captures: list[Packet]) -> list[Path]:
    """Write captures; return their paths."""
    paths = [folder / f"{place}.pcap" for place in range(len(captures))]
    for path, packets in zip(paths, captures, strict=True):
        path.write_bytes(pcap_bytes(packets))
    return paths


def rows_of(paths: list[Path]) -> dict[str, list[str]]:
    """Return the rows of all tables of captures."""
    return Gathered(paths).take_all(FlowReader(paths).read(by_flow(rows_in(paths)))).rows


def rows_one_by_one(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Return the same where no flows are read together."""

    def leave(group: FlowGroup, *_: object, **__: object) -> GroupRecords:
        count = len(group.parts)
        return GroupRecords(Batch(1, 0, (), ()), np.zeros(count, np.int64), np.ones(count, np.bool_))

    with monkeypatch.context() as patch:
        patch.setattr(FlowGroup, "read", leave)
        return rows_of(paths)


def count_left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the number of flows is added that are read by themselves."""
    left: list[int] = []
    read = FlowReader._read_whole

    def counted(reader: FlowReader, *rest: object) -> object:
        left.append(1)
        return read(reader, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(flows.FlowReader, "_read_whole", counted)
    return left


def test_short_connections_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = written(tmp_path, short_packets())
    expected = rows_one_by_one(paths, monkeypatch)
    left = count_left(monkeypatch)
    assert rows_of(paths) == expected
    assert not left


@pytest.mark.parametrize("seed", range(6))
def test_damaged_flows_are_read_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    luck = random.Random(seed)
    others = packets_made([Spoken("sbp", each=3), Spoken("foreign"), Spoken("pravega", end="")], frozenset(), seed, 9)
    packets = damaged(short_packets(), luck, 12) + others
    paths = written(tmp_path, [packet._replace(number=number) for number, packet in enumerate(packets, 1)])
    monkeypatch.setattr(flow_groups, "GROUP_SEGMENTS", luck.choice([1, 50, 16_384]))
    expected = rows_one_by_one(paths, monkeypatch)
    left = count_left(monkeypatch)
    assert rows_of(paths) == expected
    assert 3 <= len(left) < COUNT or flow_groups.GROUP_SEGMENTS == 1


@pytest.mark.parametrize("share", [0.4, 0.7, 0.95])
def test_connections_that_end_with_the_capture_are_read_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    packets = short_packets()
    paths = written(tmp_path, packets[: int(len(packets) * share)])
    expected = rows_one_by_one(paths, monkeypatch)
    left = count_left(monkeypatch)
    assert rows_of(paths) == expected
    assert len(left) < COUNT // 2


def test_flows_with_more_acknowledged_than_captured_are_read_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets = [packet for packet in short_packets() if not packet.data[47] & FIN]
    last = {packet.data[34:38]: packet.number for packet in packets if len(packet.data) > 54}
    lost = set(list(last.values())[::3])
    captured = [packet for packet in packets if packet.number not in lost]
    paths = written(tmp_path, [packet._replace(number=number) for number, packet in enumerate(captured, 1)])
    expected = rows_one_by_one(paths, monkeypatch)
    left = count_left(monkeypatch)
    assert rows_of(paths) == expected
    assert left


def test_copies_of_packets_in_other_captures_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packets = short_packets()
    paths = written(tmp_path, packets, packets[: len(packets) // 2])
    expected = rows_one_by_one(paths, monkeypatch)
    left = count_left(monkeypatch)
    assert rows_of(paths) == expected
    assert not left
    assert len(expected["frames/date=2023-11-14/protocol=pravega"]) == 12 * COUNT


def test_flows_with_many_bytes_are_not_in_the_table_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = packets_made([Spoken("pravega", each=9)], frozenset(), 1, 400)
    packets = [packet._replace(number=number) for number, packet in enumerate(short_packets() + long, 1)]
    paths = written(tmp_path, packets)
    assert sum(len(packet.data) for packet in long) > 4_096
    monkeypatch.setattr(flow_groups, "GROUP_BYTES", 4_096)
    expected = rows_one_by_one(paths, monkeypatch)
    sizes: list[int] = []
    read_whole = BulkDissector.read_whole

    def noted(dissector: BulkDissector, table: SegmentTable) -> Batch:
        sizes.append(int(table.lengths.sum()))
        return read_whole(dissector, table)

    monkeypatch.setattr(BulkDissector, "read_whole", noted)
    assert rows_of(paths) == expected
    assert len(sizes) > 1
    assert max(sizes) <= 2 * 4_096
