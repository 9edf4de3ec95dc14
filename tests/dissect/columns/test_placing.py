"""Frames of both sides in the order in which they are told: as the splitters of both sides tell them one by one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.message import Side
from wiretool.dissect.columns.numbering import Numbers
from wiretool.dissect.columns.placing import Pieces, PlacedFrames, brought, in_order


class Came(NamedTuple):
    """Bytes of a side: how many, with which packet and when, and at which packet they are told."""

    size: int
    packet: int
    time_ns: int
    told: int


class Spoken(NamedTuple):
    """What a side says: whole frames and part of one, and how it came."""

    data: bytes
    came: Sequence[Came]
    #: Where its stream was before.
    offset: int


class Toy:
    """A frame is as long as its first byte says."""

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        return data[at]


#: Side, bytes, stream offset, first and last packet, time, number.
Row = tuple[Side, bytes, int, int, int, int, int]
SIDES: tuple[Side, Side] = ("client", "server")


def by_splitters(both: Sequence[Spoken], numbers: Numbers) -> tuple[list[Row], list[int]]:
    """The frames one by one, and which of them are the first of what came."""
    framing: Any = Toy()
    splitters = {side: Splitter(framing, side) for side in SIDES}
    events = sorted(
        ((came.told, at, came) for at, spoken in enumerate(both) for came in spoken.came), key=lambda each: each[:2]
    )
    rows, begins, done = list[Row](), list[int](), [0, 0]
    for told, at, came in events:
        spoken, side = both[at], SIDES[at]
        pieces = splitters[side].feed(spoken.data[done[at] : done[at] + came.size], came.packet, came.time_ns)
        done[at] += came.size
        numbers.at_packet(told)
        if pieces:
            begins.append(len(rows))
        for each in pieces:
            raw, offset = each.data[each.at : each.end], spoken.offset + each.offset
            rows.append((side, raw, offset, each.first_packet, each.last_packet, each.time_ns, numbers.take()))
    return rows, begins


def placed_of(both: Sequence[Spoken], numbers: Numbers) -> PlacedFrames:
    """The same as the column path has it once it knows where frames begin: both flows, adjacent in the data."""
    data = b"".join(spoken.data for spoken in both)
    starts, ends = list[int](), list[int]()
    begin, begins = 0, list[int]()
    for spoken in both:
        begins.append(begin)
        at, end = begin, begin + len(spoken.data)
        while at < end and at + data[at] <= end:
            starts.append(at)
            at += data[at]
            ends.append(at)
        begin = end
    sizes, packets, times, told = np.array([came for spoken in both for came in spoken.came], np.int64).reshape(-1, 4).T
    flow_of = np.repeat(np.arange(2), [len(spoken.came) for spoken in both])
    base = np.array([spoken.offset for spoken in both], np.int64) - np.array(begins, np.int64)
    frames = np.array(starts, np.int64), np.array(ends, np.int64)
    pieces = Pieces(np.cumsum(sizes), packets, times, told, turns=flow_of)
    of_flow = np.array([False, True]), np.zeros(2, np.int64), base
    return in_order(data, brought(pieces, flow_of, *of_flow, *frames), *frames, numbers)


def rows_of(placed: PlacedFrames) -> list[Row]:
    frames = placed.frames
    return [
        (SIDES[int(is_server)], frames.data[start:end], *map(int, rest))  # type: ignore[misc]
        for is_server, start, end, *rest in zip(
            frames.is_server,
            frames.starts,
            frames.ends,
            placed.offsets,
            placed.first,
            placed.last,
            placed.times,
            frames.numbers,
            strict=True,
        )
    ]


@st.composite
def _both(draw: st.DrawFn) -> list[Spoken]:
    """Both sides, whose packets are each of one side; what waits for a hole is told with the packet that fills it."""
    packet = 3
    cuts: list[list[tuple[int, int, int]]] = [[], []]
    for _ in range(draw(st.integers(1, 14))):
        packet += draw(st.integers(1, 3))
        came = draw(st.integers(1, packet))
        cuts[draw(st.integers(0, 1))] += [
            (draw(st.integers(1, 12)), came if draw(st.booleans()) else packet, packet)
            for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3])))
        ]
    found = []
    for each in cuts:
        size = sum(length for length, _, _ in each)
        data = bytearray()
        while len(data) < size:
            length = draw(st.integers(1, 9))
            data += bytes([length]) + bytes(draw(st.integers(0, 3)) for _ in range(length - 1))
        came_all = [Came(length, at, draw(st.integers(0, 99)), told) for length, at, told in each]
        found.append(Spoken(bytes(data[:size]), came_all, draw(st.sampled_from([0, 1000]))))
    return found


@given(_both(), st.integers(0, 40), st.integers(0, 3))
def test_frames_are_told_as_one_by_one(both: list[Spoken], packet: int, taken: int) -> None:
    """Also where some records were told at a packet before, of this or another connection."""
    numbers, expected = Numbers(), Numbers()
    for each in (numbers, expected):
        each.at_packet(packet)
        for _ in range(taken):
            each.take()
        each.leave(packet)
    # Numbers are given out in the order of the packets, so that nothing is told before what was.
    later = [
        spoken._replace(came=[came._replace(told=came.told + packet - min(4, packet)) for came in spoken.came])
        for spoken in both
    ]
    rows, begins = by_splitters(later, expected)
    placed = placed_of(later, numbers)
    assert rows_of(placed) == rows
    assert placed.stretches.tolist() == begins
    assert (np.diff(placed.frames.numbers) > 0).all()
    last = max(came.told for spoken in later for came in spoken.came)
    if rows and rows[-1][-1] >> 32 == last:
        assert numbers.first_free(last) == expected.first_free(last)


def spoken(data: bytes, *came: Came, offset: int = 0) -> Spoken:
    return Spoken(data, came, offset)


NOTHING = Spoken(b"", (), 0)


def placed(client: Spoken, server: Spoken = NOTHING) -> list[tuple[Any, ...]]:
    """Of each frame the side, offset, first and last packet, and time."""
    return [(row[0], *row[2:6]) for row in rows_of(placed_of([client, server], Numbers()))]


def test_a_frame_in_parts_is_of_all_their_packets_and_of_the_latest_time() -> None:
    parts = Came(1, 9, 50, 9), Came(1, 4, 90, 9), Came(2, 12, 70, 12)
    assert placed(spoken(b"\x03ab\x01", *parts, offset=100)) == [
        ("client", 100, 4, 12, 90),
        ("client", 103, 12, 12, 70),
    ]


def test_replies_stand_behind_what_was_asked_before_them() -> None:
    asked = spoken(b"\x02a\x02b", Came(2, 1, 10, 1), Came(2, 3, 30, 3))
    answered = spoken(b"\x02A\x02B", Came(2, 2, 20, 2), Came(2, 4, 40, 4))
    assert [(side, offset) for side, offset, *_ in placed(asked, answered)] == [
        ("client", 0),
        ("server", 0),
        ("client", 2),
        ("server", 2),
    ]


def test_what_waited_is_told_with_what_it_waited_for() -> None:
    late = spoken(b"\x02A\x02B", Came(2, 2, 20, 8), Came(2, 4, 40, 8))
    assert placed(spoken(b"\x02a", Came(2, 5, 50, 5)), late) == [
        ("client", 0, 5, 5, 50),
        ("server", 0, 2, 2, 20),
        ("server", 2, 4, 4, 40),
    ]


@pytest.mark.parametrize("data", [b"\x09ab", b""])
def test_what_is_no_whole_frame_is_not_told(data: bytes) -> None:
    came = (Came(len(data), 1, 1, 1),) if data else ()
    numbers = Numbers()
    found = placed_of([spoken(data, *came), spoken(b"\x05abc", Came(4, 2, 2, 2))], numbers)
    assert rows_of(found) == []
    assert found.stretches.tolist() == []
    assert numbers.begun(1, 9) == []
