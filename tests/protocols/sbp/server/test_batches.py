"""Batches by offset, and the oldest of all going first."""

from wiretool import limits
from wiretool.protocols.sbp.server.batches import Batches, Keeper

NO_BOUND = 1 << 40


def kept(*bases: int, size: int = 10) -> Batches:
    batches = Batches()
    for base in bases:
        batches.put(base, bytes([base]) * size)
    return batches


def bases_of(found: list[bytes]) -> list[int]:
    return [data[0] for data in found]


def test_the_batch_that_holds_the_offset_comes_first() -> None:
    batches = kept(0, 10, 20)
    assert bases_of(batches.between(10, None, None, NO_BOUND)) == [10, 20]
    assert bases_of(batches.between(15, None, None, NO_BOUND)) == [10, 20]
    assert bases_of(batches.between(19, 20, None, NO_BOUND)) == [10]


def test_an_offset_in_front_of_all_begins_with_the_first() -> None:
    assert bases_of(kept(5, 7).between(0, None, None, NO_BOUND)) == [5, 7]


def test_the_limit_cuts_by_base_offset() -> None:
    batches = kept(0, 10, 20)
    assert bases_of(batches.between(0, 10, None, NO_BOUND)) == [0]
    assert bases_of(batches.between(0, 11, None, NO_BOUND)) == [0, 10]
    assert batches.between(10, 10, None, NO_BOUND) == []


def test_wanted_bytes_are_counted_as_stored() -> None:
    batches = kept(0, 10, 20)
    assert batches.between(0, None, 0, NO_BOUND) == []
    assert bases_of(batches.between(0, None, 1, NO_BOUND)) == [0]
    assert bases_of(batches.between(0, None, 18, NO_BOUND)) == [0]
    assert bases_of(batches.between(0, None, 19, NO_BOUND)) == [0, 10]


def test_no_more_than_fits() -> None:
    assert bases_of(kept(0, 10, 20).between(0, None, None, 25)) == [0, 10]


def test_the_first_batch_is_there_though_it_does_not_fit() -> None:
    assert bases_of(kept(0, 10).between(0, None, None, 9)) == [0]
    assert kept(0).between(0, None, 0, 9) == []


def test_an_empty_batch_makes_room_for_the_next_at_its_offset() -> None:
    batches = kept(0, 10)
    assert batches.put(10, b"again") == 10
    assert batches.between(10, None, None, NO_BOUND) == [b"again"]


def test_the_oldest_of_all_ranges_go_first() -> None:
    each = 100 + limits.SBP_BATCH_OVERHEAD_BYTES
    keeper, first, second = Keeper(3 * each), Batches(), Batches()
    for number in range(3):
        keeper.put(first, number, bytes(100))
        keeper.put(second, number, bytes(100))
    assert (len(first), len(second)) == (1, 2)
    assert keeper.held_bytes == 3 * each
    assert first.between(0, None, None, NO_BOUND) == [bytes(100)]


def test_what_is_kept_stays_in_its_place_while_thousands_go() -> None:
    keeper, batches = Keeper(10 * (5 + limits.SBP_BATCH_OVERHEAD_BYTES)), Batches()
    for number in range(5_000):
        keeper.put(batches, number, b"%05d" % number)
    assert batches.between(0, None, None, NO_BOUND) == [b"%05d" % number for number in range(4_990, 5_000)]
    assert batches.last_base == 4_999


def test_a_dropped_range_frees_its_bytes() -> None:
    keeper, first, second = Keeper(1_000_000), Batches(), Batches()
    keeper.put(first, 0, bytes(10))
    keeper.put(second, 0, bytes(20))
    keeper.drop(first)
    assert keeper.held_bytes == 20 + limits.SBP_BATCH_OVERHEAD_BYTES
    assert first.last_base == -1


def test_dropped_ranges_are_passed_over_when_the_oldest_go() -> None:
    each = 100 + limits.SBP_BATCH_OVERHEAD_BYTES
    keeper, ranges = Keeper(4 * each), [Batches() for _ in range(5)]
    for batches in ranges[:4]:
        keeper.put(batches, 0, bytes(100))
    keeper.drop(ranges[1])
    for number in range(3):
        keeper.put(ranges[4], number, bytes(100))
    assert [len(batches) for batches in ranges] == [0, 0, 0, 1, 3]
    assert keeper.held_bytes == 4 * each
    for batches in ranges[3:]:
        keeper.drop(batches)
    assert keeper.held_bytes == 0
