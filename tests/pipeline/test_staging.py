"""The folder that tables are made in: it takes its place as a whole, and none is lost or left lying about."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.closed import LONG, shut
from wiretool.errors import UsageError
from wiretool.folder_locks import HELD
from wiretool.pipeline.layout import Manifest, write_manifest
from wiretool.pipeline.staging import NEW, OLD, STAGING, check_root, staged

TABLES = Manifest([], {}, {}, 0, "local", {})
#: Is killed in the middle of a run.
KILLED = """
import os, signal, sys
from pathlib import Path
from wiretool.pipeline.staging import staged

with staged(Path(sys.argv[1]), []) as new:
    (new / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def make(root: Path, name: str) -> None:
    """Tables with a file of that name."""
    with staged(root, []) as new:
        (new / name).touch()
        write_manifest(new, TABLES)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_link_stays_one(tmp_path: Path) -> None:
    there, link = tmp_path / "there", tmp_path / "link"
    there.mkdir()
    link.symlink_to(there)
    for name in ("a", "b"):
        make(link, name)
        assert link.is_symlink()
        assert names(there) == sorted([name, "manifest.json"])
    assert names(tmp_path) == ["link", "there"]


def test_a_link_to_nothing_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "there")
    make(tmp_path / "link", "a")
    assert names(tmp_path / "deep") == ["there"]


def test_what_killed_runs_have_left_is_cleared_away(tmp_path: Path) -> None:
    root = tmp_path / "tables"
    make(root, "a")
    subprocess.run([sys.executable, "-c", KILLED, str(root)], check=False)
    assert len(names(tmp_path)) == 2
    with staged(root, []) as new:  # one that is under way
        make(root, "b")
        assert names(tmp_path) == [new.parent.name, "tables"]
        assert names(root) == ["b", "manifest.json"]


def test_tables_that_a_killed_run_was_replacing_get_their_place_again(tmp_path: Path) -> None:
    root = tmp_path / "tables"
    make(root, "a")
    left = tmp_path / f".tables{STAGING}-0"
    left.mkdir()
    (left / HELD).touch()
    root.rename(left / OLD)
    with staged(root, []) as new:
        assert names(root) == ["a", "manifest.json"]
        write_manifest(new, TABLES)
    assert names(tmp_path) == ["tables"]
    assert names(root) == ["manifest.json"]


def test_a_stop_while_tables_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "tables"
    make(root, "a")
    rename = Path.rename

    def stopped(path: Path, target: Path) -> Path:
        if path.name == NEW:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", stopped)
    with pytest.raises(KeyboardInterrupt):
        make(root, "b")
    assert names(root) == ["a", "manifest.json"]
    assert names(tmp_path) == ["tables"]


@pytest.mark.parametrize("end", ["99999999999999999999", "1", f"1-{OLD}", "x"])
def test_what_nobody_has_held_is_left_alone(end: str, tmp_path: Path) -> None:
    other = tmp_path / f".tables{STAGING}-{end}"
    other.mkdir()
    make(tmp_path / "tables", "a")
    make(tmp_path / "tables", "b")
    assert names(tmp_path) == [other.name, "tables"]


def test_a_link_with_such_a_name_is_left_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / HELD).touch()
    (tmp_path / f".tables{STAGING}-1").symlink_to(elsewhere)
    make(tmp_path / "tables", "a")
    assert names(elsewhere) == [HELD]


@pytest.mark.parametrize(
    ("root", "why"), [(".", r"cannot write \.: it is the current folder"), ("/", "where a file system begins")]
)
def test_folders_that_cannot_be_replaced(root: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=why), staged(Path(root), []):
        pytest.fail("it began")
    assert os.listdir() == []


def test_a_parent_that_takes_no_folder_is_named(tmp_path: Path) -> None:
    root = tmp_path / ("t" * 240)  # which leaves no room for what is added
    root.mkdir()
    why = rf"cannot write {root}: .* and {tmp_path} takes no folder for them: File name too long"
    with pytest.raises(UsageError, match=why), staged(root, []):
        pytest.fail("it began")
    assert root.is_dir()


def test_a_place_that_we_may_not_look_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shut"
    folder.mkdir()
    shut(folder, monkeypatch)
    for root, why in ((folder / "tables", "permission denied"), (tmp_path / LONG, "File name too long")):
        with pytest.raises(UsageError, match=rf"^cannot write {root}: {why}$"):
            check_root(root, [])
        with pytest.raises(UsageError, match=rf"^cannot write {root}: .*{why}$"), staged(root, []):
            pytest.fail("it began")
    assert os.listdir(tmp_path) == ["shut"]
