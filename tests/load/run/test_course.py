"""The course of a run, with greenlets in place of Locust's users; each test takes some tenths of a second."""

from collections.abc import Callable

import gevent
import msgspec
import pytest

from wiretool import limits
from wiretool.load.drain import Drain, Reader
from wiretool.load.measure.intervals import Ended, Interval, Ready, Said, Writer, Written
from wiretool.load.measure.totals import Gathering
from wiretool.load.planning.plan import Plan
from wiretool.load.run import course as running
from wiretool.load.run.course import Running
from wiretool.load.run.session import Session
from wiretool.load.slow.model import Slow
from wiretool.load.slow.recorder import Keeper
from wiretool.load.slow.setup_bytes import Opened
from wiretool.load.slow.top_n import Slowest

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


def test_the_slowest_are_told_of_the_measured_time_alone() -> None:
    def user(session: Session) -> None:
        session.ready += 1
        session.connected += 1
        opened = Opened(("127.0.0.1", 1), ("127.0.0.1", 2), 0.0)
        keeper = Keeper(session.slowest, session.clock, opened)
        session.gate.wait()
        while True:
            began_s, is_over = session.clock(), session.is_over
            gevent.sleep(0.01)
            if keeper.is_slow(began_s):
                keeper.reply(b"late" if is_over else b"in time")
                times = {"due_s": began_s, "sent_s": began_s, "answered_s": session.clock()}
                keeper.keep("append", "one", **times, request=b"request")

    session = Session(run="run", slowest=Slowest(1_000))
    *said, slow, ended = played(session, user)
    assert isinstance(ended, Ended)
    assert isinstance(slow, Slow)
    exchanges = [exchange for connection in slow.connections for exchange in connection.exchanges]
    # Of 0.35 s in all, by two users.
    assert 0 < len(exchanges) <= 52
    assert {exchange.reply for exchange in exchanges} == {b"in time"}
    measured = said[-1]
    assert isinstance(measured, Interval)
    assert min(exchange.answered_ns for exchange in exchanges) / 1e9 >= measured.began_at - 0.001


def test_what_is_unfinished_is_told_as_it_was_when_time_was_up() -> None:
    session = Session(run="run")
    session.due.append(("append", lambda now: (0, now) if session.is_over else (7, now - 1)))
    ended = played(session, working)[-1]
    assert isinstance(ended, Ended)
    assert ended.unfinished == {"append": (7, 1_000_000)}


@pytest.mark.parametrize(
    ("left", "failure", "unanswered"),
    [(0, "", 3), (1, "", 10), (1, "the server is gone", 0)],
    ids=["answered after the end", "lost", "gone"],
)
def test_appends_still_unanswered_after_the_grace_are_counted_with_those_due_after_them(
    left: int, failure: str, unanswered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "GRACE_S", 0.05)
    session = Session(run="run")
    session.due.append(("fetch", lambda now: (5, now - 1)))
    session.due.append(("append", lambda now: (left, now) if session.is_over else (7, now - 1)))
    session.due.append(("append", lambda now: (2, now) if session.is_over else (3, now - 1)))

    def failing(session: Session) -> None:
        working(session)
        session.failure = failure

    ended = played(session, failing)[-1]
    assert isinstance(ended, Ended)
    assert ended.unanswered == unanswered
    assert ended.unfinished["append"] == (10, 1_000_000)


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
    assert ended.absent_s == 0
    long = Plan(protocol="pravega", appenders=1, duration_s=60.0, run="run")
    *_, last, ended = played(Session(run="run"), losing, long)
    assert isinstance(last, Interval)
    assert isinstance(ended, Ended)
    assert ended.failure == "the server is gone: no user could connect for 1 s"
    assert ended.duration_s < 10
    assert ended.absent_s == pytest.approx(ended.duration_s, abs=0.01)  # it never was there


