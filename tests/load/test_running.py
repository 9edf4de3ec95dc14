"""The course of a run, with greenlets in place of Locust's users; each test takes some tenths of a second."""

from collections.abc import Callable

import gevent
import pytest

from wiretool.load import running
from wiretool.load.intervals import Ended, Interval, Ready, Said
from wiretool.load.plan import Plan
from wiretool.load.running import Running
from wiretool.load.session import Session

PLAN = Plan(protocol="pravega", appenders=2, duration_s=0.25, warmup_s=0.1, run="run")


def played(session: Session, user: Callable[[Session], None], plan: Plan = PLAN) -> list[Said]:
    """What is said in a run with such users."""
    said: list[Said] = []
    users = [gevent.spawn(user, session) for _ in range(plan.appenders)]
    Running(plan, session, said.append).run(plan.appenders)
    gevent.killall(users)
    return said


def working(session: Session) -> None:
    """A user whose exchanges take a hundredth of a second each."""
    session.ready += 1
    session.connected += 1
    samples = session.samples("append")
    session.gate.wait()
    while not session.is_over:
        gevent.sleep(0.01)
        samples.service.append(0.01)
        samples.events += 3
    # What is late is in no figure.
    samples.service.append(5.0)


def test_a_run_is_told_from_ready_to_ended() -> None:
    said = played(Session(run="run"), working)
    ready, *intervals, ended = said
    assert ready == Ready(worker="load 0", plan=PLAN, users=2, begins_in_s=0.1)
    assert isinstance(ended, Ended)
    assert ended.duration_s == pytest.approx(0.25, abs=0.02)
    assert ended.failure == ""
    assert [interval.second for interval in intervals if isinstance(interval, Interval)] == [-1, 0]
    warm, measured = intervals
    assert isinstance(warm, Interval)
    assert isinstance(measured, Interval)
    assert 0 < warm.operations["append"].count < measured.operations["append"].count <= 52
    assert measured.operations["append"].events == 3 * measured.operations["append"].count
    assert measured.pulse.users == 2
    assert 0.2 < measured.pulse.wall_s < 2.0
    assert 0.05 < measured.began_at - warm.began_at < 2.0


def test_what_is_unfinished_is_told_as_it_was_when_time_was_up() -> None:
    session = Session(run="run")
    session.due.append(("append", lambda now: (0, now) if session.is_over else (7, now - 1)))
    ended = played(session, working)[-1]
    assert isinstance(ended, Ended)
    assert ended.unfinished == {"append": (7, 1_000_000)}


def test_a_user_that_cannot_set_up_ends_the_run_before_there_is_load() -> None:
    session = Session(run="run")
    (ended,) = played(session, lambda session: session.fail("cannot reach 127.0.0.1:1: Connection refused"))
    assert isinstance(ended, Ended)
    assert (ended.failure, ended.duration_s) == ("cannot reach 127.0.0.1:1: Connection refused", 0.0)


def test_users_that_do_not_get_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SETUP_S", 0.05)
    (ended,) = played(Session(run="run"), lambda session: None)
    assert isinstance(ended, Ended)
    assert ended.failure == "2 of 2 users could not set up in 0.05 s"


def test_a_server_that_is_gone_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "GONE_S", 1.0)

    def losing(session: Session) -> None:
        session.ready += 1
        session.gate.wait()

    ended = played(Session(run="run"), losing, PLAN.on("127.0.0.1", 1))[-1]
    assert isinstance(ended, Ended)
    assert ended.failure == ""  # a third of a second is too short to say so
    long = Plan(protocol="pravega", appenders=1, duration_s=60.0, run="run")
    *_, last, ended = played(Session(run="run"), losing, long)
    assert isinstance(last, Interval)
    assert isinstance(ended, Ended)
    assert ended.failure == "the server is gone: no user could connect for 1 s"
    assert ended.duration_s < 10


def test_an_end_before_its_time_keeps_what_was_measured() -> None:
    session = Session(run="run")
    plan = Plan(protocol="pravega", appenders=1, duration_s=60.0, run="run")
    gevent.spawn_later(0.3, session.end)
    _, interval, ended = played(session, working, plan)
    assert isinstance(interval, Interval)
    assert isinstance(ended, Ended)
    assert interval.operations["append"].count > 5
    assert ended.failure == ""
    assert 0.2 < ended.duration_s < 10
