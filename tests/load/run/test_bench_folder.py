"""The temporary folders of bench: those of killed runs go, all others stay."""

import tempfile
from pathlib import Path

import pytest

from wiretool.folder_locks import HELD
from wiretool.load.run.bench_folder import PREFIX, working_folder


def test_a_folder_of_a_killed_run_is_removed_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, new, other = tmp_path / f"{PREFIX}left", tmp_path / f"{PREFIX}new", tmp_path / "other"
    for folder in (left, new, other):
        folder.mkdir()
    (left / HELD).touch()
    (other / HELD).touch()
    link = tmp_path / f"{PREFIX}link"
    link.symlink_to(other)
    lines: list[str] = []
    with working_folder(lines.append) as first, working_folder(lines.append) as second:
        assert first.is_dir()  # a run beside it has not removed it
        assert second.is_dir()
    assert lines == [f"{left} removed: left by a killed run"]
    assert sorted(tmp_path.iterdir()) == sorted([new, other, link])
