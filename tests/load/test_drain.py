"""A backlog that is read to its end, against the mock store in memory; and what a drain comes to in figures."""

from uuid import UUID

import gevent
import pytest

from tests.load.stage import Wire
from wiretool.load.backlog import backlog_of, drained_in, joined, undrained_texts
from wiretool.load.drain import Drain
from wiretool.load.draining import Draining
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.following import follow
from wiretool.load.link import Failed
from wiretool.load.measure.intervals import Drained, Writer, Written
from wiretool.load.result import Operation, Quantiles
from wiretool.load.run.session import Session, worker_name
from wiretool.load.verify.findings import Outcome
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega.load.client import HEAD, Store, append_frames
from wiretool.protocols.pravega.load.segment_reader import READ_BYTES, Reads

RUN, SEGMENT, OTHER = "run", "bench-run/load/0.#epoch.0", "bench-run/load/1.#epoch.0"
FILLER = Filler(0)
SIZE = 100
STORED = SIZE + HEAD.width
TICK_S = 0.001


class Scene:
    """A store with a segment that a writer has written to, and a reader that waits for that."""

    def __init__(self, *, is_verified: bool = True) -> None:
        self.now_s = 0.0
        self.session = Session(run=RUN, clock=self.clock, drain=Drain())
        self.session.open()
        self.key = writer_of(RUN, 0, 0)
        self.store = Store(Wire())
        self.store.make_segment(SEGMENT)
        self.writer = Writer(key=self.key, wire_id=str(UUID(int=self.key)), segment=SEGMENT)
        self.store.set_up(self.writer.wire_id, SEGMENT)
        self.session.enter(self.writer)
        self.draining = Draining(self.session, SEGMENT)
        if is_verified:
            self.draining.check(HEAD, FILLER)

    def clock(self) -> float:
        """A tick later each time."""
        self.now_s += TICK_S
        return self.now_s

    @property
    def drain(self) -> Drain:
        assert self.session.drain is not None
        return self.session.drain

    def append(self, *numbers: int) -> None:
        """One append with events of these numbers, acknowledged."""
        maker = Maker(self.key, head=HEAD, filler=FILLER)
        data = b"".join(maker.batch([SIZE], number) for number in numbers)
        self.store.link.send(b"".join(append_frames(self.writer.wire_id, data, len(numbers), numbers[-1])))
        self.store.link.receive()
        self.writer.acknowledged = self.writer.sent = numbers[-1]

    def begin(self, events: int | None = None) -> None:
        """All is written; so many events are said to be there."""
        count = self.writer.acknowledged if events is None else events
        self.session.finish()
        self.drain.begin(Written(worker="", events={SEGMENT: count}, bytes=count * STORED), self.clock())
        assert self.draining.wait()
        self.draining.drain(SEGMENT)

    def follow(self, wire: Wire | None = None) -> None:
        link = self.store.link
        assert isinstance(link, Wire)
        follow(wire or Wire(link.cluster), Reads(SEGMENT), self.draining)


def test_all_reads_are_fetches_and_end_where_there_is_no_more() -> None:
    scene = Scene()
    events = 3 * READ_BYTES // STORED
    scene.append(*range(1, events + 1))
    scene.begin()
    began_s = scene.now_s
    scene.follow()
    drained = scene.session.meter.drain()
    assert [*drained] == ["fetch"]
    assert (drained["fetch"].count, drained["fetch"].events, drained["fetch"].bytes) == (3, events, events * STORED)
    assert scene.drain.is_done
    outcome = scene.drain.outcome(scene.clock() + 60)
    assert (outcome.readers, outcome.left, outcome.left_bytes, outcome.segments) == (1, 0, 0, [SEGMENT])
    assert 0 < outcome.lasted_s <= scene.now_s - began_s + 2 * TICK_S
    assert scene.session.checks[0]() == Outcome(checked=events)
    assert scene.session.unfinished(scene.clock()) == {}


def test_nobody_waits_for_appends_that_would_note_when_they_were_sent() -> None:
    scene = Scene()
    assert not scene.session.is_followed
    assert scene.session.sendings_of(scene.writer, 1) is None


def test_before_it_begins_nothing_is_due_and_then_it_is() -> None:
    scene = Scene()
    scene.append(1)
    assert scene.session.unfinished(scene.clock()) == {}
    assert not scene.draining.is_over
    scene.begin()
    assert scene.session.unfinished(scene.drain.began_s + 2.0) == {"fetch": (1, 2_000_000)}


