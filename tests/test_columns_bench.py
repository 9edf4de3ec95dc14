"""The bench of the column path: its captures decode without problems, and its marks are held."""

from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from tests.bench.columns import careful, runs
from tests.bench.columns.__main__ import ALL, main, parse
from tests.bench.columns.bounds import GROWTH_MAX, growth_of
from tests.bench.columns.captures import Captures, Recipe
from tests.bench.columns.harmed import harm
from tests.bench.columns.marks import QUICK_SHARE, Report
from tests.bench.columns.packets import running_sums
from tests.bench.columns.timing import NET_S_MIN, Bench
from tests.bench.decode import ToolFailed
from tests.helpers.examples import needs_protocol
from wiretool.capture.files.reading import read_packets
from wiretool.dissect.dissector import read
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega import PROTOCOL as PRAVEGA
from wiretool.protocols.pravega.messages import Event, PartialEvent
from wiretool.protocols.pravega.session import ADMIN_REQUESTS
from wiretool.protocols.sbp.messages import operations_of
from wiretool.protocols.sbp.schema import LATEST
from wiretool.records import Record

RECIPES = (
    Recipe("appends", 1, 90),
    Recipe("appends", 7, 90),
    Recipe("appends", 200, 900),
    Recipe("large", 1, 10),
    Recipe("short", 60, 60),
    Recipe("sbp", 5, 40),
    pytest.param(Recipe("offramp", 3, 60), marks=needs_protocol("offramp")),
    pytest.param(Recipe("deflate", 3, 60), marks=needs_protocol("offramp")),
    Recipe("mixed-sbp", 3, 300),
    Recipe("mixed-pravega", 3, 600),
    pytest.param(Recipe("mixed-offramp", 3, 150), marks=needs_protocol("offramp")),
)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Captures:
    """Captures that the tests of this file share."""
    return Captures(tmp_path_factory.mktemp("captures"))


def records_of(path: Path) -> list[Record]:
    """Return the records of a capture."""
    return list(read(path))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: f"{recipe.kind}-{recipe.connections}")
def test_captures_decode_without_problems(captures: Captures, recipe: Recipe) -> None:
    path, frames = captures.get(recipe)
    records = records_of(path)
    assert Counter(record.kind for record in records) == {"frame": frames}
    assert len({record.connection for record in records}) == recipe.connections
    assert frames > recipe.size / 2


@pytest.mark.parametrize("recipe", [RECIPES[1], RECIPES[4]], ids=["in mid-stream", "short"])
def test_every_append_is_acknowledged(captures: Captures, recipe: Recipe) -> None:
    records = records_of(captures.get(recipe).path)
    appends = {record.n for record in records if record.message == "AppendBlockEnd"}
    assert appends == {record.reply_to for record in records if record.message == "DataAppended"}
    assert any(record.packets[0] != record.packets[1] for record in records) == (recipe.kind == "appends")


def test_short_connections_have_ten_packets(captures: Captures) -> None:
    packets = list(read_packets([captures.get(Recipe("short", 60, 60)).path]))
    ports = Counter(
        min(packet.data[34:36], packet.data[36:38], key=lambda port: port == b"\x30\x39") for packet in packets
    )
    assert set(ports.values()) == {10}
    assert len(ports) == 60


def test_mixed_traffic_has_every_message(captures: Captures) -> None:
    said = {
        protocol: {record.message for record in records_of(captures.get(Recipe(f"mixed-{protocol}", 3, size)).path)}
        for protocol, size in (("sbp", 300), ("pravega", 600), ("offramp", 150))
        if protocol in PROTOCOLS
    }
    assert said["sbp"] >= {each.name for each in operations_of(LATEST).values()} - {"UNKNOWN", "GOAWAY", "SYNC_RANGE"}
    unsaid = {Event, PartialEvent, *ADMIN_REQUESTS}
    unsaid |= {cls for cls in PRAVEGA.messages if cls.__name__ in UNSAID}
    assert said["pravega"] == {cls.declaration.name for cls in PRAVEGA.messages if cls not in unsaid}
    if "offramp" in said:
        names = {cls.declaration.name for cls in PROTOCOLS["offramp"].messages}
        assert said["offramp"] >= {name for name in names if name.isupper()}


#: The replies to requests of the admin port, and the last of a block that no client of today sends.
UNSAID = ("FlushedToStorage", "StorageChunksListed", "ConditionalBlockEnd")


def test_captures_are_made_once(tmp_path: Path) -> None:
    captures, recipe = Captures(tmp_path), Recipe("appends", 2, 30)
    first = captures.get(recipe)
    made = first.path.stat().st_mtime_ns
    assert Captures(tmp_path).get(recipe) == first
    assert first.path.stat().st_mtime_ns == made


def test_captures_of_older_code_are_removed(tmp_path: Path) -> None:
    recipe = Recipe("appends", 2, 30)
    names = [f"{recipe.stem}-01234567.pcap", f"{recipe.stem}-01234567.frames", f"{recipe.stem}-0.005-01234567.pcap"]
    for name in names:
        (tmp_path / name).touch()
    made = Captures(tmp_path).get(recipe).path
    assert {path.name for path in tmp_path.glob("*.pcap")} == {made.name, names[-1]}
    assert not (tmp_path / names[1]).exists()


def test_a_capture_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="connections is 200001; expected 200000 at most"):
        Captures(tmp_path).get(Recipe("appends", 200_001, 10))


