"""Servers that are gone before they answered anything: their end is named, and the last message."""

import os
import re
import shlex
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fuzz.helpers import session_of
from wiretool.errors import PeerError
from wiretool.fuzz.campaign import Counts, Limits
from wiretool.fuzz.findings.finding import Finding
from wiretool.fuzz.oracles import DIED
from wiretool.fuzz.targets.socket import SocketTarget, mock_command, open_target
from wiretool.net.programs.server_process import ServerProcess, free_address

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


def test_the_end_of_a_server_between_sequences_is_reported(tmp_path: Path) -> None:
    session, address, pid = session_of("sbp"), free_address(), tmp_path / "pid"
    words = f"echo $$ >{shlex.quote(str(pid))}; exec {mock_command(session, {'': address}, None)}"
    notices: list[str] = []
    with open_target(
        session,
        {"": address},
        command=shlex.join(["bash", "-c", words]),
        patience_s=0.5,
        jobs=1,
        on_notice=notices.append,
    ) as target:
        sequence = next(each for each in session.seeds if target.fits(each))
        (before,) = target.run([sequence])
        os.kill(int(pid.read_text()), signal.SIGKILL)
        time.sleep(0.5)
        (after,) = target.run([sequence])
    assert (before.error, after.error) == (None, None)
    assert after.exchanged
    (notice,) = notices
    assert re.fullmatch(
        r"the server .*SIGKILL.* some time after the last sequences, which are not blamed for it", notice
    )


def test_a_server_that_dies_while_cases_run_is_a_finding() -> None:
    session, address = session_of("sbp"), free_address()
    found: list[Finding] = []
    with ExitStack() as server:
        server.enter_context(ServerProcess(mock_command(session, {"": address}, None), [address]))

        def kill(counts: Counts) -> None:
            if counts.start_cases:
                server.close()

        with open_target(session, {"": address}, patience_s=0.5, jobs=4) as target:
            campaign = session.campaign(
                target,
                session.investigation(target, is_reference=False),
                Limits(runs=1),
                on_finding=found.append,
                on_progress=kill,
            )
            with pytest.raises(PeerError, match="Connection refused"):
                campaign.run()
    assert [each.bucket.oracle for each in found] == [DIED]
    assert found[0].confirmed.sequence.steps


def test_the_mock_of_the_controller_listens_beside_its_store() -> None:
    session = session_of("pravega-controller")
    with open_target(session, None, patience_s=2.0, jobs=4) as target:
        cases = [case for case in session.cases if target.has_case(case)]
        results = target.run_cases(cases[:8])
    assert [result.verdict.value for result in results] == ["pass"] * 8
