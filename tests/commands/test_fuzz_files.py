"""`wiretool fuzz` with folders of findings and damaged captures."""

import re
from pathlib import Path

import pytest

from tests.helpers.servers import wiretool

CAPTURE = Path(__file__).parents[2] / "captures" / "sbp" / "rs_append.pcap"
#: Bytes before the packets of a file, and before the bytes of each packet.
PCAP_HEADER, PACKET_HEADER = 24, 16
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


@pytest.mark.parametrize("options", [(), ("--self",)])
def test_damaged_bytes_inside_a_capture_are_named(folder: Path, options: tuple[str, ...]) -> None:
    """The capture is whole, and a message in it is not: before, that was not said."""
    data = bytearray(CAPTURE.read_bytes())
    data[2400] ^= 0xFF
    (folder / "bytes.pcap").write_bytes(data)
    ended = wiretool("fuzz", "sbp", "--seeds", "bytes.pcap", *options, *FEW)
    assert ended.returncode == 0, ended.stderr
    named = r"bytes.pcap: \d+ problems? in the bytes of its connections, the first in packet \d+, .*: \w+: at byte"
    assert re.search(named, ended.stderr), ended.stderr


def test_a_gap_in_a_capture_is_named(folder: Path) -> None:
    """A packet with payload is missing."""
    data, at, packets = CAPTURE.read_bytes(), PCAP_HEADER, []
    while at < len(data):
        end = at + PACKET_HEADER + int.from_bytes(data[at + 8 : at + 12], "little")
        packets.append(data[at:end])
        at = end
    packets.remove(max(packets[:20], key=len))
    (folder / "gap.pcap").write_bytes(data[:PCAP_HEADER] + b"".join(packets))
    ended = wiretool("fuzz", "sbp", "--seeds", "gap.pcap", *FEW)
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"gap\.pcap: (\d+ problems? and )?1 gap in the bytes of its connections", ended.stderr)


def test_a_sound_capture_is_read_without_a_word(folder: Path) -> None:
    ended = wiretool("fuzz", "pravega", "--seeds", str(CAPTURE.parents[1] / "pravega" / "py_bytestream.pcap"), *FEW)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_empty_capture_is_called_empty(folder: Path) -> None:
    (folder / "empty.pcap").touch()
    ended = wiretool("fuzz", "sbp", "--seeds", "empty.pcap", *FEW)
    assert ended.returncode == 3
    assert ended.stderr == "wiretool: empty.pcap: the file is empty; expected a capture with packets\n"
