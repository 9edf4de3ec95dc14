"""Consumers of a road against the mock in memory, under its clock; and offsets that are not as they should be."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.offramp.load.roads import STEP_S, RoadWire
from tests.protocols.offramp.server.network import Network
from wiretool.load.consuming import Consuming, Offsets, consume
from wiretool.load.findings import Outcome
from wiretool.load.link import Failed
from wiretool.load.session import Session
from wiretool.protocols.offramp.load.client import Answer, Stream
from wiretool.protocols.offramp.server import OfframpMock

ROAD = "one"


class Scene:
    """A consumer, in a session that is over after so many seconds."""

    def __init__(self, seconds: float, *, rate: float = 0.0, partitions: int = 6, **options: Any) -> None:
        self.network = Network(OfframpMock(rate=rate, partitions=partitions))
        self.end_s = self.now_s() + seconds
        self.session = Session(run="run", clock=self.now_s)
        self.consuming = Consuming(
            self.session,
            ROAD,
            **{"credit": 10, "pipeline": 1, "is_local": True, "is_verified": True, **options},
            now_ms=lambda: self.now_s() * 1e3,
        )

    def now_s(self) -> float:
        now_s = self.network.now_ns / 1e9
        if now_s >= getattr(self, "end_s", now_s + 1):
            self.session.end()
        return now_s

    def publish(self, count: int, partition: int = 0) -> None:
        self.network.publish(ROAD, *range(count), partition=partition)

    def run(self, wire: type[RoadWire] = RoadWire) -> None:
        """A connection, until it is over."""
        link = wire(self.network)
        try:
            consume(link, Stream(link, ROAD, "s", random=Random(1)), self.consuming)
        finally:
            link.close()

    def counted(self, operation: str) -> tuple[int, int]:
        """Exchanges and events."""
        samples = self.session.samples(operation)
        return len(samples.service), samples.events

    @property
    def committed(self) -> Any:
        return self.network.operate("roads")["roads"][0]["streams"][0]["committed"]


def test_what_was_there_is_consumed() -> None:
    scene = Scene(1.0)
    scene.network.publish(ROAD)
    for partition in range(6):
        scene.publish(20, partition)
    scene.network.wait(1.0)
    scene.end_s += 1.0
    scene.run()
    # 120 messages are 12 rounds; of the next nothing comes.
    assert scene.counted("consume") == (12, 120)
    assert scene.counted("commit") == (12, 0)
    assert scene.counted("tail") == (0, 0)
    assert scene.committed == dict.fromkeys(range(6), 20)
    assert scene.session.checks[0]() == Outcome(checked=120)


def test_what_comes_later_is_the_tail_from_when_it_came_to_the_road() -> None:
    scene = Scene(2.0, rate=100.0)
    scene.run()
    count, events = scene.counted("tail")
    assert count == events == pytest.approx(200, abs=5)
    assert max(scene.session.samples("tail").service) <= 2 * STEP_S
    assert scene.counted("consume") == (0, 0)
    assert scene.counted("commit")[0] == pytest.approx(20, abs=1)
    assert scene.session.samples("tail").bytes > 100 * events


def test_messages_of_a_request_that_had_to_wait_are_none_of_those_that_were_there() -> None:
    scene = Scene(2.0)
    scene.publish(5)
    scene.network.wait(0.1)
    wire = RoadWire(scene.network)
    stream = Stream(wire, ROAD, "s", random=Random(1))
    wire.send(scene.consuming.begin(stream))
    while scene.consuming.leave().checked < 5:
        scene.consuming.take(stream, stream.feed(wire.receive()))
    # Half of what was asked for is there: nothing is consumed yet.
    assert (scene.counted("consume"), scene.counted("tail")) == ((0, 0), (0, 0))
    scene.publish(5)
    while scene.consuming.leave().checked < 10:
        scene.consuming.take(stream, stream.feed(wire.receive()))
    # The first five came to the road before anybody read it, so that they have no time of their own.
    assert (scene.counted("consume"), scene.counted("tail")) == ((0, 0), (5, 10))
    assert scene.session.samples("tail").bytes > 900


def test_a_commit_is_no_longer_than_servers_take_it() -> None:
    scene = Scene(1.0, partitions=450, credit=450)
    for partition in range(450):
        scene.publish(1, partition)
    scene.run()
    assert scene.counted("commit") == (3, 0)
    assert scene.committed == dict.fromkeys(range(450), 1)
    assert scene.session.checks[0]() == Outcome(checked=450)


def test_on_another_machine_all_is_consumed() -> None:
    scene = Scene(2.0, rate=100.0, is_local=False)
    scene.run()
    rounds, events = scene.counted("consume")
    assert rounds == pytest.approx(20, abs=1)
    assert events == pytest.approx(200, abs=5)
    assert scene.counted("tail") == (0, 0)
    assert min(scene.session.samples("consume").service) > 0.05


def test_several_credits_may_be_on_the_way() -> None:
    scene = Scene(1.0, pipeline=3)
    scene.publish(100)
    scene.network.wait(1.0)
    scene.end_s += 1.0
    assert scene.session.unfinished(scene.now_s()) == {}
    wire = RoadWire(scene.network)
    stream = Stream(wire, ROAD, "s", random=Random(1))
    wire.send(scene.consuming.begin(stream))
    assert scene.session.unfinished(scene.now_s()) == {"consume": (3, 0)}
    wire.send(scene.consuming.take(stream, stream.feed(wire.receive())))
    assert scene.counted("consume") == (3, 30)
    assert scene.session.unfinished(scene.now_s()) == {"commit": (3, 0), "consume": (3, 0)}


class Lossy(RoadWire):
    """Loses the last message of its second reply."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.replies = 0

    def receive_within(self, seconds: float) -> bytes:
        heard = super().receive_within(seconds)
        if b'"MESSAGE"' not in heard:
            return heard
        self.replies += 1
        if self.replies != 2:
            return heard
        begin = heard.rindex(b'{"type":"MESSAGE"')
        return heard[: begin - 2] + heard[begin + heard[begin - 1] :]


