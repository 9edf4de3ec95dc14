"""A connection watched while it is spoken."""

import itertools

import pytest

from tests.bench.talk import TALKS
from tests.helpers.frames import talk
from wiretool.codec.message import Side
from wiretool.dissect import Dissector
from wiretool.faults.live import LiveWatch
from wiretool.protocols.registry import PROTOCOLS


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
        assert live.is_in_step(side)
        offsets[side] += len(data)
    assert live.end("client", 8) == live.end("server", 9) == []


def test_a_side_that_is_not_understood_holds_up_nothing() -> None:
    live = watch("pravega")
    (_, hello), (_, answer) = talk("pravega")[:2]
    live.feed("client", hello, 1)
    assert live.feed("client", b"\xc8\xff\xff\xff" * 5, 1) == []
    assert not live.is_in_step("client")
    (record,) = live.feed("server", answer, 2)
    assert (record.message, record.reply_to) == ("Hello", 1)
    (lost,) = live.end("client", 3)
    assert (lost.kind, lost.offset, lost.length) == ("problem", len(hello), 20)


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
