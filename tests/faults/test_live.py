"""A connection watched while it is spoken."""

import itertools

import pytest

from tests.helpers.frames import TALKS, talk
from wiretool.codec.message import Side
from wiretool.dissect.dissector import Dissector
from wiretool.faults.live import LiveWatch
from wiretool.protocols.base.registry import PROTOCOLS

#: No frame of Pravega begins so.
RUBBISH = b"\xc8\xff\xff\xff" * 5


def watch(name: str) -> LiveWatch:
    return LiveWatch(3, PROTOCOLS[name], "c", "s", 5, itertools.count(1).__next__)


@pytest.mark.parametrize("name", list(TALKS))
def test_each_frame_is_told_when_it_is_whole(name: str) -> None:
    live = watch(name)
    offsets: dict[Side, int] = {"client": 0, "server": 0}
    for side, data in talk(name):
        assert live.feed(side, data[:-1], 6) == []
        record = live.feed(side, data[-1:], 7)[0]
        assert (record.kind, record.raw, record.offset, record.time_ns) == ("frame", data, offsets[side], 7)
        assert (record.connection, record.client, record.server, record.protocol) == (3, "c", "s", name)
        offsets[side] += len(data)
    assert live.end("client", 8) == live.end("server", 9) == []


def test_a_side_that_is_not_understood_holds_up_nothing() -> None:
    live = watch("pravega")
    (_, hello), (_, answer) = talk("pravega")[:2]
    live.feed("client", hello, 1)
    live.feed("client", RUBBISH, 1)
    (record,) = live.feed("server", answer, 2)
    assert (record.message, record.raw) == ("Hello", answer)


def test_bytes_that_are_no_frame_are_a_problem_at_once_and_the_next_ones_when_a_frame_follows() -> None:
    live = watch("pravega")
    hello, _, setup = (data for _, data in talk("pravega")[:3])
    live.feed("client", hello, 1)
    (lost,) = live.feed("client", RUBBISH, 2)
    assert (lost.kind, lost.offset, lost.length, lost.raw) == ("problem", len(hello), 20, RUBBISH)
    assert (lost.error, lost.packets, lost.time_ns) == ("frame-too-large", (2, 2), 2)
    assert live.feed("client", RUBBISH, 3) == []
    told = live.feed("client", setup, 4) + live.feed("client", setup * 4, 5)
    assert [(record.kind, record.message, record.length) for record in told] == [
        ("problem", "", 20),
        *[("frame", "SetupAppend", len(setup))] * 5,
    ]
    (again,) = live.feed("client", RUBBISH, 6)
    assert (again.kind, again.offset) == ("problem", len(hello) + 40 + 5 * len(setup))
    assert live.end("client", 7) == []


def test_whole_frames_behind_bytes_that_are_none_are_told_with_them() -> None:
    live = watch("pravega")
    hello = talk("pravega")[0].data
    told = live.feed("client", RUBBISH + hello + hello[:9], 1) + live.feed("client", hello[9:], 2)
    assert [(record.kind, record.offset, record.length) for record in told] == [
        ("problem", 0, 20),
        ("frame", 20, 16),
        ("frame", 36, 16),
    ]


def test_a_side_is_given_up_for_what_is_known_from_elsewhere() -> None:
    live = watch("pravega")
    assert live.feed("client", b"\x16\x03\x01\0", 1) == []
    (lost,) = live.give_up("client", "foreign", "it begins as TLS does")
    assert (lost.kind, lost.error, lost.why, lost.length) == ("problem", "foreign", "it begins as TLS does", 4)
    assert live.give_up("client", "foreign", "it begins as TLS does") == []


def test_the_records_are_those_of_decode() -> None:
    live = watch("pravega")
    told = [record for side, data in talk("pravega") for record in live.feed(side, data, 1)]
    dissector = Dissector(protocol="pravega")
    for side in ("client", "server"):
        alone = dissector.stream(b"".join(data for sender, data in talk("pravega") if sender == side), side, 1)
        ours = [record for record in told if record.side == side]
        assert [(each.message, each.fields, each.offset, each.append, each.raw) for each in ours] == [
            (each.message, each.fields, each.offset, each.append, each.raw) for each in alone
        ]
