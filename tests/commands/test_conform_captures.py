"""`wiretool conform --capture` of damaged captures, and of captures without the protocol beside others."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.helpers.servers import wiretool

CAPTURES = Path(__file__).parents[2] / "captures"
WHOLE = CAPTURES / "sbp" / "rs_append.pcap"
#: Bytes of a capture that end within a packet.
CUT = 3000


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.pcap"
    path.write_bytes(WHOLE.read_bytes()[:CUT])
    return path


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A capture without a packet."""
    path = tmp_path / "empty.pcap"
    path.write_bytes(WHOLE.read_bytes()[:24])
    return path


@pytest.mark.parametrize(("case", "verdict"), [("sbp/traffic/client/2", "fail"), ("sbp/traffic/client/1", "pass")])
def test_damage_is_named_whatever_the_verdicts_are(case: str, verdict: str, damaged: Path, tmp_path: Path) -> None:
    files = {option: tmp_path / option.strip("-") for option in ("--json", "--junit", "--sarif")}
    words = [word for option, path in files.items() for word in (option, str(path))]
    ended = wiretool("conform", "sbp", "--case", case, "--capture", str(damaged), *words)
    damage = f"{damaged}: byte 2919: the record of packet 17 ends early: expected 190 bytes, 81 left"
    assert ended.returncode == 3, ended.stdout
    assert ended.stderr == f"wiretool: {damage}\n"
    report = json.loads(files["--json"].read_text())
    assert [each["verdict"] for each in report["cases"]] == [verdict]
    remark = f"{damage}; only the part before that is judged"
    assert report["remarks"] == [remark]
    assert report["is_success"] is False
    assert ElementTree.parse(files["--junit"]).findtext("testsuite/system-out") == remark
    (run,) = json.loads(files["--sarif"].read_text())["runs"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == remark


def test_damage_is_named_where_the_rest_lacks_the_protocol(damaged: Path) -> None:
    ended = wiretool("conform", "pravega", "--capture", str(damaged))
    assert ended.returncode == 3
    damage, lacking = ended.stderr.splitlines()
    assert damage.startswith(f"wiretool: {damaged}: byte 2919: ")
    assert "no connection of pravega in it; its connections are of sbp" in lacking


def test_damage_of_one_capture_excuses_no_other_without_the_protocol(damaged: Path, empty: Path) -> None:
    ended = wiretool("conform", "sbp", "--capture", str(WHOLE), str(damaged), str(empty), "--format", "json")
    assert ended.returncode == 3
    lacking = f"{empty}: no connection of sbp in it; expected captures of sbp"
    assert f"wiretool: {lacking}\n" in ended.stderr
    damage, *others = json.loads(ended.stdout)["remarks"]
    assert damage.startswith(f"{damaged}: byte 2919: ")
    assert others == [lacking]


def test_a_capture_with_nothing_before_its_damage_is_named_once(tmp_path: Path) -> None:
    short = tmp_path / "short.pcap"
    short.write_bytes(WHOLE.read_bytes()[:30])
    ended = wiretool("conform", "sbp", "--capture", str(WHOLE), str(short))
    assert ended.returncode == 3
    assert ended.stderr.count(str(short)) == 1, ended.stderr


def test_each_of_several_damaged_captures_is_named(damaged: Path, tmp_path: Path) -> None:
    second, short = tmp_path / "second.pcap", tmp_path / "short.pcap"
    second.write_bytes(WHOLE.read_bytes()[: CUT - 100])
    short.write_bytes(WHOLE.read_bytes()[:30])
    ended = wiretool("conform", "sbp", "--capture", str(damaged), str(second), str(short), "--format", "json")
    assert ended.returncode == 3
    report = json.loads(ended.stdout)
    assert report["is_success"] is False
    named = [remark.split(": ")[0] for remark in report["remarks"]]
    assert sorted(named) == sorted(map(str, (damaged, second, short)))
    told = [line.removeprefix("wiretool: ") for line in ended.stderr.splitlines()]
    assert [f"{line}; only the part before that is judged" for line in told] == report["remarks"]
