"""`wiretool bench --keep-slow`: what it writes is read again with `decode` and tshark, as its users do."""

import json
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.servers import wiretool
from tests.helpers.tools import run_tool

SHORT = ("--duration", "1", "--warmup", "0.2", "--no-verify")
#: Of a run with `--keep-slow`: the message of a request, and how it is answered.
RUNS = {
    "pravega": (("--appenders", "4"), "AppendBlockEnd", "DataAppended"),
    "pipeline": (("--appenders", "4", "--pipeline", "32", "--batch", "3"), "AppendBlockEnd", "DataAppended"),
    "conditional": (("--appenders", "4", "--conditional"), "ConditionalAppend", "DataAppended"),
    "sbp": (("--protocol", "sbp", "--appenders", "4", "--pipeline", "8"), "APPEND", "APPEND"),
    "sbp-0.1": (("--protocol", "sbp-0.1", "--appenders", "4", "--event-size", "uniform:50-1K"), "APPEND", "APPEND"),
}


def kept(path: Path) -> list[dict[str, Any]]:
    """What `decode` shows of a capture, in which nothing may be wrong."""
    shown = wiretool("decode", "--strict", "--format", "ndjson", str(path))
    assert shown.returncode == 0, shown.stderr
    records = [json.loads(line) for line in shown.stdout.splitlines()]
    assert {record["kind"] for record in records} <= {"frame"}
    return records


def counted(records: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    return Counter((record["side"], record["message"]) for record in records if record["kind"] == "frame")


@pytest.mark.parametrize("name", RUNS)
def test_each_slow_append_is_there_with_its_answer(tmp_path: Path, name: str) -> None:
    options, request, answer = RUNS[name]
    path = tmp_path / "slow.pcapng"
    ended = wiretool("bench", *options, *SHORT, "--keep-slow", str(path))
    assert f"wiretool: {path}: the slowest 100 exchanges, of " in ended.stderr
    records = kept(path)
    found = counted(records)
    assert found["client", request] == found["server", answer] == 100
    asked = {record["n"] for record in records if (record["side"], record["message"]) == ("client", request)}
    assert asked <= {record["reply_to"] for record in records if "reply_to" in record}


def test_of_the_draft_what_is_left_out_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "slow.pcapng"
    wiretool("bench", "--protocol", "pravega-draft", "--appenders", "3", *SHORT, "--keep-slow", str(path))
    shown = wiretool("decode", "--format", "ndjson", str(path))
    records = [json.loads(line) for line in shown.stdout.splitlines()]
    assert Counter(record["kind"] for record in records)["problem"] == 0
    assert counted(records)["client", "EndAppendBlock"] == 100


@needs_protocol("offramp")
def test_consumers_of_a_road_keep_what_they_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "slow.pcapng"
    options = ("--protocol", "offramp", "--fetchers", "3", "--rate", "4k", "--batch", "10")
    wiretool("bench", *options, *SHORT, "--keep-slow", str(path))
    found = counted(kept(path))
    assert found["client", "COMMIT"] == found["server", "COMMIT_RESPONSE"] > 0
    assert found["client", "REQUEST"] == found["server", "MESSAGE"]
    assert found["client", "COMMIT"] + found["client", "REQUEST"] == 100
    assert found["client", "HandshakeRequest"] == found["server", "HandshakeResponse"] > 0


def test_the_reads_of_a_backlog_are_kept_too(tmp_path: Path) -> None:
    path = tmp_path / "slow.pcapng"
    options = ("--appenders", "2", "--fetchers", "2", "--backlog", "--batch", "100", "--event-size", "1K")
    wiretool("bench", *options, *SHORT, "--keep-slow", str(path))
    found = counted(kept(path))
    assert found["client", "ReadSegment"] == found["server", "SegmentRead"] > 0
    assert found["client", "AppendBlockEnd"] + found["client", "ReadSegment"] == 100


def test_what_was_held_is_among_the_slowest_of_all_processes(tmp_path: Path) -> None:
    path = tmp_path / "slow.pcapng"
    rule = 'message == "AppendBlockEnd" nth=300: delay 400ms'
    options = ("--appenders", "4", "--processes", "2", "--fault", rule)
    wiretool("bench", *options, *SHORT, "--keep-slow", str(path))
    found = counted(kept(path))
    assert found["client", "AppendBlockEnd"] == found["server", "DataAppended"] == 100
    comments = run_tool("tshark", "-r", str(path), "-T", "fields", "-e", "frame.comment").split("\n")
    (slowest,) = [comment for comment in comments if comment.startswith("append 1 of 100: service ")]
    assert float(slowest.split()[5]) >= 400


def test_a_run_of_nothing_gives_a_capture_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "slow.pcapng"
    rule = 'message == "AppendBlockEnd": drop'
    ended = wiretool("bench", "--appenders", "2", *SHORT, "--fault", rule, "--keep-slow", str(path))
    assert f"wiretool: {path}: no exchange was answered\n" in ended.stderr
    shown = wiretool("decode", "--strict", str(path))
    assert (shown.returncode, shown.stdout) == (1, "")
    assert "nothing was read: no packets" in shown.stderr
    assert run_tool("tshark", "-r", str(path)) == ""


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ("--keep-slow", "-"),
            "--keep-slow -: a capture cannot share standard output with the report; expected a file",
        ),
        (
            ("--keep-slow", "same", "--json", "./same"),
            "--json and --keep-slow would both be written to same; expected different files",
        ),
        (
            ("--keep-slow", "new", "--pipeline", "100", "--event-size", "1MiB"),
            "--keep-slow: 64 appenders with 100 appends of up to 1,048,576 bytes on the way are 6,710,937,600 bytes "
            "to hold until they are answered; 1,073,741,824 are the most: make --pipeline, --batch or --event-size "
            "smaller",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = wiretool("bench", *words)
    assert ended.returncode == 2
    assert ended.stderr == f"wiretool: {why}\n"


def test_nobody_there_costs_nobody_the_last_capture(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
    path = tmp_path / "slow.pcapng"
    path.write_text("what was there")
    ended = wiretool("bench", "--target", address, "--keep-slow", str(path))
    assert ended.returncode == 4
    assert path.read_text() == "what was there"
