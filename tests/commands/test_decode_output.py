"""`wiretool decode` where output ends badly, reading ends early, or nothing is found; with either engine."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench.pravega_appends import make_capture
from tests.helpers.forked import run
from wiretool.commands.decode import decode
from wiretool.commands.options import DecodeFormat, Engine
from wiretool.commands.slice import slice_
from wiretool.errors import DecodeError, UsageError

CAPTURES = Path(__file__).parents[2] / "captures"
WRITES = CAPTURES / "pravega/write.pcap"
PROBLEMS = CAPTURES / "sbp/mixed_noise.pcap"
ENGINES = [Engine.ROWS, Engine.COLUMNS]
both = pytest.mark.parametrize("engine", ENGINES)


def shell(line: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """A command line for bash, in which `"$@"` is wiretool with arguments."""
    words = [sys.executable, "-m", "wiretool", *map(str, arguments)]
    return subprocess.run(["bash", "-c", line, "bash", *words], capture_output=True, timeout=60, check=False)


def test_a_closed_stdin_is_one_line() -> None:
    done = shell('"$@" <&-', "encode")
    assert (done.returncode, done.stderr) == (2, b"wiretool: stdin is closed: nothing can be read from it\n")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture that is more than a pipe holds, and several batches."""
    path = tmp_path_factory.mktemp("many") / "many.pcap"
    make_capture(path, packets=24_000, frames_per_packet=2, event_bytes=500)
    return path


# -- where output goes -------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("form", ["text", "ndjson", "json", "csv"])
def test_a_full_disk_is_one_line(form: str, engine: Engine) -> None:
    words = ("decode", WRITES, "--format", form, "--engine", engine)
    with open("/dev/full", "wb", buffering=0) as full:
        both_ways = {"/dev/full": run(*words, "-o", "/dev/full"), "stdout": run(*words, stdout=full.fileno())}
    for name, ended in both_ways.items():
        assert (ended.returncode, ended.stdout) == (74, b"")
        assert ended.stderr.decode() == f"wiretool: cannot write {name}: No space left on device\n"


@both
@pytest.mark.parametrize("form", ["text", "ndjson"])
@pytest.mark.parametrize("output", [[], ["-o", "-"]], ids=["", "-o -"])
def test_a_closed_stdout_is_one_line(form: str, output: list[str], engine: Engine) -> None:
    ended = shell('"$@" >&-', "decode", WRITES, "--format", form, "--engine", engine, *output)
    assert ended.returncode == 2
    assert b"wiretool: stdout is closed: nothing can be written to it" in ended.stderr.splitlines()
    assert b"Traceback" not in ended.stderr


