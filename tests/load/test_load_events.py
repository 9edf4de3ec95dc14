"""Events that can be verified: what a maker writes, new and in place."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.load.events import Filler, Head, Maker, tag_of, writer_name, writer_of

FILLER = Filler(3)
PRAVEGA = Head(bytes(4))
WRITER = writer_of("run", 2, 5)
SIZES = st.integers(20, 400)
HEADS = st.sampled_from([PRAVEGA, Head(), Head(b"\x01\x02\x03\x04\x05")])


def made(number: int, size: int, head: Head = PRAVEGA) -> bytes:
    """An event in the most obvious way."""
    covered = bytes(FILLER.body(size - 20)) + WRITER.to_bytes(8, "big") + number.to_bytes(8, "big")
    return head.fixed + size.to_bytes(4, "big") + covered + zlib.crc32(covered).to_bytes(4, "big")


def test_a_writer_is_run_process_and_place() -> None:
    assert writer_of("run", 2, 5) == tag_of("run") << 32 | 2 << 16 | 5
    assert writer_name(writer_of("run", 2, 5)) == "2.5"
    assert len({writer_of(run, worker, index) for run in "ab" for worker in (0, 1) for index in (0, 1)}) == 8
    with pytest.raises(AssertionError):
        writer_of("run", 0, 65_536)


@given(HEADS, SIZES, st.integers(1, 30), st.integers(1, 2**40), st.integers(0, 9))
def test_a_template_is_numbered_in_place(head: Head, size: int, count: int, first: int, start: int) -> None:
    maker = Maker(WRITER, head=head, filler=FILLER)
    template = maker.template(count, size)
    assert bytes(template) == b"".join(made(number, size, head) for number in range(1, count + 1))
    frame = bytearray(b"?" * start + template + b"!")
    maker.numbering(frame, start, count, size)(first)
    wanted = b"".join(made(number, size, head) for number in range(first, first + count))
    assert bytes(frame) == b"?" * start + wanted + b"!"
    assert wanted == maker.batch([size] * count, first)


@given(st.lists(SIZES, max_size=20), st.integers(1, 2**40))
def test_a_batch_may_have_any_sizes(sizes: list[int], first: int) -> None:
    batch = Maker(WRITER, head=PRAVEGA, filler=FILLER).batch(sizes, first)
    assert batch == b"".join(made(number, size) for number, size in enumerate(sizes, first))


def test_events_that_are_not_verified_are_filler_alone() -> None:
    maker = Maker(WRITER, head=PRAVEGA, filler=FILLER, is_verified=False)
    template = maker.template(2, 5)
    assert bytes(template) == (bytes(4) + (5).to_bytes(4, "big") + bytes(FILLER.body(5))) * 2
    before = bytes(template)
    maker.numbering(template, 0, 2, 5)(77)
    assert template == before
    assert maker.batch([1], 9) == bytes(7) + b"\x01" + bytes(FILLER.body(1))


def test_a_filler_is_its_seeds_and_begins_alike_at_any_length() -> None:
    lengths = [10, 65_536, 65_537, 100, 400_000, 0]
    longest = bytes(Filler(3).body(400_000))
    assert [bytes(FILLER.body(length)) for length in lengths] == [longest[:length] for length in lengths]
    assert bytes(Filler(4).body(100)) != longest[:100]
    assert [FILLER.digest(length) for length in lengths] == [zlib.crc32(longest[:length]) for length in lengths]


def test_a_filler_does_not_compress() -> None:
    assert len(zlib.compress(FILLER.body(300_000), 9)) > 299_000


def test_a_filler_makes_an_event_anew() -> None:
    assert PRAVEGA.of(100) + FILLER.event(100, WRITER, 9) == made(9, 100)


@given(HEADS, st.integers(0, 2**32 - 1), st.binary(max_size=5))
def test_a_head_is_read_as_it_is_written(head: Head, size: int, before: bytes) -> None:
    raw = head.of(size)
    assert len(raw) == head.width
    assert head.size_at(before + raw, len(before)) == size
    if head.fixed:
        broken = bytes([raw[0] ^ 1]) + raw[1:]
        assert head.size_at(before + broken, len(before)) == -1
