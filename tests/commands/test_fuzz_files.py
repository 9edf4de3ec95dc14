"""`wiretool fuzz` with folders of findings and damaged captures."""

from pathlib import Path

import pytest
from tests.helpers.servers import wiretool

CAPTURE = Path(__file__).parents[2] / "captures" / "sbp" / "rs_append.pcap"
FEW = ("--case", "number/*", "--runs", "3")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_of_findings_is_replayed(folder: Path) -> None:
    assert wiretool("fuzz", "pravega", "--mutant", "attribute-absent-zero", *FEW, "-o", "found").returncode == 1
    names = sorted(each.name for each in (folder / "found").iterdir())
    ended = wiretool("fuzz", "pravega", "--replay", "found")
    assert ended.returncode == 1, ended.stderr
    assert [line.partition(":")[0] for line in ended.stdout.splitlines()] == [f"found/{name}" for name in names]
    other = wiretool("fuzz", "sbp", "--replay", "found")
    assert other.returncode == 2
    assert other.stderr == f"wiretool: --replay found/{names[0]}: a finding of pravega; expected one of sbp\n"


@pytest.mark.parametrize("options", [(), ("--self",), ("--mutant", "pong-without-payload")])
def test_a_damaged_capture_ends_with_3(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "cut.pcap").write_bytes(CAPTURE.read_bytes()[:-5])
    ended = wiretool("fuzz", "sbp", "--seeds", "cut.pcap", *options, *FEW, "--json", "report.json")
    assert ended.returncode == 3, ended.stderr
    assert "the sessions before the damage are seeds" in ended.stderr
    assert (folder / "report.json").exists()


def test_an_empty_capture_is_called_empty(folder: Path) -> None:
    (folder / "empty.pcap").touch()
    ended = wiretool("fuzz", "sbp", "--seeds", "empty.pcap", *FEW)
    assert ended.returncode == 3
    assert ended.stderr == "wiretool: empty.pcap: the file is empty; expected a capture with packets\n"
