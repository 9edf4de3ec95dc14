"""A server program as conform starts it: real processes on the loopback that listen, end, hang and leave children."""

import os
import shlex
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from wiretool.errors import PeerError, UsageError
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.programs import server_process, server_stderr
from wiretool.net.programs.server_process import ServerProcess
from wiretool.net.programs.server_stderr import ServerStderr

#: Accepts at each port of its arguments; the bytes of a client name the exit code, or the signal, that it ends by.
SERVER = """
import os, selectors, socket, sys
waiting = selectors.DefaultSelector()
for port in sys.argv[1:]:
    waiting.register(socket.create_server(("127.0.0.1", int(port))), selectors.EVENT_READ)
while True:
    for key, _ in waiting.select():
        end, _ = key.fileobj.accept()
        order = end.recv(10).decode()
        if order.startswith("-"):
            os.kill(os.getpid(), int(order[1:]))
        elif order:
            os._exit(int(order))
"""
WAIT_S = 20.0


def free() -> Address:
    """Return an address at which nothing listens."""
    with socket.create_server((LOOPBACK, 0)) as taken:
        return Address(LOOPBACK, taken.getsockname()[1])


def command(*addresses: Address, program: str = SERVER) -> str:
    return shlex.join([sys.executable, "-c", program, *(str(address.port) for address in addresses)])


def accepts(address: Address) -> bool:
    try:
        socket.create_connection(address, 1).close()
    except OSError:
        return False
    return True


def end(server: ServerProcess, address: Address, order: str) -> str:
    """Have the server end, and return how it did."""
    with socket.create_connection(address, 1) as client:
        client.sendall(order.encode())
        client.settimeout(WAIT_S)
        client.recv(1)
    give_up_s = time.monotonic() + WAIT_S
    while not (death := server.death()):
        assert time.monotonic() < give_up_s, "the server did not end"
    return death


def gone(address: Address) -> bool:
    """Return whether nothing listens any more, within a time."""
    give_up_s = time.monotonic() + WAIT_S
    while is_there := accepts(address):
        if time.monotonic() > give_up_s:
            break
    return not is_there


def test_it_accepts_at_every_address_and_is_stopped_at_the_end() -> None:
    addresses = [free(), free()]
    with ServerProcess(command(*addresses), addresses) as server:
        assert all(accepts(address) for address in addresses)
        assert server.death() == ""
    assert not any(accepts(address) for address in addresses)
    assert server.death() == "the server was ended by SIGTERM"


@pytest.mark.parametrize(
    ("order", "death"),
    [
        ("7", "the server ended with exit code 7"),
        ("0", "the server ended with exit code 0"),
        (f"-{signal.SIGKILL.value}", "the server was ended by SIGKILL"),
    ],
)
def test_a_death_is_named_and_the_server_started_again(order: str, death: str) -> None:
    address = free()
    with ServerProcess(command(address), [address]) as server:
        assert end(server, address, order) == death
        server.restart()
        assert (server.restarts, server.why_lost, server.death()) == (1, "", "")
        assert accepts(address)


def test_a_server_that_does_not_start_again_is_lost(tmp_path: Path) -> None:
    address, mark = free(), tmp_path / "started"
    once = f"import pathlib, sys\nmark = pathlib.Path({str(mark)!r})\nif mark.exists(): sys.exit(5)\nmark.touch()\n"
    with ServerProcess(command(address, program=once + SERVER), [address]) as server:
        end(server, address, "1")
        server.restart()
        assert server.why_lost == f"the server ended with exit code 5 before it accepted connections at {address}"
        server.restart()
        assert server.restarts == 1


