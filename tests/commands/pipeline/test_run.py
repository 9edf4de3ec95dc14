"""`wiretool pipeline run`: what it says and how it ends, and that nothing is lost where it ends badly."""

import errno
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from tests.bench.pravega_appends import make_capture
from tests.helpers.captures import packets_of, pcap_bytes
from tests.helpers.closed import LONG
from tests.helpers.forked import run
from wiretool.cli import app
from wiretool.folder_locks import HELD
from wiretool.pipeline.staging import NEW, OLD, STAGING

CAPTURES = Path(__file__).parents[3] / "captures"
WRITE = CAPTURES / "pravega" / "write.pcap"
APPEND = CAPTURES / "sbp" / "rs_append.pcap"


def frames(root: Path) -> int:
    return int(ds.dataset(root / "frames", format="parquet").count_rows())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as taps leave it: a capture cut in mid-write, a packed one, one that holds nothing, and a note."""
    folder = tmp_path / "captures"
    (folder / "deep").mkdir(parents=True)
    (folder / "cut.pcap").write_bytes(WRITE.read_bytes()[:60_000])
    (folder / "deep" / "packed.pcap.gz").write_bytes(gzip.compress(APPEND.read_bytes(), 1))
    (folder / "new.pcap").touch()
    (folder / "README.txt").write_text("of the tap in the cellar")
    (folder / ".hidden.pcap").write_bytes(APPEND.read_bytes())
    return folder


def test_a_folder(folder: Path, tmp_path: Path) -> None:
    root = tmp_path / "tables"
    ended = run("pipeline", "run", folder, "-o", root)
    lines = ended.stderr.decode().splitlines()
    assert (ended.returncode, ended.stdout) == (3, b"")
    assert lines[0] == f"wiretool: {folder / 'new.pcap'} is empty, skipped"
    assert lines[1] == f"wiretool: {folder / 'README.txt'} skipped: not a capture"
    damaged = f"{folder / 'cut.pcap'} is damaged; the tables have the part before the damage: byte "
    assert lines[2].startswith(f"wiretool: {damaged}")
    assert " tables in " in lines[3]
    assert len(lines) == 4
    manifest = json.loads((root / "manifest.json").read_text())
    assert [Path(each["path"]).name for each in manifest["inputs"]] == ["cut.pcap", "packed.pcap.gz"]
    assert "ends early" in manifest["inputs"][0]["damage"]
    assert frames(root) == sum(each["rows"] for each in manifest["tables"]["frames"]) > 450
    assert run("pipeline", "run", folder, "-o", root, "--strict").returncode == 3
    assert run("pipeline", "run", APPEND, "-o", root, "--strict").returncode == 3  # it has problems
    assert run("pipeline", "run", WRITE, "-o", root, "--strict").returncode == 0


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("{none}", "-o", "{new}"), 2, "{none}: no such file; expected capture files, or folders of them"),
        (("{empty}", "-o", "{new}"), 2, "no captures in {empty}: give capture files, or folders that hold some"),
        (("{text}", "-o", "{new}"), 3, "{text}: byte 0: neither pcap nor pcapng"),
        (
            ("{fifo}", "-o", "{new}"),
            3,
            "{fifo}: not a seekable file; expected a regular file; copy it into one",
        ),
        (("{long}", "-o", "{new}"), 2, "{long}: cannot be read: File name too long"),
        (("{write}", "-o", "{long}"), 2, "cannot write {long}: File name too long"),
        (("{write}", "-o", "{text}"), 2, "cannot write {text}: not a folder; expected a folder for tables"),
        (("{write}", "-o", "{other}"), 2, "{other} holds files that wiretool pipeline has not written"),
        (("{other}", "-o", "{other}"), 2, "is in {other}, which would be replaced; expected another folder"),
        (("{write}", "-o", "{new}", "--master", "local", "--engine", "local"), 2, "--master: requires --engine spark"),
        (("{write}", "-o", "{new}", "--protocol", "nfs"), 2, "nfs"),
        (("{write}", "-o", "{new}", "--splits", "0"), 2, "--splits"),
        (("{write}",), 2, "-o"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(words: tuple[str, ...], code: int, why: str, tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("none", "empty", "text", "other", "new", "fifo")}
    places["long"] = tmp_path / LONG
    places["empty"].mkdir()
    os.mkfifo(places["fifo"])
    places["text"].write_text("no capture")
    places["other"].mkdir()
    shutil.copy(APPEND, places["other"])
    ended = run("pipeline", "run", *(word.format(write=WRITE, **places) for word in words))
    (line,) = ended.stderr.decode().splitlines()
    assert (ended.returncode, ended.stdout) == (code, b"")
    assert why.format(**places) in line
    assert not places["new"].exists()
    assert [path.name for path in places["other"].iterdir()] == [APPEND.name]


def test_a_capture_without_read_permission_is_misuse_as_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shut(monkeypatch)
    for given in (APPEND, APPEND.parent):
        ended = CliRunner().invoke(app, ["pipeline", "run", str(given), "-o", str(tmp_path / "tables")])
        (line,) = [line for line in ended.stderr.splitlines() if "is not a file" not in line]
        assert line.startswith(f"wiretool: {APPEND.parent}")
        assert line.endswith(": permission denied")
        assert (ended.exit_code, ended.stdout) == (2, "")
        assert not (tmp_path / "tables").exists()


def test_a_pipe_without_read_permission_is_misuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    shut(monkeypatch)
    ended = CliRunner().invoke(app, ["decode", str(pipe)])
    why = "permission denied"
    assert (ended.exit_code, ended.stdout, ended.stderr) == (2, "", f"wiretool: {pipe}: {why}\n")


def shut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse to open any file by its path, for root too, except modules: pytest reads them to rewrite their asserts."""
    open_path = Path.open

    def refuse(self: Path, *args: Any, **kwargs: Any) -> object:
        if self.suffix == ".py":
            return open_path(self, *args, **kwargs)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "open", refuse)


