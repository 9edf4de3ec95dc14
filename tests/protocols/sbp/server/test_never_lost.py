"""Cut any connection at any byte: no append that was acknowledged is lost, none is there twice, the mock goes on."""

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.sbp.server.talk import Client, append, codes_of, create_range, entry, fetch
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.records import read_entries
from wiretool.protocols.sbp.server.mock import SbpMock

SENT_AT_ONCE_NS = 2_000


@dataclass(frozen=True)
class Cut:
    """How one connection ends: after which part of what was to be sent, in how many pieces, and whether it waited."""

    part: float
    pieces: int
    waits: bool
    by_fin: bool


cuts = st.lists(st.builds(Cut, st.floats(0, 1), st.integers(1, 3), st.booleans(), st.booleans()), max_size=5)
WHOLE = Cut(1.0, 1, waits=True, by_fin=False)


def frames_from(sizes: list[int], first: int) -> bytes:
    """The appends of the batches from `first` on, a frame each; their bodies are their numbers."""
    out, at = b"", sum(sizes[:first])
    for number, size in enumerate(sizes[first:], first):
        out += encode_frame(append(10 + number, entry(at, size, b"%d" % number)), "client")
        at += size
    return out


def acknowledged_on(mock: SbpMock, number: int, now_ns: int, sent: bytes, cut: Cut) -> set[int]:
    """Batches that the mock says it has, on a connection that is cut."""
    client = Client(mock, number, now_ns=now_ns)
    end = round(len(sent) * cut.part)
    bounds = [end * piece // cut.pieces for piece in range(cut.pieces + 1)]
    for start, stop in pairwise(bounds):
        client.send(sent[start:stop])
    if cut.waits:
        client.wait(now_ns + SENT_AT_ONCE_NS)
    answers = client.frames()
    if cut.by_fin:
        client.end()
    client.carry_out(mock.lost(number, client.now_ns))
    return {answer.stream_id - 10 for answer in answers if codes_of(answer) in ([1200], [1464])}


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), cuts, st.sampled_from([0, 1_000]))
def test_a_writer_that_is_cut_anywhere_goes_on_where_it_was(sizes: list[int], cuts: list[Cut], commit_ns: int) -> None:
    mock = SbpMock(commit_ns=commit_ns)
    Client(mock).ask(create_range())
    known: set[int] = set()
    for number, cut in enumerate([*cuts, WHOLE], 1):
        sent = frames_from(sizes, len(known))
        now_ns = number * 2 * SENT_AT_ONCE_NS
        known |= acknowledged_on(mock, number, now_ns, sent, cut)
        assert known == set(range(len(known)))
        reader = Client(mock, 1_000 + number, now_ns=now_ns + SENT_AT_ONCE_NS)
        reader.wait(now_ns + SENT_AT_ONCE_NS)
        found = [batch.payload for batch, _ in read_entries(reader.ask(fetch(0)).payload).found]  # type: ignore[attr-defined]
        assert found == [b"%d" % each for each in range(len(found))]
        assert len(found) >= len(known)
    assert len(known) == len(sizes)
    assert mock.range_server.replicas[1, 0].committed == sum(sizes)


@given(st.binary(max_size=200), st.integers(0, 10_000))
def test_bytes_of_one_client_touch_no_other(data: bytes, cut: int) -> None:
    mock = SbpMock()
    writer, stranger = Client(mock, 0), Client(mock, 1)
    writer.ask(create_range())
    good = frames_from([1, 1, 1], 0)
    stranger.send(good[: cut % len(good)] + data)
    mock.lost(1, 0)
    writer.next_id = 500
    assert writer.ask(fetch(0)).flags == 3
    assert writer.closed is None
