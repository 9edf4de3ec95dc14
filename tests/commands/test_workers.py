"""`--workers`: the same output from any number of processes, which all end with the command."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.bench.pravega_appends import make_capture
from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run
from wiretool.commands.decode import decode
from wiretool.commands.engines import check_workers
from wiretool.commands.options import DecodeFormat
from wiretool.commands.stats import StatsFormat, stats
from wiretool.errors import UsageError

CAPTURES = Path(__file__).parents[2] / "captures"
#: Together: packed ones, several protocols, problems, gaps, and times that overlap.
SEVERAL = [
    CAPTURES / "pravega/java_write_flood.pcap.gz",
    CAPTURES / "pravega/py_bytestream.pcap",
    CAPTURES / "offramp/u2k_drop5.pcap",
    CAPTURES / "sbp/pd_malformed.pcap",
]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "wiretool", *map(str, arguments)]


def files_in(folder: Path) -> list[Path]:
    """The files in a folder and those below it, by their places in it."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*.*"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of several batches and connections."""
    path = tmp_path_factory.mktemp("many") / "many.pcap"
    make_capture(path, packets=20_000, frames_per_packet=6, connections=50)
    return path


# -- the same ----------------------------------------------------------------------------------------------------------


@needs_protocol("offramp")
@pytest.mark.parametrize("is_one", [True, False], ids=["one", "several"])
def test_tables_do_not_depend_on_the_number_of_workers(is_one: bool, many: Path, tmp_path: Path) -> None:
    folders = [tmp_path / str(workers) for workers in (1, 2, 3)]
    for folder in folders:
        captures = [many] if is_one else SEVERAL
        decode(captures, format_=DecodeFormat.PARQUET, output=folder, events=True, workers=int(folder.name))
    alone, *others = folders
    names = files_in(alone)
    assert len(names) > 5
    for folder in others:
        assert files_in(folder) == names
        assert (folder / "ledger.json").read_text() == (alone / "ledger.json").read_text()
        for name in names:
            if name.suffix == ".parquet":
                assert pq.read_table(folder / name).equals(pq.read_table(alone / name)), name


@needs_protocol("offramp")
@pytest.mark.parametrize("form", [DecodeFormat.NDJSON, DecodeFormat.CSV])
def test_lines_do_not_depend_on_the_number_of_workers(form: DecodeFormat, tmp_path: Path) -> None:
    for workers in (1, 2, 3):
        decode(SEVERAL, format_=form, output=tmp_path / str(workers), ledger=tmp_path / f"l{workers}", workers=workers)
    alone = (tmp_path / "1").read_bytes(), (tmp_path / "l1").read_bytes()
    assert all(alone)
    assert alone == ((tmp_path / "2").read_bytes(), (tmp_path / "l2").read_bytes())
    assert alone == ((tmp_path / "3").read_bytes(), (tmp_path / "l3").read_bytes())


@needs_protocol("offramp")
def test_numbers_do_not_depend_on_the_number_of_workers(many: Path, tmp_path: Path) -> None:
    for captures, place in (([many], "one"), (SEVERAL, "several")):
        for workers in (1, 2, 3):
            stats(captures, format_=StatsFormat.JSON, output=tmp_path / f"{place}{workers}", workers=workers)
        numbers = [json.loads((tmp_path / f"{place}{workers}").read_text()) for workers in (1, 2, 3)]
        assert numbers[0]["total"]["frames"] > 1000
        assert numbers[1] == numbers[0]
        assert numbers[2] == numbers[0]


@needs_protocol("offramp")
def test_what_is_told_does_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    told = [
        run("decode", *SEVERAL, "--format", "parquet", "-o", tmp_path / "out", "--workers", str(workers)).stderr
        for workers in (1, 2)
    ]
    assert told[0].startswith(b"wiretool: ")
    assert told[1] == told[0]


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("decode", CAPTURES / "pravega/write.pcap"),
        ("decode", CAPTURES / "pravega/write.pcap", "--format", "parquet", "--engine", "rows", "-o", "OUT"),
        ("stats", CAPTURES / "pravega/write.pcap", "--engine", "rows"),
    ],
)
def test_workers_do_not_go_with_rows(arguments: tuple[str | Path, ...], tmp_path: Path) -> None:
    ended = run(*(tmp_path / "out" if each == "OUT" else each for each in arguments), "--workers", "2")
    assert ended.returncode == 2
    assert ended.stdout == b""
    assert ended.stderr.decode().splitlines() == [
        "wiretool: --workers 2: only the column engine uses several processes; "
        "expected files as input, and as output tables, a file or a pipe; or add --engine columns"
    ]
    assert not (tmp_path / "out").exists()


def test_one_worker_goes_with_everything() -> None:
    check_workers(1, is_bulk=False)
    check_workers(3, is_bulk=True)
    with pytest.raises(UsageError, match="--workers 3: only the column engine"):
        check_workers(3, is_bulk=False)


def test_what_is_before_a_damage_is_written_by_any_number(many: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(many.read_bytes()[:-40])
    ends = [
        run("decode", cut, "--format", "parquet", "-o", tmp_path / str(count), "--workers", str(count))
        for count in (1, 2, 3)
    ]
    assert [ended.returncode for ended in ends] == [3, 3, 3]
    assert ends[2].stderr == ends[1].stderr == ends[0].stderr
    assert b"Traceback" not in ends[0].stderr
    tables = [pq.read_table(tmp_path / str(count) / "frames.parquet") for count in (1, 2, 3)]
    assert tables[0].num_rows > 100_000
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def group_of(leader: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(group) == leader and state != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists() and "CI" not in os.environ, reason="which processes run is read from /proc"
)
@pytest.mark.parametrize(("workers", "number"), [(2, signal.SIGKILL), (3, signal.SIGTERM)])
def test_a_reading_process_that_is_killed_is_told(
    workers: int, number: signal.Signals, many: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = command("decode", *[many] * 40, "--format", "parquet", "-o", out, "--workers", str(workers))
    process = subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (out / "messages").exists() and time.monotonic() < deadline and process.poll() is None:
        select.select([], [], [], 0.02)
    process.send_signal(signal.SIGSTOP)  # it can neither end nor reap what is killed before that was seen to be there
    try:
        assert process.poll() is None, "it ended before a reading process could be killed"
        os.kill(max(group_of(process.pid)), number)
    finally:
        process.send_signal(signal.SIGCONT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number, told
    assert b"Traceback" not in told
    assert told.decode().splitlines()[-1] == (
        f"wiretool: a reading process was killed (signal {number.value}); the output covers the input before that; "
        "run it again, with --workers 1 if memory is short"
    )
    assert group_of(process.pid) == []
    messages = sum(pq.read_table(path).num_rows for path in (out / "messages").iterdir())
    assert messages == pq.read_table(out / "frames.parquet")["kind"].to_pylist().count("frame") > 0
    assert json.loads((out / "ledger.json").read_text())["total"]["frames"] == messages


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")]
)
@pytest.mark.parametrize(("is_terminal", "workers"), [(True, 3), (False, 2)], ids=["to all", "to the first"])
def test_a_signal_leaves_whole_tables_and_no_process(
    is_terminal: bool, workers: int, number: signal.Signals, name: str, many: Path, tmp_path: Path
) -> None:
    """A terminal sends it to all processes at once, others only to the one they started."""
    out = tmp_path / "out"
    words = command("decode", *[many] * 40, "--format", "parquet", "-o", out, "--workers", str(workers))
    process = subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (out / "messages").exists() and time.monotonic() < deadline and process.poll() is None:
        select.select([], [], [], 0.02)
    assert len(group_of(process.pid)) == workers
    if is_terminal:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number, told
    assert f"stopped by {name}: the tables in" in told.decode()
    assert b"Traceback" not in told
    assert group_of(process.pid) == []
    frames = pq.read_table(out / "frames.parquet")
    messages = sum(pq.read_table(path).num_rows for path in (out / "messages").iterdir())
    assert messages == frames["kind"].to_pylist().count("frame") > 0
    assert json.loads((out / "ledger.json").read_text())["total"]["frames"] == messages