def test_what_has_no_packets_is_told(tmp_path: Path) -> None:
    (tmp_path / "head.pcap").write_bytes(WRITE.read_bytes()[:24])
    (tmp_path / "none.pcap").touch()
    ended = run("pipeline", "run", tmp_path / "head.pcap", tmp_path / "none.pcap", "-o", tmp_path / "tables")
    assert ended.returncode == 1
    lines = ended.stderr.decode().splitlines()[:-2]
    assert lines == [f"wiretool: {tmp_path / name} is empty: no packets" for name in ("head.pcap", "none.pcap")]


def test_a_damaged_manifest_is_not_said_to_be_none(tmp_path: Path) -> None:
    root = tmp_path / "tables"
    assert run("pipeline", "run", APPEND, "-o", root).returncode == 0
    (root / "manifest.json").write_text("{")
    ended = run("pipeline", "run", APPEND, "-o", root)
    assert ended.returncode == 2
    assert b"its manifest.json is not of wiretool, damaged or unreadable" in ended.stderr
    assert run("pipeline", "report", root).stderr.endswith(b"; make the tables again\n")


def test_tables_of_an_earlier_run_stay_until_there_are_others(tmp_path: Path) -> None:
    root, text = tmp_path / "tables", tmp_path / "text"
    text.write_text("no capture")
    assert run("pipeline", "run", APPEND, "-o", root).returncode == 0
    before = frames(root)
    assert run("pipeline", "run", text, "-o", root).returncode == 3
    assert frames(root) == before
    assert run("pipeline", "run", WRITE, "-o", root).returncode == 0
    assert frames(root) != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables", "text"]


def test_a_full_disk(tmp_path: Path) -> None:
    root = tmp_path / "tables"
    assert run("pipeline", "run", APPEND, "-o", root).returncode == 0
    before = frames(root)
    script = (
        "import resource, sys; from wiretool.__main__ import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)); main()"
    )
    words = ["pipeline", "run", str(WRITE), "-o", str(root)]
    ended = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 74
    assert "cannot write all tables in" in ended.stderr
    assert "File too large" in ended.stderr
    assert frames(root) == before
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


def test_what_a_killed_run_has_left_is_cleared_away(tmp_path: Path) -> None:
    root, left = tmp_path / "tables", tmp_path / f".tables{STAGING}-0"
    assert run("pipeline", "run", APPEND, "-o", root).returncode == 0
    (left / NEW).mkdir(parents=True)
    (left / HELD).touch()
    root.rename(left / OLD)  # it was just about to put its own in their place
    (tmp_path / "text").write_text("no capture")
    assert run("pipeline", "run", tmp_path / "text", "-o", root).returncode == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables", "text"]
    assert frames(root)


def test_a_capture_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder, root = tmp_path / "captures", tmp_path / "tables"
    folder.mkdir()
    shutil.copy(WRITE, folder)
    assert run("pipeline", "run", folder, "-o", root, "--strict").returncode == 0
    (folder / "vanished.pcap").symlink_to(tmp_path / "nothing")
    ended = run("pipeline", "run", folder, "-o", root, "--strict")
    assert ended.returncode == 3
    why = "vanished.pcap cannot be read: No such file or directory; the tables have none of it"
    assert why in ended.stderr.decode()


