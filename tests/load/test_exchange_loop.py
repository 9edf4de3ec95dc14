"""Lanes over connections of the system to the mock store in memory, beside the loops that a lane must equal."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import perf_counter

import gevent
import pytest
from gevent.socket import socketpair
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.load.simple_loops import one_by_one, windowed
from tests.load.stage import Wire
from tests.load.test_loops import work_until
from wiretool.load import exchange_loop as lanes
from wiretool.load.exchange_loop import Lane, OneByOne, Windowed
from wiretool.load.link import Failed, Link
from wiretool.load.loops import AtOnce, OnSchedule, Window, Work
from wiretool.load.planning.schedule import Schedule
from wiretool.load.wakeups import Pacer

#: What no lane here should ever need.
PATIENCE_S = 30


class Recorded(Wire):
    """Keeps what was sent, and ends the session when so many events have come."""

    def __init__(self, last: float = inf) -> None:
        super().__init__()
        self.last = last
        self.sent = bytearray()
        self.work: Work | None = None

    def send(self, data: bytes | bytearray) -> None:
        if self.work is not None:
            self.sent += data
            if self.work.writer.sent >= self.last:
                self.work.session.end()
        super().send(data)


def recorded_work(last: float, events: int) -> Work:
    """A writer whose session is over when it has sent so many events."""
    wire = Recorded(last)
    wire.work = work_until(inf, wire=wire, events=events)
    return wire.work


def wire_of(work: Work) -> Recorded:
    assert isinstance(work.link, Recorded)
    return work.link


class Stage:
    """A writer's connection of the system, at the other end of which the wire that it had answers."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.wire = wire_of(work)
        work.session.clock = perf_counter
        work.session.pacer = Pacer(perf_counter)
        here, self.there = socketpair()
        here.settimeout(PATIENCE_S)
        self.link = Link.__new__(Link)
        self.link.name, self.link.socket = "pair", here
        work.link = self.link

    def serve(self, answered: Callable[[bytes], Iterator[bytes]]) -> None:
        """Answer all that comes, as it is to be answered."""
        while data := self.there.recv(1024 * 1024):
            self.wire.send(data)
            for piece in answered(self.wire.receive_within(0.0)):
                self.there.sendall(piece)


def at_once(answer: bytes) -> Iterator[bytes]:
    yield answer


def dripped(answer: bytes) -> Iterator[bytes]:
    for at in range(len(answer)):
        yield answer[at : at + 1]
        gevent.sleep(0)


@contextmanager
def served(work: Work, answered: Callable[[bytes], Iterator[bytes]] = at_once) -> Iterator[Stage]:
    """A server for this writer until the block ends."""
    stage = Stage(work)
    serving = gevent.spawn(stage.serve, answered)
    try:
        with gevent.Timeout(PATIENCE_S):
            yield stage
    finally:
        serving.kill()
        stage.there.close()
        stage.link.close()


