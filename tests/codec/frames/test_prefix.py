"""Headers with the length of their frame: what a single extent is, and that arrays find the same frames."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.columns import NO_INTEGERS
from wiretool.codec.frames.boundaries import find_boundaries
from wiretool.codec.frames.buffer import whole_frames
from wiretool.codec.frames.prefix import Prefix
from wiretool.errors import DecodeError

PLAIN = Prefix(8, 4, 8, 0, 20)
MAGIC = Prefix(4, 0, 4, 2, 20, magic=(4, 0x17))
LITTLE = Prefix(8, 4, 0, 8, 20, "<")


def refuse(length: int, magic: int | None) -> DecodeError:
    return DecodeError("refused", f"a length of {length}, magic {magic}")


@pytest.mark.parametrize(
    ("prefix", "data", "extent"),
    [
        (PLAIN, b"type" + b"\0\0\0", 0),
        (PLAIN, b"type" + b"\0\0\0\0", 8),
        (PLAIN, b"type" + b"\0\0\0\x14", 28),
        (MAGIC, b"\0\0\0", 0),
        (MAGIC, b"\0\0\0\x02", 6),
        (MAGIC, b"\0\0\0\x14\x17", 24),
        (LITTLE, b"type" + b"\x08\0\0\0", 8),
        (LITTLE, b"type" + b"\x14\0\0\0", 20),
    ],
)
def test_extent(prefix: Prefix, data: bytes, extent: int) -> None:
    find = prefix.extent(refuse)
    assert find(data, 0, len(data)) == extent
    assert find(b"before" + data + b"behind", 6, 6 + len(data)) == extent


@pytest.mark.parametrize(
    ("prefix", "data", "why"),
    [
        (PLAIN, b"type" + b"\0\0\0\x15", "a length of 21, magic None"),
        (PLAIN, b"type" + b"\x80\0\0\0", "a length of 2147483648, magic None"),
        (MAGIC, b"\0\0\0\x01", "a length of 1, magic None"),
        (MAGIC, b"\0\0\0\x15\x18", "a length of 21, magic None"),
        (MAGIC, b"\0\0\0\x14\x18", "a length of 20, magic 24"),
        (LITTLE, b"type" + b"\x07\0\0\0", "a length of 7, magic None"),
    ],
)
def test_no_frame_begins_so(prefix: Prefix, data: bytes, why: str) -> None:
    with pytest.raises(DecodeError, match=f"refused .*{why}"):
        prefix.extent(refuse)(data, 0, len(data))


@given(st.lists(st.binary(max_size=22), max_size=6), st.integers(0, 9))
def test_arrays_find_the_same_frames(payloads: list[bytes], cut: int) -> None:
    data = b"".join(b"type" + len(payload).to_bytes(4, "big") + payload for payload in payloads)
    data = data[: len(data) - min(cut, len(data))]
    spans, is_broken = list[tuple[int, int]](), False
    try:
        spans.extend(whole_frames(data, PLAIN.extent(refuse)))
    except DecodeError:
        is_broken = True
    one = np.zeros(1, np.int64)
    found = find_boundaries(data, one, np.array([len(data)]), [PLAIN], one, NO_INTEGERS)
    assert list(zip(found.starts.tolist(), found.frame_ends.tolist(), strict=True)) == spans
    assert found.is_broken.tolist() == [is_broken]


def test_the_extent_of_a_frame_is_asked_when_those_before_it_are_done_with() -> None:
    sizes = [1]

    def extent(data: bytes, at: int, end: int) -> int:
        return sizes[-1]

    walk = whole_frames(b"abcdef", extent)
    assert next(walk) == (0, 1)
    sizes.append(3)
    assert next(walk) == (1, 4)
    sizes.append(0)
    assert list(walk) == []
