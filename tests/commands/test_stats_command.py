import json
import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).parent.parent / "golden"


def run(*arguments: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "wiretool", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, timeout=60, check=False)


def capture() -> bytes:
    return run("encode", GOLDEN / "pravega.jsonl", "--protocol", "pravega", "--format", "pcap").stdout


def test_numbers_for_programs(tmp_path: Path) -> None:
    ended = run("stats", "-", "--format", "json", "-o", tmp_path / "out", given=capture())
    assert (ended.returncode, ended.stdout) == (0, b"")
    numbers = json.loads((tmp_path / "out").read_text())
    assert numbers["total"]["frames"] == 13
    assert {"kind": "segment", "name": "orders/eu/0.#epoch.0"}.items() <= numbers["subjects"][0].items()


def test_a_capture_cut_short_still_has_its_numbers() -> None:
    ended = run("stats", "-", given=capture()[:-400])
    assert ended.returncode == 3
    assert b"frames" in ended.stdout
    assert ended.stderr.count(b"\n") == 1
