"""Reading what is being written, against the mock store in memory: what counts as what, and what is found."""

import re
from collections.abc import Callable
from functools import partial
from itertools import count
from uuid import UUID

import pytest

from tests.load.stage import Wire
from tests.protocols.pravega.server.talk import Cluster
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.following import Following, follow
from wiretool.load.link import Failed
from wiretool.load.measure.intervals import Writer
from wiretool.load.run.session import Session
from wiretool.load.verify.findings import Outcome
from wiretool.protocols.pravega.load.client import HEAD, Store, append_frames
from wiretool.protocols.pravega.load.segment_reader import READ_BYTES, Reads

RUN, SEGMENT = "run", "bench-run/load/0.#epoch.0"
FILLER = Filler(0)
SIZE = 100
TICK_S = 0.001


class Scene:
    """A store, a writer, and somebody who follows; whenever he waits for more, the next step is taken."""

    def __init__(self, *steps: Callable[[], None], is_verified: bool = True) -> None:
        self.now_s = 0.0
        self.session = Session(run=RUN, clock=self.clock)
        self.session.open()
        self.key = writer_of(RUN, 0, 0)
        self.store = Store(Wire())
        self.store.make_segment(SEGMENT)
        self.writer = Writer(key=self.key, wire_id=str(UUID(int=self.key)), segment=SEGMENT)
        self.store.set_up(self.writer.wire_id, SEGMENT)
        self.session.writers.append(self.writer)
        self.following = Following(self.session, SEGMENT)
        if is_verified:
            self.following.check(HEAD, FILLER)
        self.sendings = self.session.sendings_of(self.writer, 1)
        self.steps = [*steps]
        self.replies = count(1)

    def clock(self) -> float:
        """A tick later each time."""
        self.now_s += TICK_S
        return self.now_s

    @property
    def cluster(self) -> Cluster:
        assert isinstance(self.store.link, Wire)
        return self.store.link.cluster

    def append(self, *numbers: int) -> None:
        """One append with events of these numbers, acknowledged."""
        maker = Maker(self.key, head=HEAD, filler=FILLER)
        assert self.sendings is not None
        self.sendings.note(numbers[-1], self.clock(), self.now_s - 0.5)
        data = b"".join(maker.batch([SIZE], number) for number in numbers)
        self.store.link.send(b"".join(append_frames(self.writer.wire_id, data, len(numbers), numbers[-1])))
        self.store.link.receive()
        self.writer.sent = self.writer.acknowledged = numbers[-1]

    def follow(self, wire: "Waiting | None" = None) -> None:
        """Until all steps are taken, and what was acknowledged has come."""
        follow(wire or Waiting(self), Reads(SEGMENT), self.following)

    def operations(self) -> dict[str, tuple[int, int, int]]:
        """By operation: exchanges, events, bytes."""
        drained = self.session.meter.drain()
        return {name: (tally.count, tally.events, tally.bytes) for name, tally in drained.items()}