@pytest.mark.parametrize(("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGHUP, "SIGHUP")])
def test_a_run_that_is_stopped_leaves_nothing_half_done(tmp_path: Path, number: int, name: str) -> None:
    capture, root = tmp_path / "large.pcap", tmp_path / "tables"
    make_capture(capture, packets=40_000, connections=400)
    command = [sys.executable, "-m", "wiretool", "pipeline", "run", str(capture), "-o", str(root)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob(f".tables.*/{NEW}/frames")):
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert stderr.splitlines()[-1] == f"wiretool: stopped by {name}: no tables were made"
    assert [path.name for path in tmp_path.iterdir()] == ["large.pcap"]


def test_a_run_says_what_a_killed_one_has_left(tmp_path: Path) -> None:
    capture, root = tmp_path / "large.pcap", tmp_path / "tables"
    make_capture(capture, packets=40_000, connections=400)
    command = [sys.executable, "-m", "wiretool", "pipeline", "run", str(capture), "-o", str(root)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not (left := list(tmp_path.glob(f".tables.*/{NEW}/frames"))):
        assert process.poll() is None
        os.sched_yield()
    process.kill()
    process.wait(60)
    shutil.copy(WRITE, capture)
    ended = run("pipeline", "run", capture, "-o", root)
    assert ended.returncode == 0
    removed = f"wiretool: {left[0].parents[1]} removed: left by a killed run"
    assert ended.stderr.decode().splitlines()[0] == removed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large.pcap", "tables"]


# -- runs that read nothing --------------------------------------------------------------------------------------------


def udp(count: int) -> bytes:
    """A capture of packets without TCP."""
    head = bytes.fromhex("00000000000000000000000008004500001c00010000401100000a0000010a000002000100020008")
    return pcap_bytes(packets_of([head + bytes(2)] * count))


def test_captures_without_tcp(tmp_path: Path) -> None:
    (tmp_path / "udp.pcap").write_bytes(udp(3))
    ended = run("pipeline", "run", tmp_path / "udp.pcap", "-o", tmp_path / "t")
    assert ended.returncode == 3
    assert "nothing was read: 3 of 3 packets not read: 3 UDP; expected TCP over" in ended.stderr.decode()


def fragment() -> bytes:
    """Return the first fragment of a datagram of TCP, without the others."""
    return bytes.fromhex("00000000000000000000000008004500001c00012000400600000a0000010a0000020001000200080000")


def test_fragments_of_an_incomplete_datagram_are_counted(tmp_path: Path) -> None:
    (tmp_path / "part.pcap").write_bytes(pcap_bytes(packets_of([fragment()])))
    ended = run("pipeline", "run", tmp_path / "part.pcap", "-o", tmp_path / "t")
    assert ended.returncode == 3
    lost = "1 of 1 packets not read: 1 IP fragment of an incomplete datagram"
    assert f"nothing was read: {lost}; expected TCP" in ended.stderr.decode()
    (tmp_path / "part.pcap").write_bytes(WRITE.read_bytes() + pcap_bytes(packets_of([fragment()]))[24:])
    ended = run("pipeline", "run", tmp_path / "part.pcap", "-o", tmp_path / "u")
    assert ended.returncode == 0
    assert re.search(r"1 of [0-9,]+ packets not read: 1 IP fragment of an incomplete datagram\n", ended.stderr.decode())


def test_packets_that_were_not_read_are_counted(tmp_path: Path) -> None:
    captures = tmp_path / "captures"
    captures.mkdir()
    (captures / "udp.pcap").write_bytes(udp(3))
    shutil.copy(WRITE, captures)
    ended = run("pipeline", "run", captures, "-o", tmp_path / "t")
    assert ended.returncode == 0
    assert re.search(r"wiretool: 3 of [0-9,]+ packets not read: 3 UDP\n", ended.stderr.decode())


def test_nothing_to_read_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(WRITE.read_bytes()[:24])
    root = tmp_path / "t"
    for words, says in (
        (["run", tmp_path / "empty.pcap", "-o", root], "nothing was read: no packets"),
        (["report", root], "nothing to report; the tables have no rows"),
        (["sql", root, "SELECT count(*) FROM frames"], "the tables have no rows"),
    ):
        ended = run("pipeline", *map(str, words))
        assert ended.returncode == 1
        assert says in ended.stderr.decode()


def test_a_report_of_a_time_in_which_there_was_nothing(tmp_path: Path) -> None:
    assert run("pipeline", "run", WRITE, "-o", tmp_path / "t").returncode == 0
    ended = run("pipeline", "report", tmp_path / "t", "--until", "2001-01-01T00:00")
    assert ended.returncode == 1
    assert "nothing to report; the tables have no rows in that time" in ended.stderr.decode()


def test_an_empty_folder_is_awaited_and_yet_no_end(tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    words: list[str | Path] = ["pipeline", "stream", tmp_path / "captures", "-o", tmp_path / "t"]
    words += ["--checkpoint", tmp_path / "c", "--once"]
    awaited, ended = run(*words), run(*words, "--finish")
    assert (awaited.returncode, ended.returncode) == (0, 1)
    for each in (awaited, ended):
        assert "nothing was read: no packets" in each.stderr.decode()