@pytest.mark.parametrize("is_stopped", [False, True])
def test_how_long_there_was_no_server_at_the_end_is_told(is_stopped: bool) -> None:
    session = Session(run="run")

    def losing(session: Session) -> None:
        session.ready += 1
        session.connected += 1
        session.gate.wait()
        gevent.sleep(0.4)
        session.connected -= 1

    if is_stopped:  # as by a master, one of whose workers has seen before that the server is gone
        gevent.spawn_later(2.0, session.end)
    plan = Plan(protocol="pravega", appenders=1, duration_s=60.0 if is_stopped else 2.0, run="run")
    ended = played(session, losing, plan)[-1]
    assert isinstance(ended, Ended)
    assert (ended.failure, ended.users) == ("", 1)
    assert ended.duration_s - ended.absent_s == pytest.approx(0.4, abs=0.2)
    assert 1.9 < ended.duration_s < 10


def test_users_that_let_go_as_the_time_is_up_are_no_server_that_is_gone() -> None:
    def leaving(session: Session) -> None:
        working(session)
        session.connected -= 1

    session = Session(run="run")
    gevent.spawn_later(0.3, session.end)
    ended = played(session, leaving, Plan(protocol="pravega", appenders=1, duration_s=60.0, run="run"))[-1]
    assert isinstance(ended, Ended)
    assert ended.absent_s == 0


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


# -- a backlog ---------------------------------------------------------------------------------------------------------

BACKLOG = Plan(protocol="pravega", appenders=1, fetchers=1, duration_s=0.2, has_backlog=True, run="run")
HEAD_BYTES = 8


def played_with_backlog(session: Session, *users: Callable[[Session], None], plan: Plan = BACKLOG) -> list[Said]:
    """What is said in a run of these users."""
    said: list[Said] = []
    greenlets = [gevent.spawn(user, session) for user in users]
    Running(plan, session, said.append).run(len(users))
    gevent.killall(greenlets)
    return said


def writing(session: Session) -> None:
    """An appender of five events every hundredth of a second; what it sent last is answered when the time is up."""
    writer = Writer(key=1, wire_id="", segment="s")
    session.writers.append(writer)
    session.due.append(("append", lambda now: (int(writer.sent > writer.acknowledged), now)))
    session.ready += 1
    session.connected += 1
    samples = session.samples("append")
    session.gate.wait()
    while not session.is_over:
        writer.sent += 5
        gevent.sleep(0.01)
        samples.service.append(0.01)
        samples.events += 5
        samples.bytes += 500
        writer.acknowledged += 5
    session.connected -= 1


def reading(pieces: int) -> Callable[[Session], None]:
    """A fetcher that takes so many hundredths of a second for what was written."""

    def read(session: Session) -> None:
        assert session.drain is not None
        reader = Reader("s")
        session.drain.readers.append(reader)
        session.ready += 1
        session.drain.gate.wait()
        session.connected += 1
        session.due.append(("fetch", lambda now: (int(reader.done_s is None), now - 1.5)))
        for _ in range(pieces):
            gevent.sleep(0.01)
            session.samples("fetch").service.append(0.01)
            reader.bytes += 100
        # What appends come to now is of no second.
        session.samples("append").service.append(5.0)
        reader.done_s = session.clock()
        session.connected -= 1

    return read


def test_a_backlog_is_drained_behind_the_build_up() -> None:
    session = Session(run="run", drain=Drain())
    ready, build_up, written, drain, ended = played_with_backlog(session, writing, reading(10))
    assert isinstance(ready, Ready)
    assert isinstance(build_up, Interval)
    assert isinstance(written, Written)
    assert isinstance(drain, Interval)
    assert isinstance(ended, Ended)
    assert (build_up.second, [*build_up.operations]) == (0, ["append"])
    assert (drain.second, [*drain.operations]) == (1, ["fetch"])
    assert drain.operations["fetch"].count == 10
    # What was on the way when the time was up is in the backlog, though in no second.
    events = written.events["s"]
    assert events == session.writers[0].sent == build_up.operations["append"].events + 5
    assert (written.bytes, written.readers) == (events * (100 + HEAD_BYTES), {"load 0": 1})
    assert ended.duration_s == pytest.approx(0.2, abs=0.02)
    assert ended.unfinished["append"][0] == 1
    assert "fetch" not in ended.unfinished
    assert ended.drained is not None
    assert 0.1 < ended.drained.lasted_s < 2.0
    assert (ended.drained.left, ended.drained.readers, ended.drained.segments) == (0, 1, ["s"])
    assert ended.failure == ""


