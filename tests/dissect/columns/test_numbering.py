"""Provisional numbers become final ones in the order of the packets."""

import numpy as np
import pytest

from wiretool.dissect.columns import numbering
from wiretool.dissect.columns.numbering import PACKET_SHIFT, RANK_SHIFT, Numbers


def taken(numbers: Numbers, packet: int, count: int) -> list[int]:
    numbers.at_packet(packet)
    return [numbers.take() for _ in range(count)]


def test_what_is_told_out_of_order_is_numbered_in_order() -> None:
    numbers = Numbers()
    later, earlier = taken(numbers, 9, 2), taken(numbers, 3, 3)
    first, final = numbers.settle(np.array([*later, *earlier]))
    assert (first, final.tolist()) == (1, [4, 5, 1, 2, 3])
    assert numbers.settle(np.array(taken(numbers, 10, 1)))[0] == 6


def test_a_packet_goes_on_where_it_stopped() -> None:
    numbers = Numbers()
    before = taken(numbers, 7, 2)
    frames = [numbers.first_free(7), numbers.first_free(7) + (1 << RANK_SHIFT)]
    numbers.used_to(frames[-1])
    behind = taken(numbers, 7, 1)
    assert numbers.settle(np.array([*behind, *frames, *before]))[1].tolist() == [5, 3, 4, 1, 2]


def test_defects_stand_behind_their_frame() -> None:
    numbers = Numbers()
    frames = [7 << PACKET_SHIFT, (7 << PACKET_SHIFT) + (1 << RANK_SHIFT)]
    numbers.at_frame(frames[0])
    told = [numbers.take() for _ in range(3)]
    assert numbers.settle(np.array([frames[1], *told]))[1].tolist() == [4, 1, 2, 3]
    assert numbers.final(np.array(told)).tolist() == [1, 2, 3]


def test_numbers_of_old_batches_are_still_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "BATCHES_OPEN", 1)
    numbers, every = Numbers(), list[int]()
    for packet in range(1, 40, 4):
        provisional = [*taken(numbers, packet, 2), *taken(numbers, packet + 1, 3)]
        numbers.settle(np.array(provisional))
        every += provisional
    assert numbers.final(np.array(every)).tolist() == list(range(1, len(every) + 1))
    assert numbers.final(np.array([], np.int64)).tolist() == []


def test_a_packet_that_was_left_goes_on_where_it_was() -> None:
    numbers = Numbers()
    numbers.at_packet(5)
    first = [numbers.take(), numbers.take()]
    numbers.leave(5)
    numbers.at_packet(9)
    numbers.take()
    assert sorted(numbers.begun(5, 9)) == [5, 9]
    assert numbers.begun(6, 8) == []
    numbers.at_packet(5)
    assert numbers.take() > max(first)
    numbers.settle(np.array(first))
    assert numbers.first_free(5) > max(first)
