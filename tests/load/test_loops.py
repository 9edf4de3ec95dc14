"""What exchanges hang on, and the simple loops that lanes must equal, under a clock that moves when it is read."""

from uuid import UUID

import pytest

from tests.load.simple_loops import one_by_one, windowed
from tests.load.stage import Wire
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.loops import AtOnce, Exchange, OnSchedule, Window, Work
from wiretool.load.measure.intervals import Writer
from wiretool.load.planning.schedule import Schedule
from wiretool.load.run.session import Session
from wiretool.protocols.pravega.load.client import HEAD, Acks, Appends, Store

SEGMENT = "bench-run/load/0.#epoch.0"
TICK_S = 0.001


class Clock:
    """Goes on by a tick whenever it is read; ends a session at its time."""

    def __init__(self, end_s: float) -> None:
        self.now_s = 0.0
        self.end_s = end_s
        self.session: Session | None = None

    def __call__(self) -> float:
        self.now_s += TICK_S
        if self.session is not None and self.now_s >= self.end_s:
            self.session.end()
        return self.now_s


def work_until(end_s: float, *, wire: Wire | None = None, events: int = 1) -> Work:
    """A writer that is set up, in a session that is over at that time."""
    store = Store(wire or Wire())
    store.make_segment(SEGMENT)
    key = writer_of("run", 0, 0)
    writer = Writer(key=key, wire_id=str(UUID(int=key)), segment=SEGMENT)
    store.set_up(writer.wire_id, SEGMENT)
    clock = Clock(end_s)
    session = clock.session = Session(run="run", clock=clock)
    source = Appends(writer.wire_id, Maker(key, head=HEAD, filler=Filler(0)), events=events, size=100)
    return Work(session, store.link, source, Acks(writer.wire_id).feed, writer, session.samples("append"))


def test_one_by_one_counts_each_exchange_from_its_sending() -> None:
    work = work_until(0.1, events=3)
    one_by_one(work)
    samples, writer = work.samples, work.writer
    assert samples.count == 50  # the clock is read twice for each
    assert samples.service == pytest.approx([TICK_S] * 50)
    assert (samples.events, samples.bytes) == (150, 15_000)
    assert writer.sent == writer.acknowledged == 150


def test_a_window_keeps_as_many_on_the_way_as_it_may() -> None:
    work = work_until(0.1)
    window = Window(AtOnce(), 16)
    seen = []
    acks = work.feed

    def feed(data: bytes) -> int:
        seen.append(window.waiting(0.0)[0])
        return acks(data)

    work.feed = feed
    windowed(work, window)
    assert set(seen) == {16}
    assert work.samples.count == len(seen) * 16
    assert work.writer.sent == work.writer.acknowledged == work.samples.count
    assert window.waiting(0.0)[0] == 0
    assert work.samples.service == work.samples.response


def test_on_schedule_times_count_from_when_they_were_due() -> None:
    work = work_until(0.5)
    windowed(work, Window(OnSchedule(Schedule(0.0, user=0, users=1, rate_per_s=100.0)), 1))
    samples = work.samples
    # Every 10 ms from 0 on; what was due before the end was sent.
    assert samples.count == pytest.approx(50, abs=1)
    assert all(service <= response for service, response in zip(samples.service, samples.response, strict=True))
    assert max(samples.response) < 0.01


def test_what_is_due_and_not_sent_is_waiting() -> None:
    arrivals = OnSchedule(Schedule(1.0, user=0, users=1, rate_per_s=10.0))
    assert arrivals.take(0.5, 5) == []
    assert arrivals.waiting(1.35) == (4, 1.0)
    assert arrivals.take(1.35, 3) == pytest.approx([1.0, 1.1, 1.2])
    count, since_s = arrivals.waiting(1.35)
    assert count == 1
    assert since_s == pytest.approx(1.3)
    assert arrivals.next_s() == pytest.approx(1.3)
    window = Window(arrivals, 8)
    assert window.waiting(1.35)[0] == 1
    window.on_the_way.append(Exchange(1, 1.0, 1.0, 100))
    # Whether all is answered is asked of a time before any was due: what was taken then is not less than nothing.
    assert window.waiting(0.0)[0] == 1
    window.on_the_way.clear()
    assert window.waiting(0.0)[0] == 0