def last_words(session: Session) -> None:
    """An appender whose only events are acknowledged when the time is up already."""
    writer = Writer(key=1, wire_id="", segment="s")
    session.writers.append(writer)
    session.due.append(("append", lambda now: (int(writer.sent > writer.acknowledged), now)))
    session.ready += 1
    session.connected += 1
    session.gate.wait()
    writer.sent = 5
    while not session.is_over:
        gevent.sleep(0.01)
    samples = session.samples("append")
    samples.service.append(0.2)
    samples.events, samples.bytes, writer.acknowledged = 5, 5_000, 5
    session.connected -= 1


def test_what_is_acknowledged_when_the_time_is_up_is_in_the_backlog_with_its_bytes() -> None:
    _, build_up, written, drain, _ = played_with_backlog(Session(run="run", drain=Drain()), last_words, reading(1))
    assert isinstance(build_up, Interval)
    assert isinstance(written, Written)
    assert isinstance(drain, Interval)
    assert build_up.operations == {}
    assert (written.events, written.bytes) == ({"s": 5}, 5 * (1_000 + HEAD_BYTES))
    assert [*drain.operations] == ["fetch"]


def nothing_to_read(session: Session) -> None:
    """A fetcher of a segment that nobody has written to."""
    assert session.drain is not None
    session.drain.readers.append(reader := Reader("empty"))
    session.ready += 1
    session.drain.gate.wait()
    gevent.sleep(0.02)
    reader.done_s = session.clock()


@pytest.mark.parametrize("others", [(), (nothing_to_read,)])
def test_who_has_nothing_to_read_tells_no_second_of_a_drain(others: tuple[Callable[[Session], None], ...]) -> None:
    said = played_with_backlog(Session(run="run", drain=Drain()), writing, *others)
    assert [type(each) for each in said] == [Ready, Interval, Written, Ended]
    assert isinstance(said[-1], Ended)
    assert said[-1].drained is not None
    assert (said[-1].drained.readers, said[-1].drained.left) == (len(others), 0)


def test_others_do_not_wait_for_the_seconds_of_who_has_nothing_to_read() -> None:
    gathering, whole = Gathering(2), []
    for number, user in enumerate((None, reading(1))):
        session = Session(run="run", drain=Drain(), worker_number=number, workers=2)
        for said in played_with_backlog(session, writing, *([user] if user else [])):
            if isinstance(said, Interval):
                whole += gathering.add(said)
            elif isinstance(said, Ended):
                whole += gathering.leave(said.worker)
    assert [(second.second, [pulse.worker for pulse in second.pulses]) for second in whole] == [
        (0, ["load 0"]),  # which has ended before the other begins
        (0, ["load 1"]),
        (1, ["load 1"]),
    ]


def test_the_pulse_of_a_drain_is_of_no_time_behind_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "CHECK_S", 60.0)
    drain = played_with_backlog(Session(run="run", drain=Drain()), writing, reading(1))[-2]
    assert isinstance(drain, Interval)
    assert 0.01 < drain.pulse.wall_s < 0.5


