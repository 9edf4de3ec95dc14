"""Messages on roads: where they go, what is kept of them, which streams are remembered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool import limits
from wiretool.codec.remembering import remembering
from wiretool.protocols.offramp import events
from wiretool.protocols.offramp.messages import MessageEvent
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.protocols.offramp.server.groups import Group, range_of
from wiretool.protocols.offramp.server.partitions import Entry, Partition
from wiretool.protocols.offramp.server.pii import blanked
from wiretool.protocols.offramp.server.roads import Road, Roads


def never(group: Group) -> None:
    """Nobody joins in these tests."""
    raise AssertionError(f"{group} is to be settled")


@given(st.lists(st.booleans(), max_size=300))
def test_a_partition_is_a_window(appends: list[bool]) -> None:
    """Against a list that forgets nothing."""
    partition, first = Partition(), 0
    all_of_them: list[Entry] = []
    for is_append in appends:
        if is_append:
            all_of_them.append(Entry(b"%d" % len(all_of_them), b"x"))
            partition.append(all_of_them[-1])
        elif first < len(all_of_them):
            assert partition.drop_oldest() == all_of_them[first].size
            first += 1
        assert (partition.first, partition.end) == (first, len(all_of_them))
        assert [partition.at(n) for n in range(first, len(all_of_them))] == all_of_them[first:]


def test_a_long_partition_gives_places_back() -> None:
    partition = Partition()
    for n in range(10_000):
        partition.append(Entry(b"%d" % n, b""))
        if n >= 10:
            partition.drop_oldest()
    assert (partition.first, partition.end) == (9_990, 10_000)
    assert [partition.at(n).text for n in range(9_990, 10_000)] == [b"%d" % n for n in range(9_990, 10_000)]
    assert len(partition._entries) < 4_000


@given(st.integers(1, 50), st.integers(1, 60))
def test_ranges_cover_every_partition_once(partitions: int, members: int) -> None:
    ranges = [range_of(partitions, members, index) for index in range(members)]
    assert [partition for each in ranges for partition in each] == list(range(partitions))
    sizes = [len(each) for each in ranges]
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) - min(sizes) <= 1


def test_a_key_has_one_partition_and_the_rest_take_turns() -> None:
    road = Road("r", 4, never)
    assert len({road.place(FeedMessage(payload=n, key="k")) for n in range(9)}) == 1
    assert len({road.place(FeedMessage(payload=0, key=f"k{n}")) for n in range(99)}) == 4
    assert [road.place(FeedMessage(payload=n)) for n in range(5)] == [0, 1, 2, 3, 0]
    assert road.place(FeedMessage(payload=0, key="k", partition=3)) == 3


def test_a_feed_reaches_the_roads_it_names() -> None:
    feed = [FeedMessage(payload=1), FeedMessage(payload=2, road="a")]
    roads = Roads(None, partitions=1, retain_bytes=10_000, feed=feed, later=never)
    ends = {name: road.partitions[0].end for name in ("a", "b") if (road := roads.get(name, 0)) is not None}
    assert ends == {"a": 2, "b": 1}


def test_any_road_exists_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OFFRAMP_ROADS_MAX", 2)
    roads = Roads(None, partitions=1, retain_bytes=0, feed=[], later=never)
    assert [roads.get(name, 0) is not None for name in "abca"] == [True, True, False, True]


def test_old_streams_are_forgotten_where_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OFFRAMP_STREAMS_MAX", 2)
    road = Road("r", 1, never)
    for name in "abc":
        road.group(name).commit({0: 1})
    assert list(road.groups) == ["b", "c"]


@pytest.mark.parametrize(
    ("payload", "paths", "left"),
    [
        ({"a": "x", "b": "y"}, ["a"], {"a": "", "b": "y"}),
        ({"a": {"b": ["x", 1, None]}}, ["a.b"], {"a": {"b": ["", 1, None]}}),
        ([{"a": "x"}, {"c": "x"}, "x"], ["a", "c"], [{"a": ""}, {"c": ""}, "x"]),
        ({"a": "x"}, ["a.b", "c"], {"a": "x"}),
    ],
)
def test_blanking(payload: object, paths: list[str], left: object) -> None:
    before = repr(payload)
    assert blanked(payload, paths) == left
    assert repr(payload) == before


def test_a_message_of_a_feed_is_written_once_where_results_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int | None] = []
    encode = events.encode

    def noted(event: MessageEvent) -> bytes:
        written.append(event.timestampMs)
        return encode(event)

    monkeypatch.setattr(events, "encode", noted)
    feed = [FeedMessage(payload={"n": 1}), FeedMessage(payload={"n": 2})]

    def texts(now_ns: int) -> list[bytes]:
        road = Roads(None, partitions=1, retain_bytes=10_000, feed=feed, later=never).get("a", now_ns)
        assert road is not None
        return [road.partitions[0].at(offset).text for offset in range(2)]

    with remembering(is_on=True):
        first = texts(1_000_000)
        assert texts(1_000_000) == first
        assert texts(2_000_000) != first
    assert written == [1, 1, 2, 2]
    assert texts(1_000_000) == first
    assert written == [1, 1, 2, 2, 1, 1]
