"""How `wiretool replay` ends where it is stopped, or something outside fails: what there is by then is kept."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.forked import Forked
from tests.helpers.servers import wiretool

CAPTURES = Path(__file__).parents[3] / "captures"
WRITE = CAPTURES / "pravega" / "write.pcap"
PLAIN = CAPTURES / "offramp" / "plain.pcap"
STOPPING = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


def replay(*arguments: object) -> subprocess.CompletedProcess[str]:
    return wiretool("replay", *map(str, arguments))


def unused_address() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def stopped(number: int, recorded: Path, option: str, *options: str, skip: int = 0) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a replay that gets a signal once it talks to a server that never says a word.

    Of connections before that, which it ends at once, the server has `skip`, such as the one that looks for it.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        with Forked("replay", recorded, option, host, *options) as process:
            server.settimeout(60)
            for _ in range(skip):
                server.accept()[0].close()
            link, _ = server.accept()
            with link:
                assert link.recv(16)
                process.send_signal(number)
                out, err = process.communicate(timeout=30)
    assert "Traceback" not in err
    return process.wait(), out, err


@STOPPING
def test_a_signal_leaves_a_report(number: signal.Signals) -> None:
    code, out, _ = stopped(number, WRITE, "--target", "--timeout", "60")
    assert code == 128 + number
    assert "stopped before its end" in out


@STOPPING
def test_a_signal_while_the_second_server_is_asked_is_no_difference_of_servers(number: signal.Signals) -> None:
    """The first is a mock, which is done."""
    code, out, _ = stopped(number, WRITE, "--against", "--timeout", "60", "--speed", "max", skip=1)
    assert code == 128 + number
    assert "stopped before its end" in out.splitlines()[-1]


@needs_protocol("offramp")
def test_a_signal_in_the_second_run_leaves_a_report_of_what_is_no_noise() -> None:
    code, out, _ = stopped(signal.SIGTERM, PLAIN, "--target", "--learn-noise", "--speed", "max", skip=1)
    assert code == 143
    assert "stopped before its end" in out


@needs_protocol("offramp")
@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_standard_stream_may_be_closed(tmp_path: Path, stream: int) -> None:
    report = tmp_path / "report"
    command = [sys.executable, "-m", "wiretool", "replay", str(PLAIN), "--speed", "max", "-o", str(report)]
    ended = subprocess.run(["sh", "-c", f'exec "$0" "$@" {stream}>&-', *command], timeout=60, check=False)
    assert ended.returncode == 0
    assert "no finding" in report.read_text().splitlines()[0]


def test_options_that_make_no_sense_leave_the_last_recording_as_it_was(tmp_path: Path) -> None:
    own = tmp_path / "own.pcapng"
    own.write_bytes(b"of the last run")
    for target in ("--target", "--against"):
        ended = replay(WRITE, target, unused_address(), "--record", own, "--fault", 'message == "Hello": drop')
        assert ended.returncode == 2
        assert "--fault and --faults: not allowed with --target" in ended.stderr
    ended = replay(WRITE, "--target", f"nowhere={unused_address()}", "--target", unused_address(), "--record", own)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert own.read_bytes() == b"of the last run"


def test_a_server_that_is_not_there_leaves_the_last_recording_as_it_was(tmp_path: Path) -> None:
    own = tmp_path / "own.pcapng"
    own.write_bytes(b"of the last run")
    assert replay(WRITE, "--target", unused_address(), "--record", own).returncode == 4
    assert own.read_bytes() == b"of the last run"


def test_the_second_server_is_missed_before_the_first_is_played_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        here, absent = f"127.0.0.1:{first.getsockname()[1]}", unused_address()
        ended = replay(WRITE, "--target", here, "--against", absent)
        first.setblocking(False)
        with pytest.raises(BlockingIOError):
            first.accept()
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr == f"wiretool: cannot reach {absent}: Connection refused\n"


@needs_protocol("offramp")
def test_a_recording_that_the_disk_does_not_take_costs_nobody_the_report() -> None:
    ended = replay(PLAIN, "--speed", "max", "--record", "/dev/full")
    assert ended.returncode == 74
    assert "no finding" in ended.stdout.splitlines()[0]
    why = "cannot write /dev/full: No space left on device: the recording ends there; the report is complete"
    assert ended.stderr == f"wiretool: {why}\n"
