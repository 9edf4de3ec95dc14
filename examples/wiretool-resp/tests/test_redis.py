"""RESP as redis-server, redis-cli and PyPI redis speak it: captures, the mock, replay, and fuzzing."""

import json
from pathlib import Path
from typing import Any

import pytest
import redis
from clients import cli, publish, session

from conftest import recording, wiretool


def records_of(capture: Path, *options: object) -> list[dict[str, Any]]:
    """Decode a capture strictly."""
    ended = wiretool("decode", capture, "--strict", "--format", "ndjson", *options)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def check_pairs(records: list[dict[str, Any]]) -> None:
    """Every frame decodes, and every command has a reply: the next one of its connection, in order."""
    assert {record["kind"] for record in records} == {"frame"}
    by_number = {record["n"]: record for record in records}
    asked = [
        n for n, record in by_number.items() if record["side"] == "client" and record["fields"].get("line") != "\r\n"
    ]
    answered = [record["reply_to"] for record in records if "reply_to" in record]
    assert asked
    assert set(asked) == set(answered)
    for connection in {record["connection"] for record in records}:
        mine = [n for n in answered if by_number[n]["connection"] == connection]
        assert mine == sorted(mine)


@pytest.mark.parametrize("protocol", [2, 3])
def test_captures_of_pypi_redis_decode(server: int, tmp_path: Path, protocol: int) -> None:
    capture = tmp_path / "a.pcapng"
    with recording(server, capture) as port:
        results = session(port, protocol)
    assert results[2:4] == [b"\xff\x00", None]
    records = records_of(capture)
    check_pairs(records)
    commands = [record for record in records if record["message"] == "Command"]
    assert len(commands) > 250
    assert all(sum(each.get("reply_to") == record["n"] for each in records) == 1 for record in commands)
    assert ("HELLO" in {record["fields"]["name"] for record in commands}) == (protocol == 3)


@pytest.mark.parametrize("protocol", [2, 3])
def test_published_messages_answer_nothing(server: int, tmp_path: Path, protocol: int) -> None:
    capture = tmp_path / "a.pcapng"
    with recording(server, capture) as port:
        publish(port, protocol)
    records = records_of(capture)
    check_pairs(records)
    pushed = [record for record in records if "message" in json.dumps(record["fields"]) and record["side"] == "server"]
    assert len(pushed) == 3
    assert not any("reply_to" in record for record in pushed)
    assert {record["message"] for record in pushed} == {"Push" if protocol == 3 else "Reply"}


@pytest.mark.parametrize("options", [(), ("-3",), ("--pipe",)])
def test_captures_of_redis_cli_decode(server: int, tmp_path: Path, options: tuple[str, ...]) -> None:
    capture = tmp_path / "a.pcapng"
    with recording(server, capture) as port:
        cli(port, *options)
    # Inline commands may be of any protocol in lines, so the port has to tell.
    records = records_of(capture, "--port", f"{server}=resp")
    check_pairs(records)
    assert ("InlineCommand" in {record["message"] for record in records}) == (options == ("--pipe",))


@pytest.mark.parametrize("options", [(), ("-3",)])
def test_redis_cli_finds_the_mock_as_the_server(server: int, mock: int, options: tuple[str, ...]) -> None:
    assert cli(mock, *options) == cli(server, *options)


@pytest.mark.parametrize("protocol", [2, 3])
def test_pypi_redis_finds_the_mock_as_the_server(server: int, mock: int, protocol: int) -> None:
    assert session(mock, protocol) == session(server, protocol)


def test_a_recording_of_the_server_replays_on_the_mock(server: int, tmp_path: Path) -> None:
    capture = tmp_path / "a.pcapng"
    with recording(server, capture) as port:
        session(port, 2)
    ended = wiretool("replay", capture, "--speed", "max")
    assert ended.returncode == 0, ended.stdout
    assert "no finding" in ended.stdout


def test_in_resp_3_only_the_number_of_the_connection_differs(server: int, tmp_path: Path) -> None:
    capture, expected = tmp_path / "a.pcapng", tmp_path / "expect.toml"
    with recording(server, capture) as port:
        session(port, 3)
    expected.write_text('[[accept]]\nmessage = "Reply"\nfield = "value.map[3][1]"\nreason = "a number of its own"\n')
    ended = wiretool("replay", capture, "--speed", "max", "--expect", expected)
    assert ended.returncode == 0, ended.stdout


