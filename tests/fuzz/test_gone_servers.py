"""Servers that are gone before they answered anything: their end is named, and the last message."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.fuzz.helpers import session_of
from wiretool.errors import PeerError
from wiretool.fuzz.socket_target import SocketTarget, open_target
from wiretool.net.server_process import ServerProcess, free_address

#: A server that takes some connections, reads from each, and ends.
LEAVING = """
import socket, sys
port, connections = map(int, sys.argv[1:])
with socket.create_server(("127.0.0.1", port)) as server:
    for _ in range(connections):
        end, _ = server.accept()
        try:
            end.recv(65536)
        except OSError:
            pass
        end.close()
sys.exit(7)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "leaving.py"
    path.write_text(LEAVING)
    return path


def why_over(target: SocketTarget) -> str:
    """Return why the cases of a run end."""
    cases = [case for case in session_of("sbp").cases if target.has_case(case)]
    with pytest.raises(PeerError) as caught:
        target.run_cases(cases[:8])
    return str(caught.value)


def test_a_server_that_is_gone_is_not_called_mute(script: Path) -> None:
    address = free_address()
    words = shlex.join([sys.executable, str(script), str(address.port), "4"])
    with (
        ServerProcess(words, [address]),
        open_target(session_of("sbp"), {"": address}, patience_s=0.5, jobs=1) as target,
    ):
        assert why_over(target) == f"{address} accepts no more connections: Connection refused"
        assert target.last_message == "PING"


def test_the_end_of_a_server_that_was_started_is_named(script: Path) -> None:
    address = free_address()
    words = shlex.join([sys.executable, str(script), str(address.port), "3"])
    with open_target(session_of("sbp"), {"": address}, command=words, patience_s=0.5, jobs=1) as target:
        why = why_over(target)
    assert why.startswith("the server ended with exit code 7, ")
    assert "and answered no message" in why
