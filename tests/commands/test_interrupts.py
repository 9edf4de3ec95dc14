"""Ctrl-C: what is written is whole, and it is said that it was stopped."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.bench.pravega_appends import make_capture
from tests.helpers.tools import run_tool
from wiretool.analysis.stats import Stats
from wiretool.analysis.stats_bulk import BatchCounter
from wiretool.batches.batch import Batch
from wiretool.commands.decode import decode
from wiretool.commands.interrupts import for_each, told_when_stopped
from wiretool.commands.options import DecodeFormat, Engine
from wiretool.commands.slice import slice_
from wiretool.commands.stats import StatsFormat, stats
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import read
from wiretool.processes import held_interrupts
from wiretool.sinks import ndjson
from wiretool.sinks.lines.sink import LinesSink
from wiretool.sinks.packets import Packets
from wiretool.sinks.slice import Chosen

Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture that is read in several batches."""
    path = tmp_path_factory.mktemp("many") / "many.pcap"
    make_capture(path, packets=24_000, frames_per_packet=2, event_bytes=500)
    assert path.stat().st_size > 12_000_000
    return path


def press_at(call: int, of: Any, name: str, monkeypatch: Patch) -> list[Any]:
    """Press Ctrl-C within that call of a method, counted from 1; gives what the calls were given."""
    method, given = getattr(of, name), []

    def pressed(self: Any, each: Any, *others: Any) -> Any:
        given.append(each)
        if len(given) == call:
            signal.raise_signal(signal.SIGINT)
        return method(self, each, *others)

    monkeypatch.setattr(of, name, pressed)
    return given


# -- the parts ---------------------------------------------------------------------------------------------------------


def interrupted(done: list[int], times: int) -> None:
    with held_interrupts():
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        with held_interrupts():
            done.append(times)