def test_harmed_captures(captures: Captures, tmp_path: Path) -> None:
    clean, harmed = captures.get(Recipe("appends", 7, 900)).path, tmp_path / "harmed.pcap"
    done = harm(clean, harmed, share=0.1)
    before, after = list(read_packets([clean])), list(read_packets([harmed]))
    assert len(after) == len(before) - done["lost"] + done["doubled"]
    assert 0.05 < done.total() / len(before) < 0.15
    assert [packet.time_ns for packet in after] == sorted(packet.time_ns for packet in after)
    assert is_disordered([packet.data for packet in after])
    assert not is_disordered([packet.data for packet in before])


def test_harmed_captures_are_slowed(captures: Captures) -> None:
    harmed, slowed = (captures.get(Recipe("appends", 7, 900, 0.1, each)).path for each in (1, 40))
    packets, later = (list(read_packets([path])) for path in (harmed, slowed))
    assert [packet.data for packet in packets] == [packet.data for packet in later]
    begun = packets[0].time_ns
    assert [begun + 40 * (packet.time_ns - begun) for packet in packets] == [packet.time_ns for packet in later]


@pytest.mark.parametrize("kind", careful.KINDS)
def test_careful_captures_need_care_all_the_time(captures: Captures, kind: str) -> None:
    path, frames = captures.get(Recipe(f"careful-{kind}", 3, 240))
    records = records_of(path)
    unknown = sum(record.message.lower().startswith("unknown") for record in records)
    assert sum(record.kind == "frame" for record in records) == frames
    assert sum(record.kind in ("problem", "gap") for record in records) + unknown >= 5
    assert {record.protocol for record in records} == {kind.partition("-")[2]}


def is_disordered(packets: Sequence[bytes]) -> bool:
    """Return whether a segment comes directly after the next one of its flow."""
    last: dict[bytes, tuple[int, int]] = {}
    for data in packets:
        flow, seq = data[26:38], int.from_bytes(data[38:42], "big")
        start, end = last.get(flow, (0, 0))
        if seq + len(data) - 66 == start and end:
            return True
        last[flow] = seq, seq + len(data) - 66
    return False


def test_running_sums() -> None:
    totals = np.array([10, 0, 5])
    sums = running_sums(np.array([2, 0, 2, 2, 0]), np.array([1, 2, 3, 4, 5]), totals)
    assert sums.tolist() == [5, 10, 6, 9, 12]
    assert totals.tolist() == [17, 0, 13]


# -- marks -------------------------------------------------------------------------------------------------------------


def test_marks_are_held(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    assert not report.is_good, "nothing was measured"
    report.at_least("a", 1.5, 1.5, aim=4)
    report.at_most("b", 300, 300, unit=" MB")
    report.exactly("c", 7, 7)
    assert report.is_good
    report.at_least("d", 1.49, 1.5)
    assert not report.is_good
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "    a: 1.50, mark 1.5, aim 4: reached"
    assert said[1] == "    b: 300.00 MB, mark 300 MB: reached"
    assert said[2] == "    d: 1.49, mark 1.5: missed"
    assert report.summary().splitlines()[-1] == "2 of 3 marks reached"


def test_frames_that_are_not_found_are_a_missed_mark() -> None:
    report = Report(is_quick=True)
    report.exactly("frames found", 99, 100)
    assert not report.is_good


def test_quick_marks_are_most_of_the_full_ones() -> None:
    report = Report(is_quick=True)
    report.at_least("a", QUICK_SHARE * 10, 10)
    report.at_most("b", 10 / QUICK_SHARE, 10)
    report.at_most("c", 10.1, 10, quick_share=1.0)
    assert [verdict.is_reached for verdict in report.verdicts] == [True, True, False]
    assert QUICK_SHARE >= 0.6


@pytest.mark.parametrize(("held", "is_fine"), [(0.3, True), (1.0, False), (2.0, False)])
def test_a_reader_that_holds_the_file_is_found(held: float, is_fine: bool) -> None:
    more_bytes = 80_000_000
    assert (growth_of(84e6, 84e6 + held * more_bytes, more_bytes) <= GROWTH_MAX) is is_fine


def test_frames_in_the_output_of_tools_are_counted() -> None:
    assert runs.PRAVEGA_FIELDS[0] == "pravega.type"
    command = runs.tshark_with_lua(runs.SBP_LUA, runs.PRAVEGA_FIELDS)
    assert command.in_stdout is not None
    assert command.in_stdout(BytesIO(b"4,4\t80,80\tw\t1\n\t\t\t\n7\t48\tw\t1\n")) == 3


def test_a_part_runs_and_a_missing_frame_fails_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--quick", "--only", "start-up", "--rounds", "1", "--captures", str(tmp_path)]
    assert main(given) in (0, 1)
    assert "start-up of Parquet" in capsys.readouterr().out


def test_unknown_parts_and_peers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse([]).only == list(ALL)
    for option in ("--only", "--without"):
        with pytest.raises(SystemExit):
            parse([option, "nothing"])
        assert "nothing: no such part or peer; expected of" in capsys.readouterr().err


def test_start_up_is_subtracted_where_that_is_asked_for(tmp_path: Path) -> None:
    def seconds_of(*, is_net: bool) -> float:
        bench = Bench(Captures(tmp_path / "captures"), tmp_path, is_net=is_net, rounds=1)
        return bench.seconds("appends", Recipe("appends", 1, 60), {"dpkt": runs.dpkt_loop()})["dpkt"]

    whole, net = seconds_of(is_net=False), seconds_of(is_net=True)
    assert NET_S_MIN <= net < whole / 2
