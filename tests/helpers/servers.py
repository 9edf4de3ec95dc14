"""`wiretool serve` and `tap` as processes of their own, as users start them."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.helpers.forked import Forked, run_text

START_S = 30.0
STOP_S = 20.0


@dataclass
class Server:
    """A server that runs; what it printed is there once it has stopped."""

    process: Forked
    doors: dict[str, tuple[str, int]]
    control: str = ""
    stdout: str = ""
    stderr: str = ""

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        self.process.send_signal(number)
        self.stdout, self.stderr = self.process.communicate(timeout=STOP_S)
        return self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=STOP_S)


def wiretool(*arguments: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return run_text(*arguments, timeout_s=timeout_s)


@contextmanager
def started(folder: Path, *arguments: str, name: str = "server") -> Iterator[Server]:
    """`wiretool ARGUMENTS --ready-file ...` in a folder, once it is ready; killed in the end if it still runs."""
    ready = folder / f"{name}.ready"
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    process = Forked(*arguments, "--ready-file", str(ready), env=environment, cwd=folder)
    with Server(process, {}) as server:
        told = wait_ready(process, ready)
        server.control = told.get("control", "")
        server.doors = {door: parted(address) for door, address in told["endpoints"].items()}
        yield server


def wait_ready(process: Forked, ready: Path) -> Any:
    """What the ready file says, once it is there; AssertionError with the server's words where it never is."""
    deadline = time.monotonic() + START_S
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError(f"no server: {process.communicate(timeout=STOP_S)}")
        time.sleep(0.01)
    return json.loads(ready.read_text())


def parted(address: str) -> tuple[str, int]:
    """`HOST:PORT` in its two parts."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