@pytest.mark.parametrize("credit", [10, 7])
def test_a_message_that_is_lost_is_found_even_where_it_is_the_last_that_was_asked_for(credit: int) -> None:
    scene = Scene(6.0, credit=credit)
    scene.publish(10 * credit)
    scene.network.wait(1.0)
    scene.end_s += 1.0
    scene.run(Lossy)
    outcome = scene.session.checks[0]()
    offset = 2 * credit - 1
    assert outcome.findings == [
        f"lost: road one, partition 0: offset {offset} did not arrive; {offset + 1} follows {offset - 1}"
    ]
    assert (outcome.checked, outcome.kinds) == (10 * credit - 2, {"lost": 1})


def test_on_a_new_connection_what_was_not_committed_may_come_again() -> None:
    class Torn(RoadWire):
        """Is lost before the first commit is answered."""

        def receive_within(self, seconds: float) -> bytes:
            heard = super().receive_within(seconds)
            if b"COMMIT_RESPONSE" in heard:
                raise Failed("torn", kind="torn")
            return heard

    scene = Scene(3.0)
    scene.publish(35)
    with pytest.raises(Failed, match="torn"):
        scene.run(Torn)
    scene.run()
    outcome = scene.session.checks[0]()
    assert (outcome.found, outcome.checked) == (0, 35)
    assert scene.committed == {0: 30}


def test_after_a_rebalance_what_was_not_committed_may_come_again() -> None:
    class Rebalanced(RoadWire):
        """Has its partitions assigned anew in the midst."""

        count = 0

        def receive_within(self, seconds: float) -> bytes:
            self.count += 1
            if self.count == 5:
                self.network.operate("rebalance", road=ROAD, stream="s")
            return super().receive_within(seconds)

    scene = Scene(2.0, rate=300.0, credit=50)
    scene.run(Rebalanced)
    outcome = scene.session.checks[0]()
    assert outcome.found == 0
    assert outcome.checked > 500