def test_a_segment_that_nobody_wrote_to_is_not_asked_for() -> None:
    scene = Scene()
    scene.begin()
    assert scene.draining.is_over
    assert scene.drain.is_done
    scene.follow()
    assert scene.session.meter.drain() == {}


class Silent(Wire):
    """Never says that there is no more, as a server need not where a read ends just there."""

    def receive(self) -> bytes:
        heard = super().receive()
        at = HEADER_BYTES + 2 + len(SEGMENT) + 8
        assert heard[at] == 1
        return heard[:at] + b"\x00" + heard[at + 1 :]


def test_it_ends_with_the_last_event_that_is_acknowledged_whatever_the_server_says() -> None:
    scene = Scene()
    scene.append(1, 2, 3)
    scene.begin()
    link = scene.store.link
    assert isinstance(link, Wire)
    silent = Silent(link.cluster)
    scene.follow(silent)
    assert scene.drain.is_done
    assert scene.session.checks[0]() == Outcome(checked=3)


def test_it_ends_where_the_server_has_no_more_though_more_was_acknowledged() -> None:
    scene = Scene()
    scene.append(1, 2)
    scene.begin(events=5)
    scene.follow()
    assert scene.drain.is_done


def test_without_verification_it_goes_by_what_the_server_says() -> None:
    scene = Scene(is_verified=False)
    scene.append(1, 2)
    scene.begin()
    scene.follow()
    assert scene.drain.is_done
    fetch = scene.session.meter.drain()["fetch"]
    assert (fetch.count, fetch.events, fetch.bytes) == (1, 0, 2 * STORED)


def test_what_is_lost_in_the_middle_is_found() -> None:
    scene = Scene()
    scene.append(1, 2)
    scene.append(4)
    scene.begin()
    scene.follow()
    outcome = scene.session.checks[0]()
    assert (outcome.found, outcome.kinds) == (1, {"lost": 1})


