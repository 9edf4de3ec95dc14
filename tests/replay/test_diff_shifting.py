"""Where things that grow began elsewhere: most of their places say by how much."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.talks import PLAIN, SEGMENT, appending, reading, recorded, setting_up, talk
from wiretool.codec.message import Position
from wiretool.records import Record
from wiretool.replay.adapter import Place
from wiretool.replay.diff.shifting import Met, shift_positions
from wiretool.replay.playing.id_map import Values

MANNER = PLAIN["pravega"]


def acks(lengths: list[int]) -> tuple[list[Record], dict[int, Record]]:
    """The acks of appends after which the segment is so long, and their requests."""
    said = talk(setting_up(), *(appending(n, request_id=n, length=each) for n, each in enumerate(lengths, 1)))
    records = recorded(said).dialogues[0].records
    found = [record for record in records if record.message == "DataAppended"]
    return found, {record.n: record for record in records}


def place_of(record: Record, request: Record) -> Place:
    (place,) = (
        each
        for each in MANNER.places(record, MANNER.form(record), request)
        if each.steps == ("current_segment_write_offset",)
    )
    return place


def shift_learnt(recorded_: list[int], live: list[int]) -> int:
    ones, asked = acks(recorded_)
    others, _ = acks(live)
    values = Values()
    shift_positions(
        values, [Met(MANNER, one, other, asked[one.reply_to or 0]) for one, other in zip(ones, others, strict=True)]
    )
    place = place_of(ones[0], asked[ones[0].reply_to or 0])
    assert isinstance(place.role, Position)
    return values.shift_of(place.role.kind, place.within)


_lengths = st.lists(st.integers(0, 10_000), min_size=1, max_size=9, unique=True)


@given(_lengths, st.integers(0, 10**9))
def test_all_places_say_the_same(lengths: list[int], by: int) -> None:
    assert shift_learnt(lengths, [length + by for length in lengths]) == by


@given(_lengths, st.integers(100, 10**6), st.data())
def test_fewer_than_half_do_not_count(lengths: list[int], by: int, data: st.DataObject) -> None:
    odd = data.draw(st.sets(st.sampled_from(range(len(lengths))), max_size=(len(lengths) - 1) // 2))
    live = [length + (at + 1 if at in odd else by) for at, length in enumerate(lengths)]
    assert shift_learnt(lengths, live) == by


@pytest.mark.parametrize(
    ("live", "by"),
    [
        ([10, 20], 0),
        ([15, 20], 0),
        ([110, 25], 5),
        ([5, 20], 0),
        ([3, 24], 4),
    ],
)
def test_of_as_many_the_least_counts(live: list[int], by: int) -> None:
    assert shift_learnt([10, 20], live) == by


def test_each_thing_is_shifted_by_itself() -> None:
    one = recorded(talk(reading(segment="s/a/0", offset=1), reading(segment="s/b/0", offset=1)))
    other = recorded(talk(reading(segment="s/a/0", offset=101), reading(segment="s/b/0", offset=11)))
    frames = [[record for record in each.dialogues[0].records if record.message != "Hello"] for each in (one, other)]
    values = Values()
    shift_positions(values, [Met(MANNER, *pair) for pair in zip(*frames, strict=True)])
    (place,) = (each for each in MANNER.places(frames[0][0], MANNER.form(frames[0][0])) if each.steps == ("offset",))
    assert isinstance(place.role, Position)
    kind = place.role.kind
    assert [values.shift_of(kind, name) for name in ("s/a/0", "s/b/0", SEGMENT)] == [100, 10, 0]
    assert not values.knows(place.role, SEGMENT, 1)


def test_what_stands_for_no_place_says_nothing() -> None:
    assert shift_learnt([-1, 10], [1, 13]) == 3
    assert shift_learnt([1, 10], [-1, 13]) == 3


def test_another_message_says_nothing() -> None:
    (ack,), asked = acks([10])
    (other,), _ = acks([50])
    values = Values()
    shift_positions(values, [Met(MANNER, ack, msgspec.structs.replace(other, message="SegmentRead"))])
    assert not values.knows(Position(place_of(ack, asked[ack.reply_to or 0]).role.kind), SEGMENT, 1)  # type: ignore[union-attr]


def test_nothing_is_learnt_of_what_is_all_the_same() -> None:
    ones, asked = acks([10, 20])
    values = Values()
    shift_positions(values, [Met(MANNER, one, one, asked[one.reply_to or 0]) for one in ones])
    place = place_of(ones[0], asked[ones[0].reply_to or 0])
    assert isinstance(place.role, Position)
    assert not values.knows(place.role, place.within, 10)