def test_a_commit_that_is_refused_is_an_error_and_so_is_an_answer_to_none() -> None:
    scene = Scene(1.0)
    scene.publish(30)
    wire = RoadWire(scene.network)
    stream = Stream(wire, ROAD, "s", random=Random(1))
    wire.send(scene.consuming.begin(stream))
    scene.consuming.take(stream, stream.feed(wire.receive()))
    answers = [Answer("1", False), Answer("1", True), Answer(None, True)]
    assert scene.consuming.take(stream, answers) == b""
    samples = scene.session.samples("commit")
    assert samples.errors == {"a commit was refused": 1, "a reply without a commit": 2}
    assert samples.service == []
    assert scene.session.unfinished(scene.now_s()) == {"consume": (1, 0)}


# -- offsets -----------------------------------------------------------------------------------------------------------


def offsets(*given: int, committed: int | None = None, again: int | None = None) -> list[str]:
    """What is found in the offsets of a partition, before the `again`th of which all was assigned anew."""
    found = Offsets("r\x1b")
    found.assign([0])
    for row, offset in enumerate(given):
        if row == again:
            if committed is not None:
                found.committed[0] = committed
            found.assign([0])
        found.take(0, offset)
    return [line.replace(" road r\\x1b, partition 0:", "") for line in found.findings]


@pytest.mark.parametrize(
    ("given", "findings"),
    [
        ((5, 6, 7), []),
        ((5, 7, 8), ["lost: offset 6 did not arrive; 7 follows 5"]),
        ((5, 1_009, 1_010), ["lost: offsets 6 to 1,008 did not arrive; 1,009 follows 5"]),
        ((5, 6, 6, 7), ["doubled: offset 6 arrives again, after 6"]),
        ((5, 6, 7, 5, 6, 7, 8), ["doubled: offset 5 arrives again, after 7"]),
        ((5, 6, 7, 5, 7, 8), [f"doubled: offset {offset} arrives again, after 7" for offset in (5, 7)]),
        (
            (5, 7, 6, 8),
            ["lost: offset 6 did not arrive; 7 follows 5", "doubled: offset 6 arrives again, after 7"],
        ),
    ],
)
def test_offsets_that_are_not_in_order(given: tuple[int, ...], findings: list[str]) -> None:
    assert offsets(*given) == findings


@pytest.mark.parametrize(
    ("given", "committed", "findings"),
    [
        ((5, 6, 7, 8, 9), 7, 0),  # on where it was
        ((5, 6, 7, 5, 6, 7, 8), None, 0),
        ((5, 6, 7, 7, 8), 7, 0),
        ((5, 6, 7, 6, 7, 8), 7, 1),  # 6 was committed
        ((5, 6, 7, 9, 10), 7, 1),
        ((5, 6, 7, 6, 5, 6), 6, 1),  # once only
    ],
)
def test_what_a_new_assignment_allows(given: tuple[int, ...], committed: int | None, findings: int) -> None:
    assert len(offsets(*given, committed=committed, again=3)) == findings


def test_a_partition_of_somebody_else() -> None:
    found = Offsets("r")
    found.assign([1, 2])
    found.take(1, 0)
    found.take(3, 0)
    assert found.outcome() == Outcome(
        checked=1,
        found=1,
        kinds={"unassigned": 1},
        findings=[
            "unassigned: road r, partition 3: offset 0 arrived, but the partition is not assigned to this consumer"
        ],
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 50)), max_size=30), st.integers(0, 2**62))
def test_partitions_do_not_mix(runs: list[tuple[int, int]], first: int) -> None:
    found = Offsets("r")
    found.assign(range(4))
    at = dict.fromkeys(range(4), first)
    for partition, count in runs:
        for _ in range(count):
            found.take(partition, at[partition])
            at[partition] += 1
    assert found.outcome() == Outcome(checked=sum(count for _, count in runs))
