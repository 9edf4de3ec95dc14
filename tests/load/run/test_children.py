"""Processes of a run, started for real; each ends with its block."""

import os
import subprocess
import sys

import msgspec
import psutil
import pytest

from wiretool.errors import PeerError
from wiretool.load.link import Link
from wiretool.load.measure.intervals import Ended, Interval, Listening, Orders, Ready, Said
from wiretool.load.measure.sampling import Sampler
from wiretool.load.planning.plan import Plan
from wiretool.load.run.children import load_process, mock_server
from wiretool.load.verify.read_back import read_back


def test_a_mock_is_there_until_the_block_ends() -> None:
    with mock_server("pravega", seed=0, faults=(), run_s=10.0) as mock:
        assert psutil.pid_exists(mock.pid)
        Link(*mock.address).close()
        sample = Sampler(mock.pid).sample()
        assert sample is not None
        assert sample.bytes > 10_000_000
        watched = Sampler(mock.pid)
    assert not psutil.pid_exists(mock.pid)
    assert watched.sample() is None


def test_a_mock_that_does_not_get_ready_says_why() -> None:
    with (
        pytest.raises(PeerError, match="the mock did not get ready: wiretool: --fault 'x': "),
        mock_server("pravega", seed=0, faults=["x"], run_s=10.0),
    ):
        raise AssertionError


def test_a_load_process_says_what_it_did_and_the_server_has_it() -> None:
    with mock_server("pravega", seed=0, faults=(), run_s=10.0) as mock, load_process() as load:
        plan = Plan(protocol="pravega", appenders=4, duration_s=1.5, segments=2, batch=3, run="children", ramp_s=0.2)
        plan = plan.on(*mock.address)
        load.order(Orders(plan=plan))
        ready = load.next()
        assert isinstance(ready, Ready)
        assert ready.users == 4
        told = []
        while isinstance(said := load.next(), Interval):
            told.append(said)
        assert [interval.second for interval in told] == [-1, 0, 1]
        assert isinstance(said, Ended)
        assert said.failure == ""
        assert load.next() is None
        counted = sum(interval.operations["append"].events for interval in told if interval.operations)
        acknowledged = sum(writer.acknowledged for writer in said.writers)
        # Acknowledged when time was up already: one append of each writer at most.
        assert 0 < counted <= acknowledged <= counted + 4 * 3
        assert {writer.segment for writer in said.writers} == {
            "bench-children/load/0.#epoch.0",
            "bench-children/load/1.#epoch.0",
        }
        outcome = read_back(plan, said.writers)
        assert (outcome.acknowledged, outcome.checked, outcome.found) == (acknowledged, acknowledged, 0)


def test_a_load_process_that_is_stopped_says_what_it_has() -> None:
    with mock_server("pravega", seed=0, faults=(), run_s=60.0) as mock, load_process() as load:
        load.order(Orders(plan=Plan(protocol="pravega", appenders=2, duration_s=60.0, run="stop").on(*mock.address)))
        assert isinstance(load.next(), Ready)
        assert isinstance(load.next(), Interval)
        load.stop()
        said = load.next()
        while isinstance(said, Interval):
            said = load.next()
        assert isinstance(said, Ended)
        assert 1.0 <= said.duration_s < 30.0
        assert said.failure == ""


#: A master that is told to stop from within the very line in which it says where it listens.
AT_ONCE = """
import os, signal
from wiretool.load.run import process

say = process.say
def stopped_by_who_hears(said):
    say(said)
    if type(said).__name__ == "Listening":
        os.kill(os.getpid(), signal.SIGTERM)
process.say = stopped_by_who_hears
process.main()
"""


def test_a_master_that_has_said_where_it_listens_can_be_stopped() -> None:
    plan = Plan(protocol="pravega", appenders=2, duration_s=60.0, run="wait").on("127.0.0.1", 1)
    orders = msgspec.json.encode(Orders(plan=plan, role="master", host="127.0.0.1", port=0, workers=1))
    ended = subprocess.run(
        [sys.executable, "-c", AT_ONCE], input=orders + b"\n", capture_output=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    listening, over = (msgspec.json.decode(line, type=Said) for line in ended.stdout.splitlines())
    assert isinstance(listening, Listening)
    assert isinstance(over, Ended)
    assert (over.worker, over.duration_s, over.failure) == ("master", 0.0, "")


def test_nobody_there() -> None:
    with load_process() as load:
        load.order(Orders(plan=Plan(protocol="pravega", appenders=2, duration_s=1.0, run="none").on("127.0.0.1", 1)))
        said = load.next()
        assert isinstance(said, Ended)
        assert said.failure == "cannot reach 127.0.0.1:1: Connection refused"


def test_a_process_that_ended_uses_nothing_though_nobody_has_taken_note() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    sampler = Sampler(process.pid)
    assert sampler.sample() is not None
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert sampler.sample() is None
    process.communicate()
