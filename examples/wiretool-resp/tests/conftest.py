"""A redis-server on loopback, and wiretool as a program. A missing tool fails: nothing is skipped."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

DEADLINE_S = 30.0
WIRETOOL = (sys.executable, "-m", "wiretool")


def free_port() -> int:
    """Return a port of loopback on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def wait_until(is_ready: Callable[[], bool], what: str) -> None:
    """Return when that is so; fail where it takes too long."""
    until = time.monotonic() + DEADLINE_S
    while not is_ready():
        assert time.monotonic() < until, f"{what}: not within {DEADLINE_S} s"
        time.sleep(0.02)


def answers(port: int) -> bool:
    """Return whether a server of RESP answers there."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as link:
            link.sendall(b"PING\r\n")
            return link.recv(16) == b"+PONG\r\n"
    except OSError:
        return False


def last_words(port: int, data: bytes) -> bytes:
    """Send bytes to a server that closes the connection for them; return its replies, and `(closed)`."""
    with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as link:
        link.sendall(data)
        return b"".join(iter(lambda: link.recv(4_096), b"")) + b"(closed)"


def wiretool(*words: object) -> subprocess.CompletedProcess[str]:
    """Run wiretool to its end."""
    command = [*WIRETOOL, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


@contextmanager
def running(words: Sequence[object], folder: Path) -> Iterator[int]:
    """Run `wiretool serve` or `tap` on a free port, which is yielded, until the block ends."""
    port, ready = free_port(), folder / "ready.json"
    ready.unlink(missing_ok=True)
    listen = ("--listen", f"127.0.0.1:{port}", "--ready-file", str(ready))
    process = subprocess.Popen([*WIRETOOL, *map(str, words), *listen], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: ready.exists() and bool(json.loads(ready.read_text() or "{}")), " ".join(map(str, words)))
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) in (0, 130)


@contextmanager
def recording(upstream: int, file: Path) -> Iterator[int]:
    """Record what clients of the port that is yielded and a server say to each other."""
    words = ("tap", "resp", "--upstream", f"127.0.0.1:{upstream}", "--record", file, "-o", os.devnull)
    with running(words, file.parent) as port:
        yield port


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a redis-server."""
    port, folder = free_port(), tmp_path_factory.mktemp("redis")
    options = f"--save {'_'} --appendonly no --port {port} --bind 127.0.0.1 --dir {folder}".split()
    options[1] = ""
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers(port), "redis-server")
        yield port
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


@pytest.fixture
def server(redis_port: int) -> int:
    """The port of a redis-server without data."""
    with socket.create_connection(("127.0.0.1", redis_port), 5) as link:
        link.sendall(b"FLUSHALL\r\n")
        assert link.recv(16) == b"+OK\r\n"
    return redis_port


@pytest.fixture
def mock(tmp_path: Path) -> Iterator[int]:
    """The port of the mock server."""
    with running(("serve", "resp"), tmp_path) as port:
        yield port