class Once(Wire):
    """Is lost behind the first reply."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.replies = 0

    def receive(self) -> bytes:
        self.replies += 1
        if self.replies > 1:
            raise Failed("enough", kind="enough")
        return super().receive()


def test_on_a_new_connection_it_goes_on_and_what_is_left_is_known() -> None:
    scene = Scene()
    events = 2 * READ_BYTES // STORED
    scene.append(*range(1, events + 1))
    scene.begin()
    link = scene.store.link
    assert isinstance(link, Wire)
    with pytest.raises(Failed, match="enough"):
        scene.follow(Once(link.cluster))
    outcome = scene.drain.outcome(scene.drain.began_s + 7.0)
    assert (outcome.left, outcome.left_bytes, outcome.lasted_s) == (1, events * STORED - READ_BYTES, 7.0)
    scene.follow()
    assert scene.drain.is_done
    assert scene.session.checks[0]() == Outcome(checked=events)


class Waited(Wire):
    """Is lost where nothing comes."""

    def receive_within(self, seconds: float) -> bytes:
        raise Failed("enough", kind="enough")


def test_where_a_writer_went_on_elsewhere_its_reader_does_too() -> None:
    scene = Scene()
    scene.append(1, 2, 3)
    scene.draining = Draining(scene.session, SEGMENT, scene.writer)
    scene.drain.readers.pop(0)
    later = Writer(key=scene.key, wire_id=scene.writer.wire_id, segment=OTHER)
    scene.session.enter(later)
    scene.begin()
    scene.draining.turn_to(later)
    # Nothing is there, so that nothing is asked for.
    assert scene.drain.is_done
    assert scene.drain.outcome(scene.clock()).segments == [SEGMENT, OTHER]


def test_what_a_writer_has_left_is_not_all_that_is_to_be_read() -> None:
    scene = Scene()
    scene.append(1, 2, 3)
    scene.draining = Draining(scene.session, SEGMENT, scene.writer)
    scene.drain.readers.pop(0)
    scene.session.enter(Writer(key=scene.key, wire_id=scene.writer.wire_id, segment=OTHER))
    scene.begin()
    link = scene.store.link
    assert isinstance(link, Wire)
    with pytest.raises(Failed, match="enough"):  # it asks again
        scene.follow(Waited(link.cluster))
    assert not scene.drain.is_done
    assert scene.draining.offset == 3 * STORED


def test_an_end_before_the_drain_lets_everybody_go() -> None:
    scene = Scene()
    scene.append(1)
    waiting = gevent.spawn(scene.draining.wait)
    gevent.sleep(0)
    assert not waiting.ready()
    scene.session.end()
    waiting.join(timeout=10)
    assert waiting.ready()
    assert scene.draining.is_over
    assert not scene.drain.has_begun
    scene.follow()
    assert scene.session.meter.drain() == {}
    assert scene.session.unfinished(scene.clock()) == {}


def test_an_end_of_the_build_up_ends_no_drain() -> None:
    scene = Scene()
    scene.session.finish()
    assert scene.session.is_over
    assert not scene.draining.is_over
    scene.session.end()
    assert scene.draining.is_over


def test_readers_of_all_processes_are_numbered_in_one_row() -> None:
    counts = {0: 2, 1: 0, 2: 4, 10: 3}
    written_by = {worker_name(number): count for number, count in counts.items()}
    places = []
    for number, count in counts.items():
        drain = Drain()
        session = Session(run=RUN, worker_number=number, workers=11, drain=drain)
        readers = [Draining(session, SEGMENT) for _ in range(count)]
        drain.begin(Written(worker="", events={}, bytes=0, readers=written_by), 1.0)
        places += [reader.place for reader in readers]
    assert sorted(places) == [*range(9)]


# -- figures -----------------------------------------------------------------------------------------------------------

QUANTILES = Quantiles(p50=1, p90=1, p99=1, p99_9=1, max=1)


def fetching(events_per_s: float, bytes_per_s: float) -> Operation:
    return Operation(
        count=10,
        errors=0,
        per_s=1.0,
        events_per_s=events_per_s,
        bytes_per_s=bytes_per_s,
        service_us=QUANTILES,
        response_us=QUANTILES,
    )


def written(worker: str, readers: int = 1, **events: int) -> Written:
    return Written(worker=worker, events=events, bytes=10 * sum(events.values()), readers={worker: readers})


def test_what_processes_have_written_is_added_up() -> None:
    whole = joined([written("one", a=5, b=1), written("two", 3, b=2, c=4)])
    assert whole == Written(worker="", events={"a": 5, "b": 3, "c": 4}, bytes=120, readers={"one": 1, "two": 3})


def test_the_slowest_ends_a_drain() -> None:
    parts = [
        Drained(lasted_s=1.5, readers=2, segments=["a"]),
        Drained(lasted_s=4.0, readers=3, left=1, left_bytes=70, segments=["a", "b"]),
    ]
    assert drained_in(parts) == Drained(lasted_s=4.0, readers=5, left=1, left_bytes=70, segments=["a", "b"])
    assert drained_in([]) is None


@pytest.mark.parametrize(("fetch", "events_per_s"), [(fetching(30.0, 400.0), 30.0), (fetching(0.0, 400.0), 40.0)])
def test_events_that_nobody_checked_are_reckoned_from_bytes(fetch: Operation, events_per_s: float) -> None:
    backlog = backlog_of(written("one", a=100), Drained(lasted_s=2.5, readers=2), fetch)
    assert (backlog.events, backlog.bytes, backlog.drain_s, backlog.readers) == (100, 1_000, 2.5, 2)
    assert (backlog.events_per_s, backlog.bytes_per_s) == (events_per_s, 400.0)


def test_an_empty_backlog_has_no_rates() -> None:
    backlog = backlog_of(written("one"), Drained(lasted_s=0.0, readers=1), None)
    assert (backlog.events, backlog.events_per_s, backlog.bytes_per_s) == (0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("drained", "told"),
    [
        (Drained(lasted_s=1.0, readers=2, segments=["a", "b"]), []),
        (None, ["no fetcher started to read the backlog"]),
        (
            Drained(lasted_s=60.0, readers=4, left=1, left_bytes=12_300_000, segments=["a", "b"]),
            ["1 of 4 fetchers has not come to the end of the backlog in 60.0 s: 12.3 MB were left"],
        ),
        (
            Drained(lasted_s=1.0, readers=1, segments=["b"]),
            [
                "5 events of the backlog, in 1 segment, had no reader, as fetchers were not where they are: "
                "give more --fetchers, or fewer --processes"
            ],
        ),
    ],
)
def test_what_was_not_read_is_said(drained: Drained | None, told: list[str]) -> None:
    assert undrained_texts(written("one", a=5, b=2, c=0), drained, fetchers=1) == told


def test_a_worker_does_not_know_who_else_reads() -> None:
    drained = Drained(lasted_s=2.0, readers=3, left=2, segments=["a"])
    (told,) = undrained_texts(written("one", readers=3, a=1, b=2), drained, fetchers=4)
    assert told.startswith("2 of 3 fetchers had not come")
