"""FETCH of many batches as frames, against the mock of SBP v0.1 in schema S1, and answers that are none."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.mock_stage import MockWire
from tests.load.mock_stage import Place as Stage
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.following import Piece
from wiretool.load.link import Failed
from wiretool.protocols.sbp.framing import encode_frame, read_frame
from wiretool.protocols.sbp.messages import FETCH, SbpFrame
from wiretool.protocols.sbp_0_1.load import stream_reader as sbp_0_1_reads
from wiretool.protocols.sbp_0_1.load.client import HEAD, READ_BATCHES, READ_BYTES, Appends, bind
from wiretool.protocols.sbp_0_1.load.stream_reader import FIRST_BATCHES, Reads
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock
from wiretool.protocols.sbp_0_1.tables_s1 import FetchInfo, FetchRequest, FetchResponse, FetchResult

MAKER = Maker(writer_of("run", 0, 0), head=HEAD, filler=Filler(0))


class Scene:
    """A stream with batches of so many records, and reads of it on a connection of their own."""

    def __init__(self, *batches: int, size: int = 100, step: int = 1) -> None:
        self.stage = Stage(Sbp01Mock())
        link, last = self.stage.wire(), 0
        bound = bind(link)
        next_id = bound.next_id
        for events in batches:
            source = Appends(MAKER, events=events, size=size)
            source.bind(bound.stream_id, next_id)
            source.last, next_id = last, next_id + 1
            link.send(source.next())
            link.receive()
            last = source.last
        self.stored = MAKER.batch([size] * last, 1)
        self.link: MockWire = self.stage.wire()
        self.reads = Reads(bound.stream_id, count(1), step=step)

    def read(self, offset: int) -> Piece:
        self.link.send(self.reads.at(offset))
        piece = self.reads.feed(self.link.receive())
        assert piece is not None
        return piece

    def read_all(self) -> list[Piece]:
        """To the first answer with nothing in it."""
        pieces = [self.read(0)]
        while pieces[-1].data:
            pieces.append(self.read(pieces[-1].behind))
        return pieces


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=5), st.integers(1, 1000))
def test_the_frame_is_what_encoding_gives(offsets: list[int], step: int) -> None:
    reads = Reads(7, count(4), step=step)
    for stream_id, offset in enumerate(offsets, 4):
        frame = read_frame(S1, raw := bytes(reads.at(offset)), 0, len(raw)).frame
        assert (frame.opcode, frame.stream_id, frame.flags) == (FETCH, stream_id, 0)
        infos = tuple(
            FetchInfo(stream_id=7, request_index=index, fetch_offset=offset + index * step, batch_max_bytes=READ_BYTES)
            for index in range(FIRST_BATCHES)
        )
        assert frame.header == FetchRequest(max_wait_ms=0, min_bytes=1, fetch_requests=infos)


@pytest.mark.parametrize("step", [1, 3])
def test_all_comes_in_order_and_more_and_more_at_once(step: int) -> None:
    scene = Scene(*[step] * 200, step=step)
    pieces = scene.read_all()
    assert b"".join(piece.data for piece in pieces) == scene.stored
    assert pieces[-1] == Piece(b"", 200 * step, is_all=True)
    # 2, 4, 8, 16, 32, 64, 64 and what is left.
    counts = [len(piece.data) // (step * (100 + HEAD.width)) for piece in pieces]
    assert counts == [2, 4, 8, 16, 32, READ_BATCHES, READ_BATCHES, 10, 0]
    assert [piece.is_all for piece in pieces] == [*[False] * 7, True, True]


def test_at_the_end_hardly_more_is_asked_for_than_came() -> None:
    scene = Scene(*[1] * 9)
    assert [len(piece.data) // 104 for piece in (scene.read(0), scene.read(2), scene.read(6))] == [2, 4, 3]
    frame = read_frame(S1, raw := bytes(scene.reads.at(9)), 0, len(raw)).frame
    assert isinstance(frame.header, FetchRequest)
    assert len(frame.header.fetch_requests or ()) == 4


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(1, 4))
def test_batches_of_any_length_come_once_each(batches: list[int], step: int) -> None:
    scene = Scene(*batches, step=step)
    pieces = scene.read_all()
    assert b"".join(piece.data for piece in pieces) == scene.stored
    # Who says that there is no more is right.
    assert [piece.behind for piece in pieces if piece.is_all][:1] == [sum(batches)]


def test_large_batches_come_one_by_one() -> None:
    scene = Scene(1, 1, 1, size=READ_BYTES)
    pieces = scene.read_all()
    assert [len(piece.data) // READ_BYTES for piece in pieces] == [2, 1, 0]


def test_what_frames_look_like_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    Reads(7, count(1), step=1)
    annotated: list[int] = []
    monkeypatch.setattr(sbp_0_1_reads, "annotate", lambda *about: annotated.append(1))
    scene = Scene(*[1] * 100)
    assert b"".join(piece.data for piece in scene.read_all()) == scene.stored
    assert not annotated


@given(st.lists(st.tuples(st.integers(1, READ_BATCHES), st.integers(0, 2 * READ_BYTES)), max_size=20))
def test_few_numbers_of_batches_are_asked_for(answers: list[tuple[int, int]]) -> None:
    """More than came where they fit, at most twice as many; each number is half the next one."""
    reads = Reads(7, count(1), step=1)
    for came, largest in answers:
        reads._want(came, largest)
        wanted = reads._wanted
        assert wanted in (1, 2, 4, 8, 16, 32, 64)
        assert came < wanted <= 2 * came or wanted == READ_BATCHES or (wanted * 2) * largest > READ_BYTES


def test_fetchers_do_not_share_what_they_ask_for() -> None:
    one, other = Reads(7, count(1), step=1), Reads(8, count(5), step=1)
    first, second = one.at(3), other.at(4)
    for raw, stream_id, offset in ((bytes(first), 7, 3), (bytes(second), 8, 4)):
        header = read_frame(S1, raw, 0, len(raw)).frame.header
        assert isinstance(header, FetchRequest)
        infos = header.fetch_requests or ()
        assert [(info.stream_id, info.fetch_offset) for info in infos] == [(stream_id, offset), (stream_id, offset + 1)]


def answer(*results: FetchResult, payload: bytes = b"") -> bytes:
    header = FetchResponse(fetch_responses=results)
    return encode_frame(SbpFrame(opcode=FETCH, flags=3, stream_id=1, header=header, payload=payload), "server")


@pytest.mark.parametrize(
    ("heard", "why"),
    [
        (answer(FetchResult()), "FETCH was answered with 1 results"),
        (answer(), "FETCH was answered with 0 results"),
        (answer(FetchResult(error_code=2, error_message="no"), FetchResult()), "answered with Invalid_Request: no"),
        (answer(FetchResult(batch_length=9), FetchResult(), payload=b"\x22"), "FETCH got a reply that is not SBP"),
    ],
)
def test_what_is_no_answer_is_told(heard: bytes, why: str) -> None:
    reads = Reads(7, count(1), step=1)
    reads.at(0)
    with pytest.raises(Failed, match=why):
        reads.feed(heard)


def test_batches_from_before_are_told() -> None:
    scene = Scene(1)
    scene.link.send(scene.reads.at(0))
    heard = scene.link.receive()
    late = Reads(0, count(1), step=1)
    late.at(1)
    with pytest.raises(Failed, match="offset 1 was asked for"):
        late.feed(heard)