def test_the_slowest_of_a_drain_are_kept_and_what_came_before_it_is_not() -> None:
    def user(session: Session) -> None:
        assert session.drain is not None
        keeper = Keeper(session.slowest, session.clock, Opened(("127.0.0.1", 1), ("127.0.0.1", 2), 0.0))

        def exchange(about: str) -> None:
            began_s = session.clock()
            gevent.sleep(0.02)
            if keeper.is_slow(began_s):
                keeper.reply(b"reply")
                times = {"due_s": began_s, "sent_s": began_s, "answered_s": session.clock()}
                keeper.keep("fetch", about, **times, request=b"request")

        session.drain.readers.append(reader := Reader("s"))
        session.ready += 1
        while not session.is_over:
            gevent.sleep(0.01)
        exchange("before")
        waiting.clear()
        session.drain.gate.wait()
        exchange("within")
        reader.done_s = session.clock()

    session = Session(run="run", drain=Drain(), slowest=Slowest(1_000))
    waiting = ["an append that is on the way until the first exchange is over"]
    session.due.append(("append", lambda now: (len(waiting), now)))
    slow = played_with_backlog(session, writing, user)[-2]
    assert isinstance(slow, Slow)
    assert [exchange.about for each in slow.connections for exchange in each.exchanges] == ["within"]


def test_a_drain_has_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BENCH_DRAIN_S", 0.3)
    ended = played_with_backlog(Session(run="run", drain=Drain()), writing, reading(10_000))[-1]
    assert isinstance(ended, Ended)
    assert ended.drained is not None
    assert ended.drained.lasted_s == pytest.approx(0.3, abs=0.1)
    assert ended.drained.left == 1
    assert ended.drained.left_bytes > 0
    assert ended.unfinished["fetch"] == (1, 1_500_000)
    assert ended.failure == ""


def test_an_end_in_the_build_up_reads_nothing() -> None:
    session = Session(run="run", drain=Drain())
    gevent.spawn_later(0.1, session.end)
    said = played_with_backlog(session, writing, reading(1), plan=msgspec.structs.replace(BACKLOG, duration_s=60.0))
    assert [type(each) for each in said] == [Ready, Interval, Ended]
    assert isinstance(said[-1], Ended)
    assert said[-1].drained is None


def test_an_end_in_the_drain_keeps_what_was_read() -> None:
    session = Session(run="run", drain=(drain := Drain()))

    def end_within() -> None:
        drain.gate.wait()
        gevent.sleep(0.2)
        session.end()

    gevent.spawn(end_within)
    ended = played_with_backlog(session, writing, reading(10_000))[-1]
    assert isinstance(ended, Ended)
    assert ended.drained is not None
    assert ended.drained.left == 1
    assert ended.drained.lasted_s < 10
    assert ended.unfinished["fetch"][0] == 1


def test_a_server_that_is_gone_ends_the_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "GONE_S", 0.3)

    def losing(session: Session) -> None:
        assert session.drain is not None
        session.drain.readers.append(Reader("s"))
        session.ready += 1

    ended = played_with_backlog(Session(run="run", drain=Drain()), writing, losing)[-1]
    assert isinstance(ended, Ended)
    assert ended.failure == "the server is gone: no user could connect for 0.3 s"
    assert ended.drained is not None
    assert ended.drained.left == 1


def test_who_has_built_up_waits_for_the_others() -> None:
    session, said = Session(run="run", drain=Drain()), list[Said]()
    whole = Written(worker="", events={"s": 5, "t": 7}, bytes=12, readers={"load 0": 1, "load 1": 3})
    seen: list[tuple[Written, bool]] = []

    def may_drain(written: Written) -> Written:
        assert session.drain is not None
        seen.append((written, session.drain.has_begun))
        return whole

    users = [gevent.spawn(user, session) for user in (writing, reading(1))]
    Running(BACKLOG, session, said.append, may_drain=may_drain).run(2)
    gevent.killall(users)
    assert session.drain is not None
    assert session.drain.written == whole
    assert [(written in said, has_begun) for written, has_begun in seen] == [(True, False)]
