"""Lines of a feed to messages, and messages made up at a rate."""

import pytest

from wiretool.errors import UsageError
from wiretool.protocols.offramp.server import OfframpMock
from wiretool.protocols.offramp.server.feed import FeedMessage, Maker, feed_message, read_feed

SECOND_NS = 1_000_000_000


def test_lines_to_messages() -> None:
    lines = [
        '{"payload": {"a": 1}}\n',
        "\n",
        '{"road":"r","key":"k","partition":2,"schema":7,"timestamp":-1,"pii":["a.b"],"payload":null}',
    ]
    assert list(read_feed(lines)) == [
        FeedMessage(payload={"a": 1}),
        FeedMessage(road="r", key="k", partition=2, schema=7, timestamp=-1, pii=("a.b",), payload=None),
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"payload":1', "line 3: malformed_json at byte 12"),
        ('{"payload":1} x', "line 3: trailing_data"),
        ('{"payload":1,"payload":2}', "line 3: duplicate_key"),
        ('{"payload":1e999}', "line 3: out_of_range"),
        ("[" * 300, "line 3: nesting_too_deep"),
        ("[1]", "line 3: not a JSON object"),
        ("{}", "line 3: field payload is missing"),
        ('{"payload":1,"colour":2}', "line 3: field colour is unknown"),
        ('{"payload":1,"partition":"0"}', "line 3: field partition: expected a whole number or null, got text"),
        ('{"payload":1,"partition":-1}', "line 3: field partition: expected a whole number >= 0"),
        ('{"payload":1,"schema":2147483648}', "line 3: field schema: expected a whole number <= 2147483647"),
        ('{"payload":1,"timestamp":9223372036854775808}', "line 3: "),
    ],
)
def test_a_bad_line_is_named(line: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        list(read_feed(['{"payload":0}', "", line]))


def test_a_message_from_members() -> None:
    assert feed_message({"payload": [1], "key": None}) == FeedMessage(payload=[1])


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (FeedMessage(payload=1, road="other"), "road 'other', which does not exist"),
        (FeedMessage(payload=1, partition=6), "partition 6 of 6"),
    ],
)
def test_a_feed_that_fits_no_road(message: FeedMessage, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        OfframpMock(roads=["one"], feed=[message])


def test_what_is_made_hangs_on_seed_and_road_only() -> None:
    def made(seed: int, road: str, steps: int) -> list[FeedMessage]:
        maker = Maker(seed, road, 100)
        maker.start(5)
        return [message for n in range(1, steps + 1) for message in maker.due(5 + n * SECOND_NS // steps)]

    assert made(1, "a", 1) == made(1, "a", 7)
    assert len(made(1, "a", 13)) == 100
    assert made(1, "a", 1) != made(2, "a", 1)
    assert made(1, "a", 1) != made(1, "b", 1)


def test_what_was_not_asked_for_in_time_is_not_made() -> None:
    maker = Maker(0, "a", 10)
    maker.start(0)
    assert len(list(maker.due(100 * SECOND_NS))) == 10
    assert len(list(maker.due(101 * SECOND_NS))) == 10
