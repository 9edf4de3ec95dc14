"""FETCH as frames, against the mock of SBP, and answers that are none."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.mock_stage import MockWire
from tests.load.mock_stage import Place as Stage
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.following import Piece
from wiretool.load.link import Failed
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.framing import encode_frame, read_frame
from wiretool.protocols.sbp.load.client import HEAD, READ_BYTES, Appends, bind, heartbeat, range_at
from wiretool.protocols.sbp.load.frames import Place
from wiretool.protocols.sbp.load.range_reader import Reads
from wiretool.protocols.sbp.messages import APPEND, FETCH, GOAWAY, SbpFrame
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.server.mock import SbpMock
from wiretool.protocols.sbp.tables import FetchRequest, FetchResponse, Status

KEY = writer_of("run", 0, 0)
HERE = Place(0, 0)
MAKER = Maker(KEY, head=HEAD, filler=Filler(0))


class Scene:
    """A range with appends of some events, and reads of it on a connection of their own."""

    def __init__(self, appends: int, *, events: int = 1, size: int = 100) -> None:
        self.stage = Stage(SbpMock())
        link = self.stage.wire()
        bound = bind(link, None, own_id=KEY, acknowledged=0)
        source = Appends(MAKER, events=events, size=size)
        source.bind(bound.place, bound.next_id)
        for _ in range(appends):
            link.send(source.next())
            link.receive()
        self.link: MockWire = self.stage.wire()
        self.reads = Reads(bound.place, count(1))

    def read(self, offset: int) -> Piece:
        self.link.send(self.reads.at(offset))
        piece = self.reads.feed(self.link.receive())
        assert piece is not None
        return piece


def answer(header: Any, *, stream_id: int = 1, flags: int = 3, opcode: int = FETCH, payload: bytes = b"") -> bytes:
    frame = SbpFrame(opcode=opcode, flags=flags, stream_id=stream_id, header=header, payload=payload)
    return encode_frame(frame, "server")


def said(code: int, message: str | None = None) -> FetchResponse:
    return FetchResponse(status=Status(code=code, message=message))


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=5))
def test_the_frame_is_what_encoding_gives(offsets: list[int]) -> None:
    reads = Reads(Place(7, 2), count(4))
    for stream_id, offset in enumerate(offsets, 4):
        frame = read_frame(LATEST, raw := bytes(reads.at(offset)), 0, len(raw)).frame
        assert (frame.opcode, frame.stream_id, frame.flags) == (FETCH, stream_id, 0)
        assert frame.header == FetchRequest(
            max_wait_ms=READ_BYTES, range=range_at(Place(7, 2)), offset=offset, limit=-1, max_bytes=READ_BYTES
        )


def test_what_is_there_comes_at_once_and_where_nothing_is_that_is_said() -> None:
    scene = Scene(3, events=2)
    assert scene.read(0) == Piece(MAKER.batch([100] * 6, 1), 6, is_all=True)
    assert scene.read(4) == Piece(MAKER.batch([100] * 2, 5), 6, is_all=True)
    assert scene.read(6) == Piece(b"", 6, is_all=True)
    assert Scene(0).read(0) == Piece(b"", 0, is_all=True)


def test_of_much_a_part_comes_and_more_is_known_to_be_there() -> None:
    scene = Scene(3, size=200_000)
    first = scene.read(0)
    assert (first.behind, first.is_all) == (2, False)
    rest = scene.read(2)
    assert (rest.behind, rest.is_all) == (3, True)
    assert first.data + rest.data == MAKER.batch([200_000] * 3, 1)


@given(st.lists(st.integers(0, 800), max_size=4))
def test_an_answer_may_be_cut_anywhere_and_heartbeats_come_in_between(cuts: list[int]) -> None:
    scene = Scene(2)
    scene.link.send(heartbeat()())
    scene.link.send(scene.reads.at(0))
    heard, pieces, start = scene.link.receive(), [], 0
    for stop in [*sorted(cut for cut in cuts if cut < len(heard)), len(heard)]:
        pieces.append(scene.reads.feed(heard[start:stop]) if stop > start else None)
        start = stop
    assert pieces[-1] == Piece(MAKER.batch([100] * 2, 1), 2, is_all=True)
    assert not any(pieces[:-1])


def cases() -> Iterator[tuple[bytes, str]]:
    yield answer(said(1405, "gone")), "FETCH was answered with .*: gone"
    yield answer(said(1200), stream_id=2), "FETCH was answered with FETCH 2"
    yield answer(said(1200), flags=1), "FETCH was answered with FETCH with flags 0x01"
    yield answer(None, opcode=APPEND), "FETCH was answered with APPEND with flags 0x03"
    yield answer(None, opcode=GOAWAY, flags=0, stream_id=9), r"the server goes away \(GOAWAY 9\)"
    system = tables.SystemError(status=Status(code=1401, message="bad"))
    yield answer(system, flags=7), "FETCH was answered with .*: bad"
    yield b"HTTP/1.1 200 OK\r\n\r\n", "FETCH got a reply that is not SBP"
    whole = Scene(1)
    whole.link.send(whole.reads.at(0))
    raw = whole.link.receive()
    yield raw[:-1] + bytes([raw[-1] ^ 1]), "FETCH got a reply that is not SBP: .*CRC-32"


@pytest.mark.parametrize(("heard", "why"), [*cases()])
def test_what_is_no_answer_is_told(heard: bytes, why: str) -> None:
    reads = Reads(HERE, count(1))
    reads.at(7)
    with pytest.raises(Failed, match=why):
        reads.feed(heard)


def test_batches_from_before_are_told() -> None:
    scene = Scene(1)
    scene.link.send(scene.reads.at(0))
    heard = scene.link.receive()
    late = Reads(HERE, count(1))
    late.at(1)
    with pytest.raises(Failed, match="offset 1 was asked for, the last ends at 1"):
        late.feed(heard)
