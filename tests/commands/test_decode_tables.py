"""`wiretool decode` with tables, and with either engine."""

import json
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.bench.pravega_appends import make_capture
from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run
from wiretool.commands import options
from wiretool.commands.decode import decode
from wiretool.commands.engines import takes_columns
from wiretool.commands.options import DecodeFormat, Engine
from wiretool.dissect.columns import apart
from wiretool.errors import CaptureError, DecodeError, UsageError

CAPTURES = Path(__file__).parents[2] / "captures"
WRITES = CAPTURES / "pravega/write.pcap"
HELLO = bytes.fromhex("ffffff81000000080000001100000005")


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "wiretool", *map(str, arguments)]


def tables_in(folder: Path) -> dict[str, pa.Table]:
    return {str(path.relative_to(folder)): pq.read_table(path) for path in folder.rglob("*.parquet")}


# -- which engine ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "output", "options", "expected"),
    [
        (DecodeFormat.PARQUET, "new", {}, True),
        (DecodeFormat.ARROW, "new", {}, True),
        (DecodeFormat.NDJSON, "new", {}, True),
        (DecodeFormat.TEXT, "new", {}, True),
        (DecodeFormat.TEXT, None, {}, False),
        (DecodeFormat.TEXT, "/dev/null", {}, False),
        (DecodeFormat.NDJSON, "/dev/null", {}, True),
        (DecodeFormat.NDJSON, "-", {}, True),
        (DecodeFormat.CSV, None, {}, True),
        (DecodeFormat.NDJSON, "new", {"is_for_people": True}, False),
        (DecodeFormat.NDJSON, "new", {"only_rows": "--live"}, False),
    ],
)
def test_left_to_choose_files_out_of_files_take_columns(
    form: DecodeFormat, output: str | None, options: dict[str, Any], expected: bool, tmp_path: Path
) -> None:
    path = None if output is None else Path("-") if output == "-" else tmp_path / output
    for engine, wanted in ((Engine.AUTO, expected), (Engine.ROWS, False)):
        assert takes_columns(engine, form, captures=[WRITES], output=path, **options) is wanted


def test_lines_on_a_terminal_take_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for output in (None, Path("-")):
        assert not takes_columns(Engine.AUTO, DecodeFormat.NDJSON, captures=[WRITES], output=output)


def test_pipes_take_rows_unless_columns_are_asked_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for capture in (Path("-"), tmp_path / "pipe", tmp_path / "gone"):
        given: dict[str, Any] = {"captures": [WRITES, capture], "output": tmp_path / "new"}
        assert not takes_columns(Engine.AUTO, DecodeFormat.PARQUET, **given)
        assert takes_columns(Engine.COLUMNS, DecodeFormat.PARQUET, **given)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"engine": Engine.COLUMNS, "live": "lo"}, "--engine columns: not allowed with --live; expected --engine rows"),
        (
            {"engine": Engine.COLUMNS, "hex_": "x", "protocol": "sbp", "side": "client"},
            "--engine columns: not allowed with --hex; expected --engine rows",
        ),
        ({"format_": DecodeFormat.PARQUET}, "--format parquet: missing folder; expected -o FOLDER"),
        ({"format_": DecodeFormat.ARROW, "output": Path("-")}, "--format arrow: missing folder; expected -o FOLDER"),
        (
            {"format_": DecodeFormat.ARROW, "output": Path("x"), "fields": "n"},
            "--fields: not allowed with --format arrow",
        ),
        (
            {"format_": DecodeFormat.ARROW, "output": Path("x"), "tree": True},
            "-v and -x: not allowed with --format arrow",
        ),
        ({"format_": DecodeFormat.CSV, "events": True}, "--events: requires --format parquet or arrow"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        decode(**options)


@pytest.mark.parametrize("form", ["text", "json", "ndjson", "csv"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"where": 'message == "SegmentRead" or time > 0.5'},
        {"connection": 1, "fields": "n,message,fields.request_id"},
        {"count": 7},
        {"where": 'side == "server"', "count": 5},
    ],
)
def test_lines_are_the_same_from_both_engines(form: str, options: dict[str, Any], tmp_path: Path) -> None:
    for engine in ("rows", "columns"):
        out = tmp_path / engine
        capture = CAPTURES / "pravega/py_bytestream.pcap"
        decode([capture], format_=DecodeFormat(form), output=out, engine=Engine(engine), **options)
    assert (tmp_path / "rows").read_bytes() == (tmp_path / "columns").read_bytes() != b""


@pytest.mark.parametrize("form", ["json", "ndjson", "csv", "text"])
@pytest.mark.parametrize("options", [{}, {"fields": "n,time,message"}, {"where": "length > 100"}, {"count": 7}])
def test_lines_are_the_same_from_several_processes(
    form: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "BLOCKS_AHEAD", 0)  # the process that reads makes all of the lines that it may
    asked = {"format_": DecodeFormat(form), "engine": Engine.COLUMNS, **options}
    for workers in (1, 2, 3):
        out = tmp_path / str(workers)
        out.mkdir()
        decode([WRITES], output=out / "lines", ledger=out / "ledger.json", workers=workers, **asked)
    for name in ("lines", "ledger.json"):
        assert len({(tmp_path / workers / name).read_bytes() for workers in "123"}) == 1