def test_a_closed_stdout_is_one_line_on_a_terminal_too() -> None:
    """Where a bar would be shown: whether lines are in its way is asked of stdout."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "wiretool", "decode", str(WRITES), "--format", "ndjson", "--engine", "columns"]
    ended = subprocess.run(["bash", "-c", '"$@" >&-', "bash", *words], stderr=theirs, timeout=60, check=False)
    os.close(theirs)
    seen = os.read(ours, 65536)
    os.close(ours)
    assert ended.returncode == 2
    assert seen == b"wiretool: stdout is closed: nothing can be written to it\r\n"


@both
@pytest.mark.parametrize("form", ["ndjson", "csv", "json"])
def test_head_ends_it_quietly(form: str, engine: Engine, many: Path) -> None:
    line = '"$@" | head -n 1; echo "${PIPESTATUS[0]}"'
    ended = shell(line, "decode", many, "--format", form, "--engine", engine)
    assert len(ended.stdout.splitlines()) == 2
    assert ended.stdout.endswith(b"\n0\n")
    assert ended.stderr == b""


@both
def test_a_dash_is_stdout(engine: Engine) -> None:
    arguments = ("decode", WRITES, "--format", "csv", "--fields", "n,message", "--engine", engine)
    plain, dash = run(*arguments), run(*arguments, "-o", "-")
    assert plain.stdout == dash.stdout != b""


# -- the ledger of a reading that ends early ---------------------------------------------------------------------------


def ledgers(path: Path, tmp_path: Path, **options: Any) -> list[dict[str, Any]]:
    """The ledger of a run with each engine, once as lines and once as tables."""
    found = []
    for engine in ENGINES:
        for form in (DecodeFormat.NDJSON, DecodeFormat.PARQUET):
            out, book = tmp_path / f"{engine}.{form}", tmp_path / "ledger.json"
            try:
                decode([path], format_=form, output=out, engine=engine, ledger=book, **options)
            except DecodeError:
                assert options["strict"]
            found.append(json.loads(book.read_text()))
            if form is DecodeFormat.PARQUET and found[-1]["total"]["frames"]:
                assert json.loads((out / "ledger.json").read_text()) == found[-1]
    return found


@pytest.mark.parametrize("path", [WRITES, PROBLEMS, CAPTURES / "offramp/u2k_drop5.pcap"], ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "options",
    [
        {"count": 1},
        {"count": 9},
        {"count": 4, "where": 'side == "server"'},
        {"strict": True},
        {"strict": True, "count": 12},
    ],
    ids=str,
)
def test_both_engines_keep_the_ledger_of_what_was_shown(path: Path, options: dict[str, Any], tmp_path: Path) -> None:
    first, *others = ledgers(path, tmp_path, **options)
    assert others == [first] * 3
    for account in (first["total"], *first["connections"]):
        places = ("frame_bytes", "problem_bytes", "other_bytes")
        assert account["payload_bytes"] == sum(account[name] for name in places)
    if options == {"count": 9}:
        assert sum(first["total"][name] for name in ("frames", "problems", "gaps")) <= 9


def test_the_ledger_of_a_count_that_is_not_reached_is_that_of_all(tmp_path: Path) -> None:
    all_of_it, *_ = ledgers(PROBLEMS, tmp_path)
    assert ledgers(PROBLEMS, tmp_path, count=1_000_000) == [all_of_it] * 4


@both
def test_the_totals_are_those_of_what_was_shown(engine: Engine) -> None:
    ended = run("decode", WRITES, "--count", "3", "--engine", engine)
    sizes = [json.loads(line)["length"] for line in _first(3)]
    assert ended.stderr.decode() == (
        f"wiretool: 3 frames in 1 connection; {sum(sizes)} bytes: {sum(sizes)} in frames\n"
    )


def _first(count: int) -> list[bytes]:
    return run("decode", WRITES, "--format", "ndjson", "--count", str(count)).stdout.splitlines()


# -- a connection that is not there ------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("form", [DecodeFormat.NDJSON, DecodeFormat.TEXT, DecodeFormat.PARQUET])
def test_a_connection_that_is_not_there_is_told(form: DecodeFormat, engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^no connection 999: there are 0 to 1$"):
        decode([WRITES], format_=form, connection=999, output=tmp_path / "out", engine=engine)


@both
def test_of_a_connection_that_is_there_nothing_is_told(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in ({"connection": 1}, {"connection": 0, "count": 1}, {"connection": 1, "where": "n < 0"}):
        decode([WRITES], format_=DecodeFormat.NDJSON, output=tmp_path / "out", engine=engine, **options)
    assert capsys.readouterr().err == ""


@both
def test_slice_tells_of_a_connection_that_is_not_there(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=r"^no connection 999: there are 0 to 1$"):
        slice_([WRITES], output=tmp_path / "out.pcapng", connection=999, engine=engine)
    assert capsys.readouterr().err == ""
    assert not (tmp_path / "out.pcapng").exists()


def test_a_bad_path_costs_nobody_the_ledger_of_the_last_run(tmp_path: Path) -> None:
    book = tmp_path / "ledger.json"
    book.write_text("older")
    with pytest.raises(UsageError, match="no such file"):
        decode([tmp_path / "gone.pcap"], ledger=book)
    assert book.read_text() == "older"


@pytest.mark.parametrize("form", ["csv", "json", "ndjson", "parquet", "arrow"])
def test_the_ending_of_the_output_says_the_format(form: str, tmp_path: Path) -> None:
    inferred, given = tmp_path / "one" / f"x.{form.upper()}", tmp_path / "two" / "x"
    for path in (inferred, given):
        path.parent.mkdir()
    assert run("decode", WRITES, "-o", inferred).returncode == 0
    assert run("decode", WRITES, "-o", given, "--format", form).returncode == 0
    if inferred.is_dir():
        assert sorted(path.name for path in inferred.iterdir()) == sorted(path.name for path in given.iterdir())
    else:
        assert inferred.read_bytes() == given.read_bytes()


@pytest.mark.parametrize("name", ["x", "x.txt", "x.log", "x.LOG"])
def test_a_file_without_extension_and_one_of_text_is_text(name: str, tmp_path: Path) -> None:
    assert run("decode", WRITES, "-o", tmp_path / name, "--count", "3").returncode == 0
    assert (tmp_path / name).read_bytes() == run("decode", WRITES, "--count", "3").stdout


@pytest.mark.parametrize(
    ("command", "known"),
    [
        (["decode", WRITES], ".json, .ndjson, .csv, .parquet, .arrow, .txt, .log"),
        (["stats", WRITES], ".json, .txt, .log"),
        (["diff", WRITES, WRITES], ".ndjson, .json, .txt, .log"),
        (["replay", PROBLEMS], ".ndjson, .json, .txt, .log"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_an_extension_of_no_format_is_refused(command: list[str | Path], known: str, tmp_path: Path) -> None:
    out = tmp_path / "x.foo"
    ended = run(*command, "-o", out)
    told = f"wiretool: -o {out}: no format has the extension .foo; expected {known}, or add --format\n"
    assert (ended.returncode, ended.stdout, ended.stderr.decode()) == (2, b"", told)
    assert not out.exists()


def test_an_extension_of_no_format_is_for_who_names_one(tmp_path: Path) -> None:
    out = tmp_path / "x.foo"
    assert run("decode", WRITES, "-o", out, "--format", "csv").returncode == 0
    assert out.read_bytes() == run("decode", WRITES, "--format", "csv").stdout


def test_a_full_disk_has_no_summary() -> None:
    capture = Path(__file__).parents[2] / "captures" / "sbp" / "rs_append.pcap"
    command = [sys.executable, "-m", "wiretool", "decode", str(capture), "-o", "/dev/full"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 74
    assert "No space left on device" in ended.stderr
    assert " frames" not in ended.stderr
