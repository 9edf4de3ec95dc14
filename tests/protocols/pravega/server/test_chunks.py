"""The bytes of a segment against plain bytes."""

from hypothesis import given
from hypothesis import strategies as st

from wiretool.protocols.pravega.server.chunks import CHUNK_BYTES, JOINED_BYTES_MAX, Chunks

SIZES = st.one_of(
    st.integers(0, 3), st.integers(JOINED_BYTES_MAX - 2, JOINED_BYTES_MAX + 2), st.just(JOINED_BYTES_MAX - 1)
)


def some(size: int, seed: int) -> bytes:
    return bytes((seed + at) % 251 for at in range(size))


@given(st.lists(SIZES, max_size=80), st.data())
def test_any_part_of_what_was_appended(sizes: list[int], data: st.DataObject) -> None:
    whole, chunks = b"", Chunks()
    for number, size in enumerate(sizes):
        chunks.append(some(size, number))
        whole += some(size, number)
    assert (chunks.start, chunks.end) == (0, len(whole))
    start = data.draw(st.integers(0, len(whole)))
    chunks.drop(start)
    at = data.draw(st.integers(start, len(whole)))
    size = data.draw(st.integers(0, len(whole)))
    assert chunks.read(at, size) == whole[at : at + size]
    target = Chunks()
    target.append(b"before")
    target.adopt(chunks)
    assert target.read(0, len(whole) + 6) == b"before" + whole[start:]


def test_small_appends_share_chunks() -> None:
    chunks = Chunks()
    begun = [chunks.append(b"x" * 100) for _ in range(2_000)]
    assert sum(begun) == -(-200_000 // (CHUNK_BYTES + 64))


def test_chunks_are_freed_whole() -> None:
    chunks = Chunks()
    for _ in range(3):
        chunks.append(bytes(5_000))
    assert chunks.first_chunk_end == 5_000
    assert chunks.drop(4_999) == 0
    assert chunks.is_kept(0)
    assert chunks.drop(5_000) == 5_000
    assert not chunks.is_kept(0)
    assert chunks.drop(15_000) == 10_000
    assert chunks.read(15_000, 10) == b""
    assert chunks.append(b"more")
    assert (chunks.read(15_000, 10), chunks.first_chunk_end) == (b"more", 15_004)