@pytest.mark.parametrize("options", [{}, {"where": "length > 100"}, {"connection": 0}, {"count": 30}, {"events": True}])
def test_tables_are_the_same_from_both_engines(options: dict[str, Any], tmp_path: Path) -> None:
    for engine in (Engine.ROWS, Engine.COLUMNS):
        decode([WRITES], format_=DecodeFormat.PARQUET, output=tmp_path / engine, engine=engine, **options)
    rows, columns = tables_in(tmp_path / "rows"), tables_in(tmp_path / "columns")
    assert rows.keys() == columns.keys()
    assert "frames.parquet" in rows
    for name, table in rows.items():
        assert columns[name].equals(table), name
    if "count" in options:
        assert rows["frames.parquet"].num_rows == 30
    else:
        assert (tmp_path / "rows/ledger.json").read_text() == (tmp_path / "columns/ledger.json").read_text()


@pytest.mark.parametrize("engine", [Engine.ROWS, Engine.COLUMNS])
@pytest.mark.parametrize("form", [DecodeFormat.PARQUET, DecodeFormat.NDJSON])
def test_strict_stops_behind_the_first_problem(engine: Engine, form: DecodeFormat, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(DecodeError, match="record "):
        decode([CAPTURES / "sbp/pd_malformed.pcap"], format_=form, output=out, engine=engine, strict=True)
    if form is DecodeFormat.PARQUET:
        kinds = pq.read_table(out / "frames.parquet")["kind"].to_pylist()
    else:
        kinds = [json.loads(line)["kind"] for line in out.read_text().splitlines()]
    assert kinds.count("problem") == 1
    assert kinds[-1] == "problem"


# -- the folder ------------------------------------------------------------------------------------------------------


@needs_protocol("offramp")
def test_tables_replace_those_of_an_earlier_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    decode([WRITES], format_=DecodeFormat.ARROW, output=out)
    decode([CAPTURES / "offramp/plain.pcap"], format_=DecodeFormat.PARQUET, output=out, events=True)
    names = {str(path.relative_to(out)) for path in out.rglob("*")}
    assert {"frames.parquet", "events.parquet", "ledger.json", "messages/offramp.MESSAGE.parquet"} <= names
    assert not any(name.endswith(".arrow") for name in names)


def test_a_bad_capture_costs_nobody_the_tables_of_the_last_run(tmp_path: Path) -> None:
    out, bad = tmp_path / "out", tmp_path / "bad.pcap"
    bad.write_bytes(b"nothing of the kind")
    for engine in (Engine.ROWS, Engine.COLUMNS):
        decode([WRITES], format_=DecodeFormat.PARQUET, output=out)
        before = tables_in(out)
        with pytest.raises(CaptureError, match="neither pcap nor pcapng"):
            decode([bad], format_=DecodeFormat.PARQUET, output=out, engine=engine)
        assert tables_in(out) == before


def test_what_is_before_a_damage_is_in_whole_tables(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(WRITES.read_bytes()[:-40])
    for engine in (Engine.ROWS, Engine.COLUMNS):
        with pytest.raises(CaptureError):
            decode([cut], format_=DecodeFormat.PARQUET, output=tmp_path / engine, engine=engine)
    assert tables_in(tmp_path / "rows") == tables_in(tmp_path / "columns")
    assert tables_in(tmp_path / "rows")["frames.parquet"].num_rows > 1000


def test_the_command_says_what_it_read(tmp_path: Path) -> None:
    ended = run("decode", WRITES, "--format", "parquet", "-o", tmp_path / "out")
    assert ended.returncode == 0
    assert ended.stdout == b""
    assert ended.stderr.startswith(b"wiretool: 2,0")
    assert len(ended.stderr.splitlines()) == 1
    ended = run("decode", WRITES, "--format", "parquet", "-o", WRITES)
    assert ended.returncode == 2
    assert b"not a folder; expected a folder for tables" in ended.stderr


def test_stdin_becomes_tables(tmp_path: Path) -> None:
    for engine in ("auto", "columns"):
        options = ("--format", "parquet", "-o", tmp_path / engine, "--engine", engine)
        ended = run("decode", "-", *options, given=WRITES.read_bytes())
        assert ended.returncode == 0, ended.stderr
    assert tables_in(tmp_path / "auto") == tables_in(tmp_path / "columns")


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_full_disk_is_one_line(form: str, tmp_path: Path) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    alone = os.environ | {
        "PYTHONDONTWRITEBYTECODE": "1"
    }  # a compiled module would be cut short too, for all that follow
    words = command("decode", WRITES, "--format", form, "-o", tmp_path / "out", "--events")
    ended = subprocess.run(words, capture_output=True, timeout=60, check=False, preexec_fn=small_files, env=alone)
    assert ended.returncode == 74
    assert b"Traceback" not in ended.stderr
    (line,) = ended.stderr.splitlines()
    assert b"cannot write all tables" in line
    assert b"File too large" in line
    assert b"free some space" in line


# -- Ctrl-C ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture that takes seconds to read."""
    return write_frames(tmp_path_factory.mktemp("long") / "long.pcap", packets=200)


def write_frames(path: Path, *, packets: int) -> Path:
    """Write a capture with 661 frames in each packet."""
    body = b"".join(bytes.fromhex("00000001") + n.to_bytes(4, "big") + bytes(n) for n in range(5, 60)) * 12
    frames = [HELLO + body] * packets
    path.write_bytes(pcap_bytes(tcp_packets([("client", frame) for frame in frames], server=("10.0.0.2", 12345))))
    return path


@pytest.mark.parametrize("engine", ["rows", "columns"])
def test_ctrl_c_leaves_whole_tables(engine: str, long: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    captures = [long] * 40
    process = subprocess.Popen(
        command("decode", *captures, "--format", "parquet", "-o", out, "--engine", engine), stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not (out / "messages").exists() and time.monotonic() < deadline and process.poll() is None:
        select.select([], [], [], 0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert b"stopped by Ctrl-C: the tables in" in told
    assert b"Traceback" not in told
    tables = tables_in(out)
    messages = sum(table.num_rows for name, table in tables.items() if name.startswith("messages"))
    frames = tables["frames.parquet"]
    assert messages == frames["kind"].to_pylist().count("frame") > 0
    assert json.loads((out / "ledger.json").read_text())["total"]["frames"] == messages


# -- progress --------------------------------------------------------------------------------------------------------


def on_a_terminal(*arguments: str | Path, quick_s: float, shell: str = '"$@" >/dev/null') -> bytes:
    """Return what a command writes to stderr on a terminal; a bar appears after `quick_s` seconds.

    `shell` is the line of bash that runs the command.
    """
    ours, theirs = pty.openpty()
    code = (
        f"from wiretool.commands import progress; from wiretool.cli import main; progress.QUICK_S = {quick_s}; main()"
    )
    words = [sys.executable, "-c", code, *map(str, arguments)]
    process = subprocess.Popen(["bash", "-c", shell, "bash", *words], stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert process.wait(60) == 0, seen
    return seen


def test_a_bar_is_shown_for_long_reading_on_a_terminal(long: Path, tmp_path: Path) -> None:
    options = ("--format", "parquet", "-o", tmp_path / "long", "--engine", "columns")
    seen = on_a_terminal("decode", long, *options, quick_s=0.0)
    assert b"%" in seen
    assert b"B/s" in seen


def test_no_bar_is_shown_beside_the_lines_of_a_pipe(tmp_path: Path) -> None:
    short = write_frames(tmp_path / "short.pcap", packets=20)
    for target, has_bar in ((f">{tmp_path / 'lines'}", True), ("| cat >/dev/null", False)):
        seen = on_a_terminal(
            "decode", short, "--format", "csv", "--engine", "columns", quick_s=0.0, shell=f'"$@" {target}'
        )
        assert (b"%" in seen) is has_bar


@needs_protocol("offramp")
def test_no_bar_is_shown_for_quick_reading(tmp_path: Path) -> None:
    options = ("--format", "parquet", "-o", tmp_path / "quick")
    seen = on_a_terminal("decode", CAPTURES / "offramp/plain.pcap", *options, quick_s=60.0)
    assert b"%" not in seen
    assert seen.startswith(b"wiretool: 19 frames") or b"frames in" in seen


def test_a_capture_is_not_replaced_by_its_own_tables(tmp_path: Path) -> None:
    capture = tmp_path / "frames.parquet"
    make_capture(capture, packets=20)
    raw = capture.read_bytes()
    with pytest.raises(UsageError, match=r"frames\.parquet is an input; expected another output"):
        decode([capture], format_=DecodeFormat.PARQUET, output=tmp_path)
    assert capture.read_bytes() == raw


def test_a_ledger_does_not_go_among_the_tables(tmp_path: Path) -> None:
    capture = tmp_path / "capture.pcap"
    make_capture(capture, packets=20)
    with pytest.raises(UsageError, match=r"lies in .*tables, where tables have their own"):
        decode([capture], format_=DecodeFormat.PARQUET, output=tmp_path / "tables", ledger=tmp_path / "tables" / "mine")
    assert not (tmp_path / "tables").exists()


def test_a_capture_that_may_not_be_looked_at_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr("wiretool.commands.options.os.stat", refuse)
        with pytest.raises(UsageError, match=r"no/write.pcap: permission denied"):
            options.sources_from([Path("no/write.pcap")])
