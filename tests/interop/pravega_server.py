"""The server that the real Pravega clients talk to: `wiretool serve pravega` in a process of its own.

With PRAVEGA_CONTROLLER=HOST:PORT in the environment it is the server there instead: so the same scenarios are held
against a real Pravega. What needs a server with options of its own is left out then.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.interop.processes import server

#: A machine that has to have everything; elsewhere what is missing is left out, and said so.
IS_CI = os.environ.get("CI") == "true"
#: Whether PyPI has a wheel of `pravega` for this machine.
HAS_WHEEL = sys.version_info[:2] == (3, 11) and platform.machine() == "x86_64" and sys.platform == "linux"
ELSEWHERE = os.environ.get("PRAVEGA_CONTROLLER", "")

LOOPBACK = "127.0.0.1:0"
CONTROL_S = 30.0


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is to be found."""

    controller: str
    #: Of the control API; empty where it has none.
    control_at: str = ""

    def control(self, *words: str) -> list[Any]:
        """What `wiretool control` prints: a JSON value a line."""
        wiretool = [sys.executable, "-m", "wiretool", "control", self.control_at, *words]
        done = subprocess.run(wiretool, check=True, timeout=CONTROL_S, capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def pravega_server(folder: Path, *options: str) -> Iterator[Server]:
    """A mock of our own while the block runs, which may not have stumbled."""
    if ELSEWHERE:
        assert not IS_CI, "in CI every server is one of our own"
        pytest.skip(f"needs a server with options of its own, not the one at {ELSEWHERE}")
    serve = [sys.executable, "-m", "wiretool", "serve", "pravega", "--listen", LOOPBACK, "--controller", LOOPBACK]
    with server([*serve, *options], folder) as (doors, log):
        control = re.search(r"control API at http://(\S+)", log.read_text())
        yield Server(doors["controller"], control.group(1) if control else "")
    assert "Traceback" not in log.read_text(), log.read_text()


@contextmanager
def faulty_server(folder: Path, rule: str) -> Iterator[Server]:
    """A mock with a fault rule that must have been hit when the block ends."""
    with pravega_server(folder, "--fault", rule, "--control", LOOPBACK) as server:
        yield server
        [found] = server.control("rules")
        assert found["hits"] > 0
