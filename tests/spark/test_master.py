"""Spark's masters: one that does not answer is reported before Spark starts."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.forked import run
from tests.helpers.spark import needs_pyspark
from wiretool.errors import PeerError, UsageError
from wiretool.pipeline.spark import master as module
from wiretool.pipeline.spark.master import check_master

CAPTURES = Path(__file__).parents[2] / "captures"


@pytest.fixture
def open_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_one_master_that_accepts_is_enough(open_port: int, closed_port: int) -> None:
    address = f"127.0.0.1:{open_port}"
    check_master(f"spark://127.0.0.1:{closed_port},{address}")
    with pytest.raises(PeerError):
        check_master(f"spark://127.0.0.1:{closed_port}")


def test_a_master_that_refuses_is_named_with_the_reason_and_the_remedy(closed_port: int) -> None:
    with pytest.raises(PeerError) as caught:
        check_master(f"spark://127.0.0.1:{closed_port}")
    assert str(caught.value) == (
        f"cannot reach Spark's master spark://127.0.0.1:{closed_port}: Connection refused; "
        "start one there, or use --master 'local[*]'"
    )


def test_of_several_masters_each_has_its_reason(closed_port: int) -> None:
    one = f"127.0.0.1:{closed_port}"
    with pytest.raises(PeerError, match=f"{one}: Connection refused, {one}: Connection refused; start"):
        check_master(f"spark://{one},{one}")


@pytest.mark.parametrize("master", ["spark://", "spark://:7077", "spark://host", "spark://host:0", "spark://a:1,b"])
def test_a_master_without_host_or_port_is_wrong_usage(master: str) -> None:
    with pytest.raises(UsageError, match="expected"):
        check_master(master)


@pytest.mark.parametrize("master", [None, "local[2]", "yarn", "k8s://https://127.0.0.1:1"])
def test_other_masters_are_left_to_spark(master: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "why_unreachable", lambda *_, **__: pytest.fail("a connection was tried"))
    check_master(master)
    assert not str(master).startswith(module.SCHEME)


@pytest.mark.parametrize("command", ["run", "stream", "sql"])
def test_commands_end_soon_with_exit_code_4(command: str, closed_port: int, tmp_path: Path) -> None:
    needs_pyspark()
    tables, master = tmp_path / "tables", f"spark://127.0.0.1:{closed_port}"
    captures: list[str | Path] = [CAPTURES / "sbp" / "rs_append.pcap", "-o", tables]
    if command == "sql":
        assert run("pipeline", "run", *captures).returncode == 0
    arguments: dict[str, list[str | Path]] = {
        "run": captures,
        "stream": [CAPTURES / "sbp", "-o", tables, "--checkpoint", tmp_path / "checkpoint", "--once"],
        "sql": [tables, "SELECT 1"],
    }
    begun = time.monotonic()
    ended = run("pipeline", command, *arguments[command], "--engine", "spark", "--master", master)
    lines = ended.stderr.decode().splitlines()
    assert (ended.returncode, len(lines)) == (4, 1), lines
    assert f"cannot reach Spark's master {master}: Connection refused; start one there" in lines[0]
    assert time.monotonic() - begun < 20
