"""Following a writer that goes on in another stream, where a server does not wait: the mock of SBP v0.1."""

from collections.abc import Callable
from itertools import count
from uuid import UUID

import pytest

from tests.load.mock_stage import MockWire, Place
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.following import Following, follow
from wiretool.load.link import Failed
from wiretool.load.measure.intervals import Writer
from wiretool.load.run.session import Session
from wiretool.load.verify.findings import Outcome
from wiretool.protocols.sbp_0_1.load.client import HEAD, Appends, acks, bind
from wiretool.protocols.sbp_0_1.load.stream_reader import Reads
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock

KEY = writer_of("run", 0, 0)
FILLER = Filler(0)
TICK_S = 0.001


class Scene:
    """A writer, in one stream after the other, and somebody who follows; in each pause the next step is taken."""

    def __init__(self, *steps: Callable[[], None]) -> None:
        self.now_s = 0.0
        self.session = Session(run="run", clock=self.clock)
        self.session.is_followed = True
        self.session.open()
        self.place = Place(Sbp01Mock())
        self.ids = count(1)
        self.steps = [*steps]
        self.go_on()
        self.first = self.writer
        self.following = Following(self.session, self.writer.segment, self.writer)
        self.following.check(HEAD, FILLER)

    def clock(self) -> float:
        """A tick later each time."""
        self.now_s += TICK_S
        return self.now_s

    def go_on(self) -> None:
        """The writer begins in a new stream."""
        self.link = self.place.wire()
        bound = bind(self.link)
        self.writer = Writer(key=KEY, wire_id=str(UUID(int=KEY)), segment=str(bound.stream_id))
        self.session.enter(self.writer)
        self.source = Appends(Maker(KEY, head=HEAD, filler=FILLER), events=1, size=100)
        self.source.bind(bound.stream_id, bound.next_id)
        self.feed = acks(bound.next_id, 1).feed

    def append(self) -> None:
        """One event, acknowledged."""
        sendings = self.session.sendings_of(self.writer, 1)
        assert sendings is not None
        frame = self.source.next()
        self.writer.sent = self.source.last
        sendings.note(self.source.last, self.clock(), self.now_s - 0.5)
        self.link.send(frame)
        self.writer.acknowledged = self.feed(self.link.receive())

    def follow(self) -> None:
        """Until the session is over, or the writer has left the stream."""
        wire = Pausing(self.place, len(self.place.wires), self)
        self.place.wires.append(wire)
        self.place.do(self.place.mock.opened(wire.number, self.place.mock.doors[0].name, self.place.now_ns))
        follow(wire, Reads(int(self.following.segment), self.ids, step=1), self.following)


def together(*steps: Callable[[], object]) -> None:
    """Some in one pause."""
    for step in steps:
        step()


class Pausing(MockWire):
    """Where it is waited before a server is asked again something happens; in the end, nothing more is expected."""

    def __init__(self, place: Place, number: int, scene: Scene) -> None:
        super().__init__(place, number)
        self.scene = scene

    def receive_within(self, seconds: float) -> bytes:
        assert seconds == Reads.pause_s
        self.scene.steps.pop(0)() if self.scene.steps else self.scene.session.end()
        return super().receive_within(seconds)


def test_what_comes_to_a_stream_is_the_tail_though_the_server_does_not_wait() -> None:
    scene = Scene(lambda: scene.append(), lambda: scene.append(), lambda: None, lambda: scene.append())
    scene.follow()
    tail, fetch = scene.session.samples("tail"), scene.session.samples("fetch")
    # One tick is the asking's, one the arrival's.
    assert tail.service == pytest.approx([2 * TICK_S] * 3)
    assert tail.response == pytest.approx([0.5 + 2 * TICK_S] * 3)
    assert (tail.events, tail.bytes) == (3, 3 * 104)
    assert (fetch.count, fetch.events) == (0, 0)
    assert scene.following.offset == 3
    assert scene.session.checks[0]() == Outcome(checked=3)


def test_of_what_is_there_the_first_read_is_no_fetch_nor_is_one_in_vain() -> None:
    scene = Scene()
    for _ in range(6):
        scene.append()
    scene.follow()
    # 2 and 4 are all that was asked for; then there is nothing.
    fetch, tail = scene.session.samples("fetch"), scene.session.samples("tail")
    assert (fetch.count, fetch.events, tail.events) == (1, 4, 2)


def test_where_its_writer_has_gone_on_all_that_it_left_is_read_and_then_the_new_stream() -> None:
    scene = Scene(lambda: scene.append(), lambda: together(scene.append, scene.go_on, scene.append))
    scene.follow()
    assert scene.following.is_deserted
    assert not scene.session.is_over
    assert scene.following.offset == 2
    scene.following.turn_to(scene.writer)
    assert not scene.following.is_deserted
    assert (scene.following.segment, scene.following.offset) == ("1", 0)
    assert scene.session.unfinished(scene.clock())["tail"][0] == 1
    scene.steps.append(scene.append)
    scene.follow()
    assert scene.session.checks[0]() == Outcome(checked=4)
    # Each event has its own time, though numbers begin anew.
    assert len(scene.session.samples("tail").service) == 4


def test_what_is_lost_in_a_stream_before_is_told_with_its_name() -> None:
    scene = Scene(lambda: scene.append(), lambda: together(scene.source.next, scene.append, scene.go_on))
    scene.follow()
    scene.following.turn_to(scene.writer)
    scene.append()
    scene.follow()
    outcome = scene.session.checks[0]()
    assert (outcome.checked, outcome.kinds) == (3, {"lost": 1})
    assert outcome.findings[0].startswith("lost: segment 0, byte 104: event 2 of writer 0.0")


def test_at_the_end_only_what_was_acknowledged_is_waited_for_in_a_stream_that_was_left() -> None:
    scene = Scene()
    scene.append()
    scene.first.sent = 5
    scene.session.end()
    assert not scene.following.is_over
    scene.go_on()
    scene.follow()
    assert scene.following.is_over
    assert scene.session.checks[0]() == Outcome(checked=1)


def test_who_has_left_reads_no_other_stream() -> None:
    scene = Scene()
    assert scene.session.checks[0]() == Outcome()
    scene.go_on()
    scene.following.turn_to(scene.writer)
    assert scene.following.is_over
    assert not scene.following.is_deserted


def test_a_server_that_says_nothing_where_it_should_not_wait_is_not_waited_for_for_ever() -> None:
    class Dumb(Pausing):
        def receive(self) -> bytes:
            raise Failed("no answer in 10 s", kind="no answer in 10 s")

    scene = Scene()
    wire = Dumb(scene.place, 0, scene)
    with pytest.raises(Failed, match="no answer"):
        follow(wire, Reads(0, scene.ids, step=1), scene.following)
