"""A sound store has no anomaly in Pravega's model, whatever clients do; a single fault in it has one."""

import random
from itertools import pairwise
from uuid import UUID

import pytest

from tests.consistency.world import Client, World
from tests.protocols.pravega.test_consistency import append, create
from wiretool.protocols.pravega.messages import (
    AppendSetup,
    ConditionalAppend,
    ReadSegment,
    SetupAppend,
)
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    DeleteSegment,
    GetStreamSegmentInfo,
    MergeSegments,
    MergeSegmentsBatch,
    SealSegment,
    TruncateSegment,
    UpdateSegmentAttribute,
)
from wiretool.protocols.pravega.structures import ConditionalAttributeUpdate, InnerEvent

SEGMENTS = ["a/b/0", "a/b/1", "a/b/2"]
#: Few bodies, so that many events are equal.
BODIES = [b"", b"x", b"same", b"same", b"longer than the others"]


class Chance:
    """Clients that do something at random."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.world = World("pravega")
        self.client = self.world.client()
        create(self.client, SEGMENTS[0])
        self.made = {SEGMENTS[0]}
        #: Segment and last number by writer, as of its AppendSetup.
        self.writers: dict[str, tuple[Client, str, int]] = {}

    def step(self) -> None:
        weights = {self.append: 12, self.set_up: 4, self.read: 4, self.condition: 2, self.change: 2, self.connect: 1}
        self.rng.choices(list(weights), list(weights.values()))[0]()
        self.world.now_ns += 1_000_000_000

    def connect(self) -> None:
        self.client = self.world.client()

    def set_up(self) -> None:
        if not self.client.is_open:
            self.connect()
        writer, segment = str(UUID(int=self.rng.randrange(3))), self.rng.choice(SEGMENTS)
        reply = self.client.send(SetupAppend(request_id=2, writer_id=writer, segment=segment))[0].fields
        self.writers.pop(writer, None)
        if isinstance(reply, AppendSetup):
            self.writers[writer] = self.client, segment, max(reply.last_event_number, 0)

    def append(self) -> None:
        if not self.writers:
            return
        writer = self.rng.choice(list(self.writers))
        client, segment, number = self.writers[writer]
        bodies = self.rng.choices(BODIES, k=self.rng.randrange(1, 4))
        number += len(bodies) + self.rng.randrange(2)
        if not client.is_open:
            del self.writers[writer]
            return
        replies = append(client, number, *bodies, writer=writer)
        self.writers[writer] = client, segment, number
        if not replies or replies[0].message != "DataAppended":
            del self.writers[writer]

    def condition(self) -> None:
        if not self.writers:
            return
        writer = self.rng.choice(list(self.writers))
        client, _, number = self.writers.pop(writer)
        if client.is_open:
            sent = ConditionalAppend(
                writer_id=writer,
                event_number=number + 1,
                expected_offset=self.rng.choice([-1, 0, 12]),
                event=InnerEvent(data=self.rng.choice(BODIES)),
                request_id=4,
            )
            client.send(sent)

    def read(self) -> None:
        segment, offset = self.rng.choice(SEGMENTS), self.rng.choice([0, 0, 8, self.rng.randrange(60)])
        size = self.rng.choice([8, 30, 1000])
        reader = self.world.client()
        reader.send(ReadSegment(segment=segment, offset=offset, suggested_length=size, request_id=5))
        reader.send(GetStreamSegmentInfo(request_id=6, segment_name=segment))

    def change(self) -> None:
        one, other = self.rng.sample(SEGMENTS, 2)
        admin = self.world.client()
        requests = [
            CreateSegment(request_id=7, segment=one, target_rate=0, scale_type=0),
            CreateSegment(request_id=7, segment=one, target_rate=0, scale_type=0),
            DeleteSegment(request_id=7, segment=one),
            SealSegment(request_id=7, segment=one),
            TruncateSegment(request_id=7, segment=one, truncation_offset=self.rng.choice([0, 9, 20])),
            MergeSegments(request_id=7, target=one, source=other),
            MergeSegmentsBatch(request_id=7, target_segment_id=one, source_segment_ids=(other,)),
        ]
        admin.send(self.rng.choice(requests))
        self.world.now_ns += self.rng.choice([0, 60_000_000_000])


@pytest.mark.parametrize("seed", range(60))
def test_a_sound_store_has_no_anomaly(seed: int) -> None:
    chance = Chance(seed)
    for _ in range(60):
        chance.step()
    chance.world.ask_all()
    assert chance.world.anomalies == []


@pytest.mark.parametrize("is_merge", [False, True])
def test_a_client_may_set_the_last_number_of_a_writer(is_merge: bool) -> None:
    """The last number is an attribute of the segment; the store takes lower numbers again after that."""
    world, segment, writer = World("pravega"), SEGMENTS[0], str(UUID(int=7))
    client = world.client()
    create(client, segment)
    create(client, SEGMENTS[1])
    client.send(SetupAppend(request_id=2, writer_id=writer, segment=segment))
    append(client, 2, b"one", b"two")
    if is_merge:
        update = ConditionalAttributeUpdate(attribute_id=writer, attribute_update_type=1, new_value=1, old_value=0)
        merge = MergeSegments(request_id=7, target=segment, source=SEGMENTS[1], attribute_updates=(update,))
        assert client.send(merge)[0].message == "SegmentsMerged"
    else:
        client.send(
            UpdateSegmentAttribute(
                request_id=7, segment_name=segment, attribute_id=writer, new_value=1, expected_value=2
            )
        )
    again = world.client()
    again.send(SetupAppend(request_id=2, writer_id=writer, segment=segment))
    assert append(again, 2, b"two")[0].message == "DataAppended"
    world.ask_all()
    assert world.anomalies == []


def test_enough_is_judged() -> None:
    judged = 0
    for seed in range(20):
        chance = Chance(seed)
        for _ in range(60):
            chance.step()
        chance.world.ask_all()
        judged += chance.world.model.judged
    assert judged > 250


@pytest.mark.parametrize("how", ["nothing", "twice", "late"])
@pytest.mark.parametrize("seed", range(10))
def test_a_single_fault_is_found(seed: int, how: str) -> None:
    world, rng = World("pravega"), random.Random(seed)
    client = world.client()
    create(client, SEGMENTS[0])
    client.send(SetupAppend(request_id=2, writer_id=str(UUID(int=7)), segment=SEGMENTS[0]))
    bad = rng.randrange(8)
    for number in range(8):
        if number == bad:
            world.mock.keep(client.number, how)
        append(client, number + 1, rng.choice(BODIES))
    world.ask_all()
    assert len(world.anomalies) >= 1 or (how == "late" and _is_hidden(world)), how


def _is_hidden(world: World) -> bool:
    """Return whether two equal appends have changed places, which is not a difference."""
    bodies = [record.append["length"] for record in world.records if record.append]
    return any(one == two for one, two in pairwise(bodies))
