"""Bytes by offset, against a dictionary that has them one by one."""

from hypothesis import given
from hypothesis import strategies as st

from wiretool.consistency.read_bytes import ReadBytes

READS = st.lists(st.tuples(st.integers(0, 40), st.binary(min_size=1, max_size=12)), max_size=12)


@given(READS)
def test_it_has_the_latest_byte_of_each_offset(reads: list[tuple[int, bytes]]) -> None:
    known, expected, records = ReadBytes(), dict[int, int](), dict[int, int]()
    for n, (offset, data) in enumerate(reads, 1):
        before = dict(expected)
        changed = known.add(offset, data, n)
        expected.update(enumerate(data, offset))
        new = {at for at in range(offset, offset + len(data)) if before.get(at) != expected[at]}
        found = {at for start, end in changed for at in range(start, end)}
        assert new <= found <= set(range(offset, offset + len(data)))
        records.update((at, n) for at in found)
    assert known.held_bytes == len(expected)
    for start in range(55):
        assert known.covers(start, start + 1) == (start in expected)
        if start in expected:
            assert known.get(start, start + 1)[0] == expected[start]
            assert known.record_at(start) == records[start]
            run, at = known.run_from(start)
            assert run[at] == expected[start]
            assert known.covers(start, start + len(run) - at)
            assert not known.covers(start, start + len(run) - at + 1)


def test_reads_that_touch_become_one_run() -> None:
    known = ReadBytes()
    assert known.add(10, b"cd", 1) == [(10, 12)]
    assert known.add(0, b"ab", 2) == [(0, 2)]
    assert not known.covers(0, 12)
    assert known.add(0, b"ab12345678cdef", 3) == [(2, 10), (12, 14)]
    assert known.get(0, 14) == b"ab12345678cdef"
    assert [known.record_at(at) for at in (0, 5, 10, 13)] == [2, 3, 1, 3]
    assert (known.find(b"8cd"), known.find(b"x")) == (9, -1)
    assert known.run_from(20) == (bytearray(), 0)
