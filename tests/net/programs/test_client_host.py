"""A client program as conform runs it: real processes against a mock on the loopback."""

import os
import shlex
import socket
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from tests.net.echo import EchoMock
from wiretool.errors import UsageError
from wiretool.net.programs import client_host, descendants
from wiretool.net.programs.client_host import OUTPUT_BYTES_MAX, ClientEnd, run_client
from wiretool.sinks.output import open_output
from wiretool.sinks.pcapng import Recording

FRAME = b"\x06hello"
#: Sends a frame to the address of its argument, prints the reply, and what the environment has.
CLIENT = f"""
import os, socket, sys
host, _, port = sys.argv[1].rpartition(":")
with socket.create_connection((host, int(port))) as end:
    end.sendall({FRAME!r})
    print(end.recv(100), sys.argv[1] == os.environ["WIRETOOL_ADDRESS"] == sys.argv[2])
"""


def run(*command: str, timeout_s: float = 20.0) -> tuple[ClientEnd, bytes]:
    """Run a command; return how it ended, and the recording."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "client.pcapng"
        with open_output(path) as out:
            ended = run_client(command, EchoMock(), (), Recording(out), timeout_s=timeout_s)
        return ended, path.read_bytes()


def python(program: str, *words: str, **options: float) -> ClientEnd:
    return run(sys.executable, "-c", program, *words, **options)[0]


def test_a_client_is_given_the_address_and_its_traffic_is_recorded() -> None:
    ended, recording = run(sys.executable, "-c", CLIENT, "{address}", "{echo}")
    assert (ended.exit_code, ended.output) == (0, f"{FRAME!r} True\n")
    assert recording.count(FRAME) == 2
    assert ended.stopped_by is None


@pytest.mark.parametrize(
    ("program", "code"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -9), ("", 0)]
)
def test_the_exit_code_is_that_of_the_client(program: str, code: int) -> None:
    assert python(program).exit_code == code


def test_the_end_of_the_output_is_kept_with_errors() -> None:
    ended = python("import sys; print('a' * 100_000, flush=True); print('last', file=sys.stderr)")
    assert len(ended.output) == OUTPUT_BYTES_MAX
    assert ended.output.endswith("aaa\nlast\n")


def test_a_client_that_does_not_end_is_stopped() -> None:
    ended = python("import time; print('ready', flush=True); time.sleep(100)", timeout_s=1.0)
    assert (ended.exit_code, ended.output) == (None, "ready\n")
    assert 1.0 <= ended.seconds < 6.0


def test_a_client_that_ignores_the_request_to_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_host, "STOP_S", 0.2)
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True)"
    ended = python(f"{program}; time.sleep(100)", timeout_s=1.0)
    assert (ended.exit_code, ended.output) == (None, "deaf\n")
    assert ended.seconds < 10.0


@pytest.mark.parametrize("last", ["wait", "exit 0"], ids=["does not end", "ended before"])
def test_the_children_of_a_client_are_stopped_with_it(last: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    mark = tmp_path / "listens"
    child = f"import pathlib, socket, time; held = socket.create_server(('127.0.0.1', {port})); "
    child += f"pathlib.Path({str(mark)!r}).touch(); time.sleep(100)"
    script = f"{shlex.join([sys.executable, '-c', child])} & while [ ! -e {mark} ]; do :; done; {last}"
    ended, _ = run("sh", "-c", script, timeout_s=3.0)
    assert mark.exists()
    assert ended.exit_code == (0 if last == "exit 0" else None)
    assert ended.seconds < 5.0
    give_up_s = time.monotonic() + 5.0
    while is_there := _listens(port):
        if time.monotonic() > give_up_s:
            break
    assert not is_there, "the child outlived the client"


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


#: Starts a process in a session of its own, prints its number, and may wait.
DAEMON = (
    "import subprocess, time; p = subprocess.Popen(['sleep', '61'], start_new_session=True); print(p.pid, flush=True)"
)


@pytest.mark.skipif(sys.platform != "linux" and "CI" not in os.environ, reason="orphans are found on Linux only")
@pytest.mark.parametrize(("last", "timeout_s"), [("", 30.0), ("; time.sleep(61)", 2.0)], ids=["ended", "late"])
def test_processes_in_sessions_of_their_own_are_stopped_with_the_client(last: str, timeout_s: float) -> None:
    others = psutil.Process().children()
    ended = python(DAEMON + last, timeout_s=timeout_s)
    assert not psutil.pid_exists(int(ended.output))
    assert not ended.left
    assert psutil.Process().children() == others


def test_a_process_that_cannot_be_stopped_is_named_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descendants.Descendants, "signal", lambda self, number: None)
    ended = python(DAEMON)
    left = psutil.Process(int(ended.output))
    left.kill()
    assert list(ended.left) == [f"process {left.pid} could not be stopped: sleep 61"]
    assert ended.seconds < 4.0
    left.wait()


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"--client: /no/such/program: No such file or directory"):
        run("/no/such/program")
