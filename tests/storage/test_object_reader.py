"""Objects read at any place, over answers of any length."""

import io

from hypothesis import given
from hypothesis import strategies as st

from tests.storage.test_object_stream import CONTENT, Unreliable, quick
from wiretool.storage.object_reader import ObjectReader

__all__ = ["quick"]  # a fixture

steps = st.tuples(st.integers(0, len(CONTENT) + 10), st.integers(0, 400), st.sampled_from([io.SEEK_SET, io.SEEK_CUR]))


@given(st.lists(steps), st.lists(st.integers(1, 400)), st.integers(0, len(CONTENT)))
def test_it_reads_as_a_file_does(jumps: list[tuple[int, int, int]], answers: list[int], end: int) -> None:
    expected = io.BytesIO(CONTENT)
    with ObjectReader("x", Unreliable(answers)) as reader:
        reader.end = end
        for at, size, whence in jumps:
            assert reader.seek(at, whence) == expected.seek(at, whence)
            data = reader.read(size) or b""
            assert data == expected.read(len(data))
            assert data or not size or reader.tell() >= len(CONTENT)
            assert reader.tell() == expected.tell()


def test_it_seeks_from_the_end() -> None:
    with ObjectReader("x", Unreliable([])) as reader:
        assert reader.seekable()
        assert reader.seek(-5, io.SEEK_END) == len(CONTENT) - 5
        assert reader.read(100) == CONTENT[-5:]


def test_no_range_goes_past_the_expected_end() -> None:
    asked: list[tuple[int, int]] = []

    class Noted(Unreliable):
        def fetch(self, at: int, size: int) -> bytes:
            asked.append((at, size))
            return super().fetch(at, size)

    with ObjectReader("x", Noted([])) as reader:
        reader.end = 750
        reader.seek(500)
        while reader.tell() < 750:
            reader.read(1000)
        reader.seek(510)
        assert reader.read(1) == CONTENT[510:511]
    assert asked == [(500, 100), (600, 150), (510, 100)]