@given(last=st.integers(1, 40), events=st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_one_by_one_is_what_the_simple_loop_is(last: int, events: int) -> None:
    simple, work = recorded_work(last, events), recorded_work(last, events)
    one_by_one(simple)
    with served(work) as stage:
        OneByOne(work).run()
    assert stage.wire.sent == wire_of(simple).sent
    assert work.samples.count == simple.samples.count
    assert (work.samples.events, work.samples.bytes) == (simple.samples.events, simple.samples.bytes)
    assert work.writer.sent == work.writer.acknowledged == simple.writer.acknowledged
    assert min(work.samples.service) > 0
    assert not work.session.sleepers


@given(last=st.integers(1, 60), events=st.integers(1, 3), limit=st.integers(1, 16))
@settings(max_examples=20, deadline=None)
def test_a_window_is_what_the_simple_loop_is(last: int, events: int, limit: int) -> None:
    simple, work = recorded_work(last, events), recorded_work(last, events)
    windowed(simple, Window(AtOnce(), limit))
    with served(work) as stage:
        Windowed(work, Window(AtOnce(), limit)).run()
    assert stage.wire.sent == wire_of(simple).sent
    assert work.samples.count == simple.samples.count
    assert (work.samples.events, work.samples.bytes) == (simple.samples.events, simple.samples.bytes)
    assert work.writer.sent == work.writer.acknowledged == simple.writer.acknowledged
    assert work.samples.service == work.samples.response


LANES = (OneByOne, lambda work: Windowed(work, Window(AtOnce(), 4)))


@pytest.mark.parametrize("lane", LANES, ids=["one by one", "windowed"])
def test_a_reply_may_come_in_pieces(lane: Callable[[Work], Lane]) -> None:
    work = recorded_work(8, 1)
    with served(work, dripped):
        lane(work).run()
    assert work.samples.count == work.writer.acknowledged == work.writer.sent >= 8


@pytest.mark.parametrize("lane", LANES, ids=["one by one", "windowed"])
@pytest.mark.parametrize(
    ("said", "why"),
    [(b"HTTP/1.1 200 OK\r\n\r\n", "no Pravega"), (b"", "pair closed the connection")],
    ids=["nonsense", "end"],
)
def test_what_is_lost_ends_the_lane(lane: Callable[[Work], Lane], said: bytes, why: str) -> None:
    work = recorded_work(inf, 1)

    def answered(answer: bytes) -> Iterator[bytes]:
        yield said
        if not said:
            stage.there.shutdown(socket.SHUT_RDWR)

    with served(work, answered) as stage, pytest.raises(Failed, match=why):
        lane(work).run()
    assert work.samples.count == 0
    assert not work.session.sleepers


@pytest.mark.parametrize("lane", LANES, ids=["one by one", "windowed"])
def test_a_server_that_is_gone_ends_the_lane(lane: Callable[[Work], Lane]) -> None:
    work = recorded_work(inf, 1)
    with served(work) as stage:
        stage.there.close()
        with pytest.raises(Failed, match="lost pair"):
            lane(work).run()


@pytest.mark.parametrize("lane", LANES, ids=["one by one", "windowed"])
def test_a_server_that_falls_silent_ends_the_lane(
    lane: Callable[[Work], Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "ANSWER_S", 0.05)
    work = recorded_work(inf, 1)

    def answered(answer: bytes) -> Iterator[bytes]:
        if work.writer.acknowledged < 5:
            yield answer

    with served(work, answered), pytest.raises(Failed, match="no answer in"):
        lane(work).run()
    assert work.writer.acknowledged >= 5


def test_what_goes_wrong_here_is_no_fault_of_the_server() -> None:
    work = recorded_work(inf, 1)

    def feed(data: bytes) -> int:
        raise LookupError(data.hex())

    work.feed = feed
    with served(work), pytest.raises(LookupError, match="00000007"):
        OneByOne(work).run()


def test_what_the_system_does_not_take_at_once_is_sent_in_order() -> None:
    work = recorded_work(2_000, 100)  # 10 kB each, 64 of them more than any socket has room for
    with served(work) as stage:
        for name in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            stage.link.socket.setsockopt(socket.SOL_SOCKET, name, 4_096)
        Windowed(work, Window(AtOnce(), 64)).run()
    assert work.writer.acknowledged == work.writer.sent >= 2_000
    assert work.samples.count * 100 == work.writer.sent


def test_on_schedule_times_count_from_when_they_were_due() -> None:
    work = recorded_work(20, 1)
    with served(work):
        began_s = perf_counter()
        Windowed(work, Window(OnSchedule(Schedule(began_s, user=0, users=1, rate_per_s=500.0)), 8)).run()
        passed_s = perf_counter() - began_s
    # On a busy machine several may be due by the time that it comes to them.
    count = work.samples.count
    assert 20 <= count < 28
    assert passed_s >= (count - 1) / 500
    assert all(
        0 < service <= response for service, response in zip(work.samples.service, work.samples.response, strict=True)
    )


def test_a_held_server_shows_in_the_times_from_when_they_were_due() -> None:
    work = recorded_work(60, 1)

    def held(answer: bytes) -> Iterator[bytes]:
        if work.writer.sent == 20:
            gevent.sleep(0.1)
        yield answer

    with served(work, held):
        Windowed(work, Window(OnSchedule(Schedule(perf_counter(), user=0, users=1, rate_per_s=500.0)), 1)).run()
    service, response = sorted(work.samples.service), sorted(work.samples.response)
    assert service[-1] > 0.1
    # Whatever was due meanwhile waited too: about fifty arrivals, of which the session saw forty.
    assert sum(each > 0.02 for each in response) > sum(each > 0.02 for each in service) + 20
    # It was not this process that held them up.
    assert work.session.lateness_s < 0.09
    assert work.session.late_arrivals < work.session.arrivals


def test_what_this_process_held_up_is_its_own_lateness() -> None:
    work = recorded_work(60, 1)
    acks, has_held = work.feed, False

    def feed(data: bytes) -> int:
        nonlocal has_held
        end_s = perf_counter() + (0.0 if has_held else 0.05)
        has_held = True
        while perf_counter() < end_s:
            continue
        return acks(data)

    work.feed = feed
    with served(work):
        Windowed(work, Window(OnSchedule(Schedule(perf_counter(), user=0, users=1, rate_per_s=500.0)), 64)).run()
    assert work.session.lateness_s > 0.03
    assert 0 < work.session.late_arrivals < work.session.arrivals


def test_a_lane_waits_for_one_turn_at_a_time() -> None:
    work = recorded_work(60, 1)
    acks, turns = work.feed, []

    def feed(data: bytes) -> int:
        turns.append(len(work.session.pacer._turns))
        return acks(data)

    work.feed = feed
    with served(work, dripped):
        Windowed(work, Window(OnSchedule(Schedule(perf_counter(), user=0, users=1, rate_per_s=500.0)), 64)).run()
    assert len(turns) > 5
    assert max(turns) <= 1


def test_who_has_nothing_to_do_sees_the_end_of_the_session() -> None:
    work = recorded_work(inf, 1)
    with served(work):
        schedule = Schedule(perf_counter() + 1_000, user=0, users=1, rate_per_s=1.0)
        running = gevent.spawn(Windowed(work, Window(OnSchedule(schedule), 1)).run)
        gevent.sleep(0.01)
        assert not running.ready()
        work.session.end()
        running.get()
    assert work.samples.count == 0


def test_a_lane_that_was_ended_from_outside_takes_no_turn_any_more() -> None:
    work = recorded_work(inf, 1)
    with served(work) as stage:
        schedule = Schedule(perf_counter() + 0.2, user=0, users=1, rate_per_s=100.0)
        running = gevent.spawn(Windowed(work, Window(OnSchedule(schedule), 1)).run)
        gevent.sleep(0.005)
        running.kill()
        gevent.sleep(0.25)
        assert not stage.wire.sent
    assert not work.session.sleepers