def test_a_recording_of_the_mock_replays_on_the_server(server: int, mock: int, tmp_path: Path) -> None:
    capture = tmp_path / "a.pcapng"
    with recording(mock, capture) as port:
        session(port, 2)
    ended = wiretool("replay", capture, "--speed", "max", "--target", f"127.0.0.1:{server}")
    assert ended.returncode == 0, ended.stdout
    assert "no finding" in ended.stdout


def test_a_changed_reply_is_found(server: int, tmp_path: Path) -> None:
    capture = tmp_path / "a.pcapng"
    with recording(server, capture) as port:
        cli(port)
    ended = wiretool("replay", capture, "--speed", "max", "--fault", 'fields.value == 4: set value="other"')
    assert ended.returncode == 1
    assert 'live      "other"' in ended.stdout


def test_fuzzing_finds_nothing_in_the_mock(server: int, tmp_path: Path) -> None:
    capture = tmp_path / "a.pcapng"
    with recording(server, capture) as port:
        cli(port)
        cli(port, "--pipe")
    ended = wiretool("fuzz", "resp", "--seeds", capture, "-o", tmp_path / "findings", "--time", "5s")
    assert ended.returncode == 0, ended.stdout
    assert "0 findings" in ended.stdout


def test_fuzzing_finds_at_most_silence_in_the_server(server: int, tmp_path: Path) -> None:
    """Redis looks for the end of an inline command with `strchr`: after a NUL it waits for more."""
    capture = tmp_path / "a.pcapng"
    with recording(server, capture) as port, redis.Redis(port=port) as client:
        client.set("a", 1)
        client.incr("a")
        client.rpush("l", 1, 2, 3)
        client.lrange("l", 0, -1)
    target = "--target", f"127.0.0.1:{server}", "--timeout", "0.2s"
    findings, report = tmp_path / "findings", tmp_path / "a.json"
    ended = wiretool("fuzz", "resp", "--seeds", capture, *target, "-o", findings, "--time", "6s", "--json", report)
    assert ended.returncode in (0, 1), ended.stderr
    assert all("-silent-" in folder.name for folder in findings.glob("0*")), ended.stdout
    assert json.loads(report.read_text())["runs"] > 50
    with redis.Redis(port=server) as client:
        assert client.ping()


def test_rows_and_columns_agree_on_damaged_captures(server: int, tmp_path: Path) -> None:
    capture = tmp_path / "a.pcapng"
    with recording(server, capture) as port:
        cli(port, "-3")
        publish(port, 2)
    ended = wiretool("fuzz", "resp", "--self", "--seeds", capture, "--runs", 60, "-o", tmp_path / "findings")
    assert ended.returncode == 0, ended.stdout


def test_tables_conformance_and_the_rest_need_nothing_more(server: int, tmp_path: Path) -> None:
    capture, tables = tmp_path / "a.pcapng", tmp_path / "tables"
    with recording(server, capture) as port:
        session(port, 3)
    assert "99" in wiretool("stats", capture).stdout
    assert wiretool("decode", capture, "-o", tmp_path / "a.parquet").returncode == 0
    assert wiretool("pipeline", "run", capture, "-o", tables).returncode == 0
    sql = """select count(*) as n from "resp.Command" where name = 'LRANGE'"""
    assert wiretool("pipeline", "sql", tables, sql).stdout == "n\n3\n"
    sql = "select distinct error from exchanges where error is not null order by error"
    assert wiretool("pipeline", "sql", tables, sql).stdout.split() == ["error", "ERR", "WRONGTYPE"]
    assert "2 pass" in wiretool("conform", "resp", "--capture", capture).stdout
    refused = wiretool("conform", "resp")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "it has no conformance cases; expected one of " in refused.stderr


def test_bench_sends_one_command_again_and_again(server: int) -> None:
    command = json.dumps({"message": "Command", "fields": {"name": "INCR", "arguments": ["count"]}})
    target = "--target", f"127.0.0.1:{server}"
    ended = wiretool("bench", "--protocol", "resp", *target, "--message", command, "--duration", "1s")
    # Its verdict depends on how busy the machine is.
    assert ended.returncode in (0, 1), ended.stderr
    with redis.Redis(port=server) as client:
        assert int(client.get("count")) > 100