def test_an_address_in_use_is_refused_before_the_server_is_started(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    with (
        socket.create_server((LOOPBACK, 0)) as taken,
        pytest.raises(UsageError, match=r"--command: 127\.0\.0\.1:\d+ is in use already; stop the server there first"),
        ServerProcess(f"touch {mark}", [Address(LOOPBACK, taken.getsockname()[1])]),
    ):
        pass
    assert not mark.exists()


def test_a_server_that_never_listens_is_stopped(tmp_path: Path) -> None:
    address, other = free(), free()
    why = rf"the server did not accept connections at {other} within 0\.5 s"
    with pytest.raises(PeerError, match=why), ServerProcess(command(address), [address, other], ready_s=0.5):
        pass
    assert gone(address)


def test_a_server_that_ends_before_it_listens() -> None:
    address = free()
    with (
        pytest.raises(PeerError, match=f"exit code 3 before it accepted connections at {address}"),
        ServerProcess("sh -c 'exit 3'", [address]),
    ):
        pass


#: A server that writes on stderr and ends.
FAILING = "import sys; sys.stderr.write('loading\\n' * 9 + '\\nfatal: no config\\n'); sys.exit(3)"


@pytest.mark.parametrize("is_quiet", [False, True])
def test_the_error_of_a_server_that_does_not_start_has_its_stderr(
    is_quiet: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    address = free()
    words = shlex.join([sys.executable, "-c", FAILING])
    with pytest.raises(PeerError) as caught, ServerProcess(words, [address], is_quiet=is_quiet):
        pass
    lines = "loading / loading / loading / loading / fatal: no config"
    assert str(caught.value).endswith(f"accepted connections at {address}; its stderr ends with: {lines}")
    assert capfd.readouterr().err == ("" if is_quiet else "loading\n" * 9 + "\nfatal: no config\n")


def test_the_error_of_a_server_that_never_listens_has_its_stderr() -> None:
    words = shlex.join([sys.executable, "-c", "import sys, time; print('waiting', file=sys.stderr); time.sleep(60)"])
    with (
        pytest.raises(PeerError, match=r"within 1 s; its stderr ends with: waiting$"),
        ServerProcess(words, [free()], ready_s=1.0),
    ):
        pass


def test_the_stderr_of_a_running_server_is_copied(capfd: pytest.CaptureFixture[str]) -> None:
    address = free()
    program = f"import sys\nprint('ready', file=sys.stderr)\n{SERVER}"
    with ServerProcess(command(address, program=program), [address]) as server:
        assert server.death() == ""
        assert "ready\n" in capfd.readouterr().err


def test_a_large_stderr_is_copied_whole_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server_stderr, "FILE_BYTES_MAX", 100)
    stderr = ServerStderr(is_quiet=False)
    with stderr.file:
        for number in range(3):
            stderr.file.write(b"%d" % number * 150 + b"\n")
            stderr.copy()
            assert os.fstat(stderr.file.fileno()).st_size == 0
        assert stderr.words().endswith("2" * 150)
        stderr.forget()
        assert stderr.words() == ""
    assert capfd.readouterr().err == "".join(str(number) * 150 + "\n" for number in range(3))
    stderr.copy()


def test_the_children_of_a_script_are_stopped_with_it() -> None:
    address = free()
    with ServerProcess(shlex.join(["sh", "-c", f"{command(address)} & wait"]), [address]):
        assert accepts(address)
    assert gone(address)


@pytest.mark.skipif(sys.platform != "linux" and "CI" not in os.environ, reason="orphans are found on Linux only")
def test_a_server_in_a_session_of_its_own_is_stopped_with_the_script() -> None:
    address = free()
    script = f"setsid {command(address)} & exec sleep 60"
    with ServerProcess(shlex.join(["sh", "-c", script]), [address]):
        assert accepts(address)
    assert gone(address)


def test_a_server_that_ignores_the_request_to_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "STOP_S", 0.2)
    address = free()
    deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SERVER
    with ServerProcess(command(address, program=deaf), [address]) as server:
        pass
    assert gone(address)
    assert server.death() == "the server was ended by SIGKILL"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("", "expected a program and its arguments"),
        ("'unfinished", "a quote or an escape without its end"),
        ("/no/such/program --port 1", "--command /no/such/program: No such file or directory"),
    ],
)
def test_commands_that_cannot_be_run(words: str, why: str) -> None:
    addresses: Sequence[Address] = [free()]
    with pytest.raises(UsageError, match=why), ServerProcess(words, addresses):
        pass
