"""The server that the real Pravega clients talk to: `wiretool serve pravega` in a process of its own.

With PRAVEGA_CONTROLLER=HOST:PORT in the environment it is the server there instead: so the same scenarios are held
against a real Pravega. What needs a server with options of its own is left out then.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop.processes import server

#: A machine that has to have everything; elsewhere what is missing is left out, and said so.
IS_CI = os.environ.get("CI") == "true"
ELSEWHERE = os.environ.get("PRAVEGA_CONTROLLER", "")

LOOPBACK = "127.0.0.1:0"


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is to be found."""

    controller: str
    #: Of the control API; empty where it has none.
    control: str = ""


@contextmanager
def pravega_server(folder: Path, *options: str) -> Iterator[Server]:
    """A mock of our own while the block runs, which may not have stumbled."""
    if ELSEWHERE:
        pytest.skip(f"needs a server with options of its own, not the one at {ELSEWHERE}")
    serve = [sys.executable, "-m", "wiretool", "serve", "pravega", "--listen", LOOPBACK, "--controller", LOOPBACK]
    with server([*serve, *options], folder) as (doors, log):
        control = re.search(r"control API at http://(\S+)", log.read_text())
        yield Server(doors["controller"], control.group(1) if control else "")
    assert "Traceback" not in log.read_text(), log.read_text()
