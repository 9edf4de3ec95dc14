"""`wiretool pipeline stream`: what it says while captures grow, and how it ends."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.helpers.forked import run

CAPTURES = Path(__file__).parents[3] / "captures"
WRITE = CAPTURES / "pravega" / "write.pcap"
PATIENCE_S = 60


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """The command for a folder that holds the beginning of a capture."""
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / "a.pcap").write_bytes(WRITE.read_bytes()[:60_000])
    return ["pipeline", "stream", str(folder), "-o", str(tmp_path / "t"), "--checkpoint", str(tmp_path / "c")]


def frames(root: Path) -> int:
    return int(ds.dataset(root / "frames", format="parquet", partitioning="hive").count_rows())


def test_what_is_there_and_what_comes_later(words: list[str], tmp_path: Path) -> None:
    first = run(*words, "--once")
    lines = first.stderr.decode().splitlines()
    assert (first.returncode, first.stdout) == (0, b"")
    assert re.fullmatch(r"wiretool: batch 0: 416 packets \(0\.1 MB\), 428 records, 2 open; in \d+\.\d s", lines[0])
    assert lines[1:] == [f"wiretool: 428 records in {tmp_path / 't'}; connections: 0 closed, 2 still open"]
    (tmp_path / "captures" / "a.pcap").write_bytes(WRITE.read_bytes())
    last = run(*words, "--once", "--finish", "--strict")
    assert last.returncode == 0
    assert last.stderr.decode().splitlines()[-1].endswith("128,140 in frames")
    once = run("pipeline", "run", tmp_path / "captures", "-o", tmp_path / "run")
    assert once.stderr.decode().split(": ", 2)[2] == last.stderr.decode().splitlines()[-1].split(": ", 2)[2] + "\n"
    assert frames(tmp_path / "t") == frames(tmp_path / "run")


def test_at_the_end_it_says_of_broken_captures_what_run_says(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "captures" / "empty.pcap").touch()
    (tmp_path / "captures" / "head.pcap").write_bytes(WRITE.read_bytes()[:10])
    (tmp_path / "captures" / "link.pcap").symlink_to("nowhere")
    (tmp_path / "captures" / "nothing.pcap.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "captures" / "two.pcap").write_bytes(WRITE.read_bytes()[:2])
    assert run(*words, "--once", "--strict").returncode == 0
    ended = run(*words, "--once", "--finish", "--strict")
    once = run("pipeline", "run", tmp_path / "captures", "-o", tmp_path / "run", "--strict")
    assert ended.returncode == once.returncode == 3
    wanted, found = (sorted(each.stderr.decode().splitlines()[:-1]) for each in (once, ended))
    assert [line for line in found if " batch " not in line] == wanted
    assert [re.split("captures/|: byte", line)[1] for line in wanted] == [
        "a.pcap is damaged; the tables have the part before the damage",
        "empty.pcap is empty, skipped",
        "head.pcap is damaged; the tables have the part before the damage",
        "link.pcap cannot be read: No such file or directory; the tables have none of it",
        "nothing.pcap.gz is empty: no packets",
        "two.pcap cannot be read",
    ]


def test_a_damaged_head_is_damage(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "captures" / "head.pcap.gz").write_bytes(gzip.compress(b"no head" + WRITE.read_bytes()))
    awaited, ended = run(*words, "--once"), run(*words, "--once", "--finish")
    assert (awaited.returncode, ended.returncode) == (3, 3)
    assert b"head.pcap.gz skipped: cannot be read: byte 0: neither pcap nor pcapng" in awaited.stderr
    assert b"head.pcap.gz cannot be read: byte 0: neither pcap nor pcapng" in ended.stderr
    damages = {
        Path(each["path"]).name: each.get("damage", "")
        for each in json.loads((tmp_path / "t" / "manifest.json").read_text())["inputs"]
    }
    assert damages["head.pcap.gz"].startswith("cannot be read: byte 0: neither pcap nor pcapng")


def test_report_and_sql_take_the_tables(words: list[str], tmp_path: Path) -> None:
    run(*words, "--once")
    told = run("pipeline", "report", tmp_path / "t")
    assert told.returncode == 0
    assert b"AppendBlockEnd" in told.stdout
    assert b"1 capture, " in told.stdout
    assert b" UTC; connections that may still be open: 2" in told.stdout
    count = run(
        "pipeline", "sql", tmp_path / "t", "SELECT count(*) AS n, min(protocol) AS p FROM frames", "--format", "json"
    )
    assert json.loads(count.stdout) == [{"n": frames(tmp_path / "t"), "p": "pravega"}]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_watches_until_it_is_stopped(words: list[str], number: int, code: int, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "wiretool", *words, "--interval", "1"], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert process.stderr is not None
    try:
        assert process.stderr.readline().startswith(b"wiretool: batch 0: ")
        with (tmp_path / "captures" / "a.pcap").open("ab") as file:
            file.write(WRITE.read_bytes()[60_000:])
        assert process.stderr.readline().startswith(b"wiretool: batch 1: ")
        process.send_signal(number)
        said = process.stderr.read().decode()
        assert process.wait(PATIENCE_S) == code
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    name = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
    so_far = "2 batches were written since the start, the tables are complete; the same command continues"
    assert said == f"wiretool: stopped by {name}: {so_far}\n"
    assert sorted(os.listdir(tmp_path / "c")) == ["commits", "copies", "held", "states", "stream.json"]
    assert not [name for name in os.listdir(tmp_path / "t") if name.startswith(".")]


def test_a_folder_that_is_taken_away_ends_it(words: list[str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "wiretool", *words, "--interval", "1"], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert process.stderr is not None
    try:
        assert process.stderr.readline().startswith(b"wiretool: batch 0: ")
        shutil.rmtree(tmp_path / "captures")
        said = process.stderr.read().decode()
        assert process.wait(PATIENCE_S) == 2
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert f"{tmp_path / 'captures'} cannot be looked into: No such file or directory" in said
    assert run("pipeline", "report", tmp_path / "t").returncode == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--finish"], "--finish: requires --once"),
        (["--strict"], "--strict: requires --once"),
        (["--master", "local", "--engine", "local"], "--master: requires --engine spark"),
        (["--interval", "soon"], "--interval 'soon': not a duration"),
        (["--idle", "0"], "--idle '0': out of range; expected 1ms to 7d"),
        (["--protocol", "spb"], "spb"),
    ],
)
def test_options_that_make_no_sense(words: list[str], more: list[str], says: str, tmp_path: Path) -> None:
    ended = run(*words, *more)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert says in ended.stderr.decode()
    assert not (tmp_path / "t").exists()


def test_where_tables_cannot_be_written_those_before_stay(words: list[str], tmp_path: Path) -> None:
    """The system refuses what makes one file larger than it allows; a batch that was before is as it was."""
    run(*words, "--once")
    before = frames(tmp_path / "t")
    (tmp_path / "captures" / "a.pcap").write_bytes(WRITE.read_bytes())
    code = (
        "import resource, signal, sys; from wiretool.cli import main; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000)); sys.argv[0] = 'wiretool'; main()"
    )
    started = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-B", "-c", code, *words, "--once"], capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert time.monotonic() - started < PATIENCE_S
    (line,) = ended.stderr.decode().splitlines()
    assert (ended.returncode, ended.stdout) == (74, b"")
    assert "File too large" in line
    assert frames(tmp_path / "t") == before
    assert not [name for name in os.listdir(tmp_path / "t") if name.startswith(".")]
    assert run(*words, "--once", "--finish").returncode == 0
    assert frames(tmp_path / "t") > before