def test_ctrl_c_waits_for_what_must_not_be_cut() -> None:
    done: list[int] = []
    interrupted(done, 0)
    with pytest.raises(KeyboardInterrupt):
        interrupted(done, 1)
    assert done == [0, 1]
    with pytest.raises(KeyboardInterrupt):  # the second time it means it
        interrupted(done, 2)
    assert done == [0, 1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(("may_wait", "expected"), [(True, [1, 2]), (False, [1])])
def test_a_step_that_is_being_made_is_waited_for_where_more_is_always_there(
    may_wait: bool, expected: list[int]
) -> None:
    def steps() -> Iterator[int]:
        yield 1
        signal.raise_signal(signal.SIGINT)
        yield 2
        yield 3

    taken: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        for_each(steps(), taken.append, may_wait=may_wait)
    assert taken == expected


@pytest.mark.parametrize("may_wait", [True, False])
def test_a_step_that_is_being_taken_is_taken_whole(may_wait: bool) -> None:
    taken: list[int] = []

    def take(step: int) -> None:
        if step == 2:
            signal.raise_signal(signal.SIGINT)
        taken.append(step)

    with pytest.raises(KeyboardInterrupt):
        for_each(iter((1, 2, 3)), take, may_wait=may_wait)
    assert taken == [1, 2]
    for_each(iter((4, 5)), taken.append, may_wait=may_wait)
    assert taken == [1, 2, 4, 5]


def test_a_step_may_be_nothing() -> None:
    taken: list[None] = []
    for_each(iter((None, None)), taken.append, may_wait=True)
    assert taken == [None, None]


def test_it_is_said_only_where_something_was_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    with told_when_stopped(lambda: "never"):
        pass
    assert capsys.readouterr().err == ""
    with pytest.raises(KeyboardInterrupt), told_when_stopped(lambda: "3 things so far"):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "wiretool: stopped by Ctrl-C: 3 things so far\n"


# -- lines -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [DecodeFormat.NDJSON, DecodeFormat.JSON, DecodeFormat.CSV])
def test_lines_out_of_columns_are_whole(
    form: DecodeFormat, many: Path, tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    batches: list[Batch] = press_at(2, LinesSink, "write", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        decode([many], format_=form, output=out)
    count = batches[0].count + batches[1].count
    assert len(batches) == 2
    assert capsys.readouterr().err == f"wiretool: stopped by Ctrl-C: {out} is whole, {count:,} records so far\n"
    text = out.read_text()
    found = json.loads(text) if form is DecodeFormat.JSON else text.splitlines()[form is DecodeFormat.CSV :]
    assert len(found) == count
    assert text.endswith("\n")


def test_lines_out_of_rows_are_whole(
    many: Path, tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    press_at(4, ndjson.NdjsonSink, "write", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        decode([many], format_=DecodeFormat.NDJSON, output=out, engine=Engine.ROWS)
    assert capsys.readouterr().err == f"wiretool: stopped by Ctrl-C: {out} is whole, 3 records so far\n"
    assert [json.loads(line)["n"] for line in out.read_text().splitlines()] == [1, 2, 3]


def test_on_stdout_there_is_no_file_to_speak_of(
    many: Path, monkeypatch: Patch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    press_at(2, ndjson.NdjsonSink, "write", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        decode([many], engine=Engine.ROWS, format_=DecodeFormat.NDJSON)
    assert capfdbinary.readouterr().err == b"wiretool: stopped by Ctrl-C: 1 record so far\n"
    monkeypatch.undo()
    press_at(1, ndjson.NdjsonSink, "write", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        decode([many], engine=Engine.ROWS, format_=DecodeFormat.NDJSON, output=Path("-"))
    assert capfdbinary.readouterr().err == b"wiretool: stopped by Ctrl-C: no records so far\n"


def test_the_first_batch_is_waited_for_too(
    many: Path, tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("wiretool.dissect.columns.workers.read_batches", pressing(read_batches, 1))
    with pytest.raises(KeyboardInterrupt):
        decode([many], format_=DecodeFormat.PARQUET, output=tmp_path / "out")
    count = pq.read_table(tmp_path / "out" / "frames.parquet").num_rows
    assert capsys.readouterr().err.splitlines()[0] == (
        f"wiretool: stopped by Ctrl-C: the tables in {tmp_path / 'out'} are whole, {count:,} records so far"
    )
    assert count > 1000


def pressing(read_in: Callable[..., Iterator[Batch]], at: int) -> Callable[..., Iterator[Batch]]:
    """Reads the same, and Ctrl-C is pressed while that batch, counted from 1, is read."""

    def reading(*arguments: Any, **options: Any) -> Iterator[Batch]:
        for number, batch in enumerate(read_in(*arguments, **options), 1):
            if number == at:
                signal.raise_signal(signal.SIGINT)
            yield batch

    return reading


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_reading", [True, False], ids=["reading", "counting"])
def test_numbers_out_of_columns_are_those_of_whole_batches(
    is_reading: bool, many: Path, tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The batch that is being read when the key is pressed is counted too."""
    counted: list[Batch] = press_at(0 if is_reading else 2, BatchCounter, "add", monkeypatch)
    if is_reading:
        monkeypatch.setattr("wiretool.dissect.columns.workers.read_batches", pressing(read_batches, 2))
    with pytest.raises(KeyboardInterrupt):
        stats([many], format_=StatsFormat.JSON, output=tmp_path / "out")
    assert len(counted) == 2
    frames = json.loads((tmp_path / "out").read_text())["total"]["frames"]
    assert frames == counted[0].count + counted[1].count
    told = f"wiretool: stopped by Ctrl-C: the numbers cover {frames:,} frames so far\n"
    assert capsys.readouterr().err == told


def test_numbers_out_of_rows_are_those_of_what_was_read(
    many: Path, tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    press_at(3, Stats, "add", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        stats([many], format_=StatsFormat.JSON, output=tmp_path / "out", engine=Engine.ROWS)
    assert json.loads((tmp_path / "out").read_text())["total"]["frames"] == 2
    assert capsys.readouterr().err == "wiretool: stopped by Ctrl-C: the numbers cover 2 frames so far\n"


# -- packets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [Engine.ROWS, Engine.COLUMNS])
@pytest.mark.parametrize("is_old", [True, False])
def test_a_slice_that_is_stopped_while_it_looks_writes_nothing(
    is_old: bool, engine: Engine, many: Path, tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.pcapng"
    if is_old:
        out.write_bytes(b"older")
    found: list[Batch] = press_at(2, Chosen, "add", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        slice_([many], output=out, where="n > 0", engine=engine)
    assert len(found) == 2
    assert capsys.readouterr().err == "wiretool: stopped by Ctrl-C: nothing written\n"
    assert (out.read_bytes() == b"older") if is_old else not out.exists()


def test_a_slice_that_is_stopped_while_it_writes_is_a_whole_capture(
    many: Path, tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.pcapng"
    tables = press_at(2, Packets, "write", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        slice_([many], output=out, where='side == "client"')
    assert len(tables) == 2
    told = re.fullmatch(
        rf"wiretool: stopped by Ctrl-C: {re.escape(str(out))} is whole, ([0-9,]+) packets so far\n",
        capsys.readouterr().err,
    )
    assert told
    packets = len(run_tool("tshark", "-r", str(out), "-T", "fields", "-e", "frame.number").splitlines())
    assert packets == int(told[1].replace(",", "")) > 0
    assert sum(1 for _ in read(out)) > 0


def test_the_shell_is_told_too(many: Path, tmp_path: Path) -> None:
    """In a process of its own, which sends itself what the terminal would."""
    code = (
        "import signal; from wiretool.sinks.packets import Packets; from wiretool.cli import main\n"
        "write = Packets.write\n"
        "def pressed(*given): signal.raise_signal(signal.SIGINT); write(*given)\n"
        "Packets.write = pressed; main()"
    )
    words = ("slice", str(many), "--where", "n > 0", "-o", str(tmp_path / "out.pcapng"))
    ended = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (130, b"")
    assert re.fullmatch(rb"wiretool: stopped by Ctrl-C: .* is whole, [0-9,]+ packets so far\n", ended.stderr)


def fail_interrupted() -> None:
    with held_interrupts():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("damage")


def test_ctrl_c_is_heeded_where_the_block_fails_too() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as caught:
        fail_interrupted()
    assert isinstance(caught.value.__context__, ValueError)
    assert signal.getsignal(signal.SIGINT) is before