class Waiting(Wire):
    """Where nothing is heard something happens; then nothing more is expected."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene.cluster)
        self.scene = scene

    def receive_within(self, seconds: float) -> bytes:
        heard = super().receive_within(seconds)
        if not heard:
            self.scene.steps.pop(0)() if self.scene.steps else self.scene.session.end()
        return self.changed(heard) if heard else b""

    def receive(self) -> bytes:
        return self.changed(super().receive())

    def changed(self, heard: bytes) -> bytes:
        """What a test makes of a reply."""
        return heard


class Once(Waiting):
    """Is lost behind the first reply."""

    def receive(self) -> bytes:
        raise Failed("enough", kind="enough")


def test_what_is_there_is_fetched_and_what_comes_later_is_awaited() -> None:
    events = 3 * READ_BYTES // (SIZE + HEAD.width)
    scene = Scene(lambda: scene.append(events + 1), lambda: scene.append(events + 2, events + 3))
    scene.append(*range(1, events + 1))
    scene.follow()
    # Of the first read nobody knew that there was something, nor that there was more than the last piece.
    fetch, tail = scene.session.samples("fetch"), scene.session.samples("tail")
    assert fetch.service == pytest.approx([TICK_S] * fetch.count)
    assert fetch.count == 2
    assert fetch.bytes == 2 * READ_BYTES - (3 * READ_BYTES) % (SIZE + HEAD.width)
    assert fetch.bytes + tail.bytes == (events + 3) * (SIZE + HEAD.width)
    assert fetch.events + tail.events == events + 3
    assert scene.session.checks[0]() == Outcome(checked=events + 3)


def test_a_fetch_is_from_its_sending_on_whatever_making_it_took() -> None:
    class Slow(Reads):
        """Takes a second to say what it asks for."""

        def at(self, offset: int) -> bytearray:
            scene.now_s += 1.0
            return super().at(offset)

    scene = Scene()
    scene.append(*range(1, 3 * READ_BYTES // (SIZE + HEAD.width)))
    follow(Waiting(scene), Slow(SEGMENT), scene.following)
    assert scene.session.samples("fetch").service == pytest.approx([TICK_S] * 2)


def test_the_tail_is_from_the_sending_of_an_append_to_its_arrival() -> None:
    scene = Scene(lambda: scene.append(1), lambda: scene.append(2))
    scene.follow()
    samples = scene.session.samples("tail")
    # One tick is the arrival's.
    assert samples.service == pytest.approx([TICK_S, TICK_S])
    assert samples.response == pytest.approx([0.5 + TICK_S] * 2)
    assert scene.operations() == {"tail": (2, 2, 2 * (SIZE + HEAD.width))}


def test_what_is_acknowledged_and_has_not_come_is_unfinished_and_waited_for() -> None:
    scene = Scene()
    for number in (1, 2, 3):
        scene.append(number)
    scene.session.end()
    assert scene.session.unfinished(scene.clock()) == {"tail": (3, 503_000)}
    assert not scene.following.is_over
    scene.follow()
    assert scene.following.is_over
    assert scene.session.unfinished(scene.clock()) == {}
    assert scene.session.checks[0]() == Outcome(checked=3)


def test_what_is_on_the_way_at_the_end_is_waited_for() -> None:
    scene = Scene(lambda: scene.append(1))
    scene.writer.sent = 1
    scene.session.end()
    # Nothing is acknowledged yet, so that nobody else waits.
    assert scene.session.unfinished(scene.clock()) == {}
    scene.follow()
    assert scene.session.checks[0]() == Outcome(checked=1)


def test_a_fetch_that_is_not_answered_is_unfinished() -> None:
    scene = Scene()
    scene.following.is_behind = True
    scene.following.ask(scene.clock())
    assert scene.session.unfinished(scene.clock()) == {"fetch": (1, 1_000)}


def test_without_verification_bytes_are_counted_and_nothing_is_waited_for() -> None:
    scene = Scene(is_verified=False)
    scene.append(1)
    scene.session.end()
    assert scene.following.is_over
    scene.session.is_over = False
    scene.follow()
    assert scene.operations() == {"tail": (0, 0, SIZE + HEAD.width)}
    assert scene.session.checks == []


def test_a_changed_event_is_found() -> None:
    class Changing(Waiting):
        """Turns a bit of the second reply."""

        def changed(self, heard: bytes) -> bytes:
            at = heard.index(HEAD.fixed + SIZE.to_bytes(4, "big"), 40) + 50
            return heard[:at] + bytes([heard[at] ^ 1]) + heard[at + 1 :] if next(scene.replies) == 2 else heard

    scene = Scene()
    scene.steps += [partial(scene.append, number) for number in (1, 2, 3)]
    scene.follow(Changing(scene))
    outcome = scene.session.checks[0]()
    assert (outcome.checked, outcome.found, outcome.kinds) == (2, 1, {"changed": 1})
    assert outcome.findings[0].startswith(f"changed: segment {SEGMENT}, byte 108: event 2 of writer 0.0: from byte 42 ")


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        ([(1, 2), (4, 5)], "lost: segment .*, byte 216: event 3 of writer 0.0: acknowledged and not there; event 4 "),
        ([(1, 2), (1, 3)], "doubled: segment .*, byte 216: event 1 of writer 0.0: there once more, after event 2 "),
        ([(2, 1, 3)], "out of order: segment .*, byte 108: event 1 of writer 0.0: late, after event 2"),
    ],
)
def test_what_the_server_does_to_events_is_found(given: list[tuple[int, ...]], finding: str) -> None:
    scene = Scene()
    for numbers in given:
        scene.append(*numbers)
    scene.follow()
    outcome = scene.session.checks[0]()
    assert outcome.found == 1
    assert re.match(finding, outcome.findings[0])


def test_who_stops_within_an_event_has_found_nothing() -> None:
    scene = Scene()
    events = READ_BYTES // (SIZE + HEAD.width) + 10
    scene.append(*range(1, events + 1))

    with pytest.raises(Failed, match="enough"):
        scene.follow(Once(scene))
    assert scene.following.offset == READ_BYTES
    assert READ_BYTES % (SIZE + HEAD.width)
    assert scene.session.checks[0]() == Outcome(checked=READ_BYTES // (SIZE + HEAD.width))


def test_on_a_new_connection_it_goes_on_where_it_was() -> None:
    scene = Scene()
    events = 2 * READ_BYTES // (SIZE + HEAD.width)
    scene.append(*range(1, events + 1))
    with pytest.raises(Failed, match="enough"):
        scene.follow(Once(scene))
    scene.follow()
    assert scene.session.checks[0]() == Outcome(checked=events)
    # What was lost with its connection was no fetch.
    assert scene.session.samples("fetch").count == 1


def test_what_comes_after_the_end_is_nobodys() -> None:
    scene = Scene()
    scene.append(1)
    assert scene.session.checks[0]() == Outcome()
    scene.follow()
    assert scene.following.offset == 0
    assert scene.operations() == {}
