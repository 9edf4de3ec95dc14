import json
from pathlib import Path

import pytest

from tests.bench.pravega_appends import make_capture
from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run

GOLDEN = Path(__file__).parent.parent / "golden"


def capture() -> bytes:
    return run("encode", GOLDEN / "pravega.jsonl", "--protocol", "pravega", "--format", "pcap").stdout


def test_numbers_for_programs(tmp_path: Path) -> None:
    ended = run("stats", "-", "--format", "json", "-o", tmp_path / "out", given=capture())
    assert (ended.returncode, ended.stdout) == (0, b"")
    numbers = json.loads((tmp_path / "out").read_text())
    assert numbers["total"]["frames"] == 13
    assert {"kind": "segment", "name": "orders/eu/0.#epoch.0"}.items() <= numbers["subjects"][0].items()


@needs_protocol("offramp")
@pytest.mark.parametrize(
    "command",
    [["stats", "PCAP"], ["replay", "PCAP", "--speed", "max"], ["diff", "PCAP", "PCAP"]],
    ids=lambda each: each[0],
)
def test_the_name_of_the_output_says_the_format(command: list[str], tmp_path: Path) -> None:
    capture = Path(__file__).parents[2] / "captures" / "offramp" / "plain.pcap"
    words = [str(capture) if word == "PCAP" else word for word in command]
    assert run(*words, "-o", tmp_path / "out.json").returncode == 0
    assert isinstance(json.loads((tmp_path / "out.json").read_text()), dict | list)


def test_a_capture_cut_short_still_has_its_numbers() -> None:
    ended = run("stats", "-", given=capture()[:-400])
    assert ended.returncode == 3
    assert b"frames" in ended.stdout
    assert ended.stderr.count(b"\n") == 1


def test_both_engines_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    make_capture(path, 400, 5, 40, 1, connections=3)
    told = [run("stats", path, "--engine", engine, "--format", "json") for engine in ("rows", "columns", "auto")]
    assert [each.returncode for each in told] == [0, 0, 0]
    assert told[0].stdout == told[1].stdout == told[2].stdout
    piped = run("stats", "-", "--engine", "columns", "--format", "json", given=path.read_bytes())
    assert piped.stdout == told[0].stdout
    assert json.loads(piped.stdout)["total"]["frames"] == 4 * 3 + 400 * 5


@pytest.mark.parametrize("engine", ["rows", "columns"])
def test_a_file_cut_short_still_has_its_numbers(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(capture()[:-400])
    ended = run("stats", path, "--engine", engine)
    assert ended.returncode == 3
    assert b"frames" in ended.stdout
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize("engine", ["rows", "columns"])
def test_what_is_no_capture_costs_nobody_the_last_numbers(tmp_path: Path, engine: str) -> None:
    path, last = tmp_path / "notes.md", tmp_path / "last"
    path.write_text("# Notes\n")
    last.write_text("of the last run")
    ended = run("stats", path, "--engine", engine, "-o", last)
    assert (ended.returncode, ended.stdout) == (3, b"")
    assert last.read_text() == "of the last run"
    assert ended.stderr.count(b"\n") == 1


def test_no_such_engine() -> None:
    assert run("stats", "-", "--engine", "steam").returncode == 2
