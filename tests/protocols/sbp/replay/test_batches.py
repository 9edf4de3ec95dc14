"""The batches of a range in a replay, beside a plain definition of what follows from them."""

from collections.abc import Iterator, Sequence
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from wiretool.protocols.sbp.replay.batches import Batch, LiveRange

START = 10
Event = tuple[str, int]


def batch_at(base: int, size: int, sent: int) -> Batch:
    entry = {"meta": {"base_offset": base, "last_offset_delta": size}, "payload": None, "length": size}
    return Batch.sent_as(entry, sent)


def line_of(batches: Sequence[Batch]) -> Iterator[Batch]:
    """Yield the batches that follow each other from the start on."""
    at = START
    for batch in sorted(batches, key=lambda each: (each.base, each.acknowledged is None)):
        if batch.base == at and batch.end > at:
            yield batch
            at = batch.end


def certain(batches: Sequence[Batch], sent: int) -> list[Batch]:
    return list(line_of([each for each in batches if each.acknowledged is not None and each.acknowledged < sent]))


@given(
    sizes=st.lists(st.tuples(st.integers(0, 6), st.integers(-1, 3)), max_size=14),
    answers=st.lists(st.tuples(st.integers(0, 13), st.booleans()), max_size=20),
)
def test_a_range_ends_where_its_batches_say(sizes: list[tuple[int, int]], answers: list[tuple[int, bool]]) -> None:
    """Whatever is sent, acknowledged once for each offset, and refused."""
    found = LiveRange(START)
    sent = [batch_at(START + base, size, now) for now, (base, size) in enumerate(sizes)]
    for batch in sent:
        found.add(batch)
    there = list(sent)
    now = len(sent)
    for number, is_acknowledged in answers:
        now += 1
        open_ones = [each for each in there if each.acknowledged is None]
        if number >= len(open_ones):
            continue
        batch = open_ones[number]
        if not is_acknowledged:
            found.remove(batch)
            there.remove(batch)
        elif not any(each.base == batch.base and each.acknowledged is not None for each in there):
            found.acknowledge(batch, now)
    assert found.line() == list(line_of(there))
    for offset in range(START - 1, START + 12):
        others = [each for each in there if each.acknowledged is not None or each.base != offset]
        left_out = next((each for each in there if each not in others), None)
        without = [each for each in there if each is not left_out]
        ends = [START, *(each.end for each in line_of(without))]
        assert found.end(without=left_out) == max(ends)
        assert found.has_end(offset, without=left_out) == (offset in ends)
    for sent_at in range(now + 2):
        assert found.certain_count(sent_at) == len(certain(there, sent_at))
        assert found.certain_end(sent_at) == max([START, *(each.end for each in certain(there, sent_at))])


def time_of(count: int) -> float:
    """Return the seconds that as many pipelined appends take, each judged as it is acknowledged."""
    found = LiveRange(0)
    begun_s = process_time()
    for now in range(count):
        batch = batch_at(now, 1, now)
        found.add(batch)
        assert found.has_end(batch.base, without=batch)
        assert found.certain_end(batch.sent) == now
        found.acknowledge(batch, now)
    return process_time() - begun_s


def test_a_long_recording_costs_no_more_for_each_append() -> None:
    """Twenty times as many appends take less than a hundred times as long; the square would be four hundred."""
    assert time_of(40_000) < 100 * max(time_of(2_000), 0.001)
