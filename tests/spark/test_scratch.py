"""The folder for Spark's files: there while it is held, gone afterwards, whoever ends how."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wiretool.errors import UsageError
from wiretool.folder_locks import HELD
from wiretool.pipeline.spark.scratch import PREFIX, scratch, sweep

#: Makes a folder, says which, and is killed in it; with an argument, a child holds the folder until its input ends.
KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from wiretool.pipeline.spark.scratch import scratch

with scratch(Path(sys.argv[1])) as own:
    if len(sys.argv) > 2:
        subprocess.Popen(["cat"], stdout=subprocess.DEVNULL, pass_fds=(own.held,))
    print(own.path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def left_behind(folder: Path) -> Path:
    """A folder whose process was killed."""
    made = subprocess.run([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True)
    return Path(made.stdout.strip())


def test_it_is_gone_with_the_block(tmp_path: Path) -> None:
    with scratch(tmp_path) as own:
        (own.path / "deep" / "er").mkdir(parents=True)
        assert own.path.parent == tmp_path
        assert own.path.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


def test_one_in_use_is_left_alone(tmp_path: Path) -> None:
    with scratch(tmp_path) as first, scratch(tmp_path):
        assert (first.path / HELD).is_file()


def test_that_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    left = left_behind(tmp_path)
    assert left.is_dir()
    with scratch(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own.path]


def test_a_child_holds_it_too(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as end, os.fdopen(reading, "rb") as begin:
        command = [sys.executable, "-c", KILLED, str(tmp_path), "child"]
        made = subprocess.run(command, stdin=begin, stdout=subprocess.PIPE, text=True)
        left = Path(made.stdout.strip())
        sweep(tmp_path)
        assert left.is_dir()
        end.close()
        while left.is_dir():  # until the child has seen the end of its input
            sweep(tmp_path)


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}other").mkdir()
    (tmp_path / "spark-1").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / HELD).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    assert (elsewhere / HELD).is_file()


def test_where_none_can_be_made(tmp_path: Path) -> None:
    said = "Spark's files cannot be stored there: No such file"
    with pytest.raises(UsageError, match=said), scratch(tmp_path / "none"):
        pass
