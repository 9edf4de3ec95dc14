from hypothesis import given
from hypothesis import strategies as st

from wiretool.capture.tcp.reassembly_buffer import PIECE_OVERHEAD_BYTES, Held, Overlap, Piece, Pieces, Ranges


def piece(offset: int, data: bytes) -> Piece:
    return Piece(offset, data, 0, 0)


def test_pieces_that_follow_are_taken_together() -> None:
    held = Held()
    pieces = Pieces(held)
    for offset, data in [(5, b"fg"), (2, b"cde"), (9, b"j")]:
        assert pieces.add(piece(offset, data)) == []
    assert held.size == pieces.size == 6 + 3 * PIECE_OVERHEAD_BYTES
    assert pieces.take_from(1) == []
    assert [each.data for each in pieces.take_from(2)] == [b"cde", b"fg"]
    assert (pieces.first_offset, pieces.packets, held.size) == (9, 1, 1 + PIECE_OVERHEAD_BYTES)


def test_only_what_is_new_is_held() -> None:
    pieces = Pieces(Held())
    pieces.add(piece(2, b"cd"))
    pieces.add(piece(6, b"gh"))
    assert pieces.add(piece(0, b"abXdefgYij")) == [Overlap(2, b"Xd", b"cd"), Overlap(6, b"gY", b"gh")]
    assert b"".join(each.data for each in pieces.take_from(0)) == b"abcdefghij"


def test_shift_counts_from_elsewhere() -> None:
    pieces = Pieces(Held())
    pieces.add(piece(-3, b"abc"))
    pieces.shift(3)
    assert pieces.take_from(0) == [piece(0, b"abc")]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10))))
def test_the_first_copy_of_every_byte_is_held(spans: list[tuple[int, int]]) -> None:
    pieces, again = Pieces(Held()), 0
    expected: dict[int, int] = {}
    for number, (offset, length) in enumerate(spans):
        again += sum(len(overlap.now) for overlap in pieces.add(piece(offset, bytes([number % 256]) * length)))
        for at in range(offset, offset + length):
            expected.setdefault(at, number % 256)
    found: dict[int, int] = {}
    while pieces:
        for each in pieces.take_from(pieces.first_offset):
            found.update(enumerate(each.data, each.offset))
    assert found == expected
    assert again == sum(length for _, length in spans) - len(expected)
    assert pieces.size == 0


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10))),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9))),
)
def test_ranges_give_each_byte_once(added: list[tuple[int, int]], taken: list[tuple[int, int]]) -> None:
    ranges, left, end = Ranges(100), set[int](), 0
    for skip, length in added:
        ranges.add(end + skip, end + skip + length)
        left |= set(range(end + skip, end + skip + length))
        end += skip + length
    for start, length in taken:
        found = {at for low, high in ranges.take(start, start + length) for at in range(low, high)}
        assert found == left & set(range(start, start + length))
        left -= found


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1),
    st.lists(st.tuples(st.integers(0, 80), st.integers(1, 9))),
)
def test_ranges_that_are_merged_still_hold_every_byte(
    added: list[tuple[int, int]], taken: list[tuple[int, int]]
) -> None:
    ranges, left, end = Ranges(3), set[int](), 0
    for skip, length in added:
        ranges.add(end + skip, end + skip + length)
        left |= set(range(end + skip, end + skip + length))
        end += skip + length
        assert len(ranges) <= 3
    for start, length in taken:
        found = [at for low, high in ranges.take(start, start + length) for at in range(low, high)]
        assert left & set(range(start, start + length)) <= set(found)
        assert len(found) == len(set(found))
        left -= set(found)
        assert len(ranges) <= 3
