"""Our users in somebody's own locustfile, under plain Locust."""

import csv
import subprocess
import sys
from pathlib import Path

from tests.helpers.servers import started

HEADLESS = ("--headless", "-u", "3", "-r", "3", "-t", "4s", "--csv", "figures")
ANY = "127.0.0.1:0"
LOCUSTFILE = """
from wiretool.load import PravegaAppender


class Appender(PravegaAppender):
    event_size = "uniform:50-200"
    batch = 5
    pipeline = 2
"""


def test_plain_locust_runs_our_users_and_has_their_figures(tmp_path: Path) -> None:
    (tmp_path / "locustfile.py").write_text(LOCUSTFILE)
    with started(tmp_path, "serve", "pravega", "--listen", ANY, "--controller", ANY) as server:
        host, port = server.doors["store"]
        ended = subprocess.run(
            [sys.executable, "-m", "locust", "-H", f"{host}:{port}", *HEADLESS],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        assert server.stop() == 0
    with (tmp_path / "figures_stats.csv").open() as file:
        rows = {row["Name"]: row for row in csv.DictReader(file)}
    append = rows["append"]
    assert int(append["Request Count"]) > 0
    assert int(append["Failure Count"]) == 0
    # Locust rounds to milliseconds.
    assert 0 <= float(append["50%"]) <= float(append["99%"]) <= float(append["100%"])
    assert 0 < float(append["Average Response Time"]) <= float(append["Max Response Time"])
    assert float(append["Requests/s"]) > 0
    assert "Traceback" not in ended.stderr


def test_importing_the_package_changes_nothing_before_a_user_is_asked_for() -> None:
    script = """
import socket, sys

before = socket.socket
import wiretool.commands.bench.run, wiretool.load, wiretool.load.report
import wiretool.load.run.whole_run, wiretool.load.verify.read_back

assert socket.socket is before
assert not {"gevent", "locust"} & set(sys.modules)
from wiretool.load import PravegaAppender

assert socket.socket is not before
print(PravegaAppender.operation)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "append\n"


def test_a_defect_of_a_user_ends_the_run_and_is_told_as_that() -> None:
    script = """
import gevent
from locust import User, task
from locust.env import Environment
from wiretool.load.planning.plan import Plan
from wiretool.load.run.course import Running
from wiretool.load.run.session import Session
from wiretool.load.users.sessions import share


class Broken(User):
    @task
    def work(self):
        session.ready += 1
        session.connected += 1
        session.gate.wait()
        raise KeyError("oops")


environment = Environment(user_classes=[Broken])
session = Session(run="run")
share(environment, session)
runner = environment.create_local_runner()
runner.start(1, spawn_rate=1)
said = []
Running(Plan(protocol="pravega", appenders=1, duration_s=30.0, run="run"), session, said.append).run(1)
print(said[-1].has_defect, said[-1].failure, said[-1].duration_s < 10)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    told = "a bug in wiretool, KeyError: 'oops'; please report it with the lines above"
    assert ended.stdout == f"True {told} True\n", ended.stderr
    assert "Traceback" in ended.stderr


def test_what_is_not_there() -> None:
    script = "import wiretool.load; wiretool.load.Nobody"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "module 'wiretool.load' has no attribute 'Nobody'" in ended.stderr
