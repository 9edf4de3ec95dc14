"""`wiretool bench --controller`: a stream is made for the load, found, and taken away, whatever became of the load."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.bench_lines import without_waiting
from tests.helpers.benches import is_progress, report, wait_for
from tests.helpers.servers import Server, started, wiretool
from tests.protocols.pravega_controller.load.controllers import ANSWERS, Scripted
from wiretool.commands.bench.controller import on_stream
from wiretool.commands.bench.options import BenchOptions, Spread
from wiretool.errors import Stopped
from wiretool.load.link import Link
from wiretool.load.planning.plan import Plan
from wiretool.load.planning.validate import Load
from wiretool.protocols.pravega_controller.load import client as pravega_controller
from wiretool.protocols.pravega_controller.load import streams
from wiretool.protocols.pravega_controller.load.client import Controller

ANY = "127.0.0.1:0"
SERVE = ("serve", "pravega", "--listen", ANY, "--controller", ANY)
SHORT = ("--appenders", "8", "--segments", "4", "--duration", "1", "--warmup", "0.3")
FIRST_SCOPES = ["_system"]


def address(server: Server, door: str = "controller") -> str:
    host, port = server.doors[door]
    return f"{host}:{port}"


def scopes(server: Server) -> list[str]:
    """The scopes that a controller has."""
    with closing(Controller(Link(*server.doors["controller"]))) as controller:
        found: list[str] = controller.ask("listScopes", {})["scopes"]
    return found


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Server]:
    """A mock with its controller, which has no scope of a load in the end."""
    with started(folder, *SERVE, *options) as server:
        yield server


def test_a_stream_is_made_loaded_checked_and_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with serving(tmp_path) as server:
        spread = ("--fetchers", "2", "--processes", "2", "--verify", "--json", str(path))
        ended = wiretool("bench", "--controller", address(server), *SHORT, *spread)
        assert scopes(server) == FIRST_SCOPES
    found = report(path)
    assert ended.returncode == (0 if found["valid"] else 1), ended.stderr
    assert all(is_progress(line) for line in without_waiting(ended.stderr.splitlines())), ended.stderr
    assert found["operations"]["append"]["count"] > 0
    assert found["operations"]["append"]["errors"] == 0
    assert found["operations"]["tail"]["events_per_s"] > 0
    verification = found["verification"]
    assert verification["found"] == 0
    assert verification["checked_events"] == verification["acknowledged_events"] > 0
    assert found["options"]["controller"] == address(server)
    assert found["options"]["target"] == address(server, "store")
    assert {"places", "token"}.isdisjoint(found["options"])


def test_stores_that_want_a_token_are_given_the_controllers(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with started(tmp_path, *SERVE, "--auth", "admin:secret") as server:
        load = ("--controller", address(server), *SHORT, "--fetchers", "1", "--verify", "--json", str(path))
        refused = wiretool("bench", *load)
        longer = wiretool("bench", *load, "--user", "admin:secret", "--duration", "10m")
        wiretool("bench", *load, "--user", "admin:secret")
    assert refused.returncode == 4
    assert f"the controller at {address(server)}: createScope: UNAUTHENTICATED" in refused.stderr
    assert longer.returncode == 2
    why = "a run of 601 s, and the controller's permission expires after 600 s"
    assert longer.stderr == f"wiretool: --duration 600: {why}\n"
    found = report(path)
    assert found["operations"]["append"]["count"] > 0
    assert found["operations"]["append"]["errors"] == 0
    assert found["verification"]["checked_events"] > 0
    assert not re.search(r"eyJ[\w-]+\.", path.read_text())  # a token has dots; the histograms, in Base64, have none
    assert "secret" not in path.read_text()


def test_a_target_stands_for_the_addresses_that_the_controller_gives(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        nowhere = f"127.0.0.1:{listening.getsockname()[1]}"
    with serving(tmp_path, "--advertise", nowhere) as server:
        load = ("--controller", address(server), *SHORT)
        unreached = wiretool("bench", *load)
        assert (unreached.returncode, unreached.stderr) == (
            4,
            f"wiretool: cannot reach {nowhere}: Connection refused\n",
        )
        assert scopes(server) == FIRST_SCOPES
        wiretool("bench", *load, "--target", address(server, "store"), "--json", str(path))
        assert scopes(server) == FIRST_SCOPES
    assert report(path)["operations"]["append"]["count"] > 0


def test_a_store_on_another_machine_is_to_be_allowed(tmp_path: Path) -> None:
    with serving(tmp_path, "--advertise", "192.0.2.7:12345") as server:
        ended = wiretool("bench", "--controller", address(server), *SHORT)
        assert scopes(server) == FIRST_SCOPES
    assert ended.returncode == 2
    says = r"--controller: bench-\w+/load/0\.#epoch\.0 at 192\.0\.2\.7:12345: another machine; --allow-remote "
    assert re.fullmatch(rf"wiretool: {says}192\.0\.2\.7 allows it\n", ended.stderr), ended.stderr


def running(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "wiretool", "bench", *arguments, "--duration", "60", "--warmup", "0"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_run_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving(tmp_path) as server:
        process = running("--controller", address(server), "--appenders", "2", "--hdr-log", str(log), "--verify")
        wait_for(log, process)
        assert len(scopes(server)) == 2
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        assert scopes(server) == FIRST_SCOPES
    assert process.returncode == 128 + signal.SIGINT, stderr
    assert "verified: all" in stdout
    assert "it was stopped after" in stdout


def test_what_is_left_on_a_server_that_dies_is_told(tmp_path: Path) -> None:
    path, log = tmp_path / "report.json", tmp_path / "log"
    with serving(tmp_path) as server:
        process = running(
            "--controller", address(server), "--appenders", "2", "--hdr-log", str(log), "--json", str(path)
        )
        wait_for(log, process)
        server.stop(signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 4, stderr
    left = rf"scope bench-\w+ is left on the server: cannot reach {re.escape(address(server))}: Connection refused"
    assert any(re.fullmatch(left, remark) for remark in report(path)["remarks"])
    assert re.search(left, stdout)


class Stopping(Scripted):
    """Somebody presses Ctrl-C when it is asked where a segment is, or something else."""

    def __init__(self, answers: dict[str, Any], method: str = "getURI") -> None:
        super().__init__(answers)
        self.method = method

    def send(self, data: bytes | bytearray) -> None:
        super().send(data)
        if self.method in self.asked:
            raise Stopped(signal.SIGINT)


@pytest.mark.parametrize(("answers", "is_told"), [(ANSWERS, False), ({}, True)])
def test_what_was_made_when_it_is_stopped_is_taken_away_or_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answers: dict[str, Any], is_told: bool
) -> None:
    wires = [Stopping(ANSWERS), last := Scripted(answers)]
    monkeypatch.setattr(pravega_controller, "CALL_S", 0.05)
    monkeypatch.setattr(streams, "Link", lambda host, port: wires.pop(0))
    plan = Plan(protocol="pravega", appenders=1, duration_s=1.0, run="run")
    with pytest.raises(Stopped), ExitStack() as stack:
        on_stream(BenchOptions(Load(), "", (), None, (), None, Spread(), "", controller="127.0.0.1:9090"), plan, stack)
    assert last.asked == (["sealStream"] if is_told else ["sealStream", "deleteStream", "deleteScope"])
    assert ("scope bench-run is left on the server" in capsys.readouterr().err) == is_told


def test_what_is_left_when_it_is_stopped_once_more_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wires = [Stopping(ANSWERS), Stopping(ANSWERS, "deleteStream")]
    monkeypatch.setattr(streams, "Link", lambda host, port: wires.pop(0))
    plan = Plan(protocol="pravega", appenders=1, duration_s=1.0, run="run")
    with pytest.raises(Stopped), ExitStack() as stack:
        on_stream(BenchOptions(Load(), "", (), None, (), None, Spread(), "", controller="127.0.0.1:9090"), plan, stack)
    told = "scope bench-run is left on the server: stopped during the deletion of the stream"
    assert told in capsys.readouterr().err


def test_a_store_is_no_controller(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ended = wiretool("bench", "--controller", address(server, "store"), *SHORT)
    assert ended.returncode == 4
    why = "this is gRPC, expected the wire protocol of the segment store; the controller listens at"
    assert f"the controller at {address(server, 'store')}: createScope: UNIMPLEMENTED {why}" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--controller", "x"], 2, "--controller 'x': not an address; expected HOST:PORT"),
        (
            ["--controller", "192.0.2.1:9090"],
            2,
            "--controller 192.0.2.1:9090: another machine; --allow-remote 192.0.2.1 allows it",
        ),
        (["--controller", "127.0.0.1:1"], 4, "cannot reach 127.0.0.1:1: Connection refused"),
        (
            ["--controller", "127.0.0.1:1", "--target", "192.0.2.1:1"],
            2,
            "--target 192.0.2.1:1: another machine; --allow-remote 192.0.2.1 allows it",
        ),
        (["--controller", "127.0.0.1:1", "--target", "y"], 2, "--target 'y'"),
        (
            ["--controller", "127.0.0.1:1", "--protocol", "sbp"],
            2,
            "--controller: only pravega has a controller, --prot",
        ),
        (["--controller", "127.0.0.1:1", "--fault", "message == 1: drop"], 2, "--fault: not allowed with --target"),
        (["--controller", "127.0.0.1:1", "--user", "me"], 2, "--user: not credentials; expected USER:PASSWORD"),
        (["--user", "a:b"], 2, "--user: requires --controller"),
    ],
)
def test_refusals_before_there_is_any_load(arguments: list[str], code: int, says: str) -> None:
    ended = wiretool("bench", *arguments)
    assert ended.returncode == code
    assert len(list(without_waiting(ended.stderr.splitlines()))) == 1
    assert re.search(says, ended.stderr), ended.stderr
