"""Memory of messages in pieces, and the same defects of them in the decoder and the mock."""

import tracemalloc

import pytest

from tests.protocols.pravega_draft.talk import HELLO, pieces
from wiretool import limits
from wiretool.codec.message import SIDES, Side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega_draft.blocks import Blocks
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import PartialMessage
from wiretool.protocols.pravega_draft.partial_messages import Partial, join, put_together


@pytest.mark.parametrize("size", [0, 2])
def test_pieces_cost_what_their_bytes_do(size: int) -> None:
    partial = Partial()
    partial.add("BEGIN", b"")
    tracemalloc.start()
    try:
        for number in range(50_000):
            partial.add("MIDDLE", number.to_bytes(2, "big")[:size])
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2 * 50_000 * size + 10_000
    whole = partial.add("END", b"end")
    assert whole is not None
    assert len(whole) == 50_000 * size + 3
    assert not partial.is_open


def test_pieces_of_more_than_a_message_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PRAVEGA_PAYLOAD_BYTES_MAX", 10)
    partial = Partial()
    partial.add("BEGIN", bytes(HEADER_BYTES + 10))
    partial.add("MIDDLE", b"more")
    assert partial.add("END", b"") == bytes(HEADER_BYTES + 10)
    partial.add("BEGIN", b"ab")
    assert partial.add("END", b"c") == b"abc"


@pytest.mark.parametrize("side", SIDES)
def test_pieces_make_up_a_message(side: Side) -> None:
    blocks, partial = Blocks(is_whole=True), Partial()
    *pieces_before, last = pieces(HELLO, 4, 9)
    assert [join(partial, piece, blocks, side) for piece in pieces_before] == [None, None]
    whole = join(partial, last, blocks, side)
    assert whole == encode(HELLO)
    assert put_together(whole, blocks, side) == (HELLO, len(whole))


@pytest.mark.parametrize("side", SIDES)
def test_a_piece_that_may_not_come_breaks_a_rule_of_its_side(side: Side) -> None:
    blocks, partial = Blocks(is_whole=True), Partial()
    begin, end = pieces(HELLO, 4)
    with pytest.raises(ProtocolViolation, match=f"partial-not-open: PartialMessage from the {side} in phase outside"):
        join(partial, end, blocks, side)
    join(partial, begin, blocks, side)
    with pytest.raises(ProtocolViolation, match=f"partial-already-open: PartialMessage from the {side}"):
        join(partial, begin, blocks, side)
    assert not partial.is_open


@pytest.mark.parametrize(
    ("whole", "kind"),
    [
        (encode(HELLO) + b"!", "partial-length-mismatch"),
        (encode(HELLO)[:5], "partial-length-mismatch"),
        (encode(PartialMessage(part="END", data=b"")), "partial-already-open"),
        (b"\0\0\0\x77" + bytes(4), "unknown-type"),
        (encode(HELLO)[:-4], "partial-length-mismatch"),
    ],
)
def test_pieces_that_make_up_no_message(whole: bytes, kind: str) -> None:
    with pytest.raises((DecodeError, ProtocolViolation), match=kind):
        put_together(whole, Blocks(is_whole=True), "client")
