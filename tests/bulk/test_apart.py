"""Items that cross from another process: all of them, in order, and how that ends."""

import multiprocessing
import os
from collections.abc import Iterator

import numpy as np
import pytest

from wiretool.bulk import apart as module
from wiretool.bulk.apart import apart
from wiretool.errors import CaptureError


def numbers(count: int) -> Iterator[tuple[int, np.ndarray]]:
    for number in range(count):
        yield number, np.full(100, number)


def test_items_come_in_order_from_another_process() -> None:
    found = list(apart(lambda: ((os.getpid(), *each) for each in numbers(20))))
    assert [number for _, number, _ in found] == list(range(20))
    assert all((array == number).all() and array.flags.writeable for _, number, array in found)
    assert {pid for pid, _, _ in found} != {os.getpid()}


def test_what_is_larger_than_a_block_crosses_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 500)
    assert [number for number, _ in apart(lambda: numbers(8))] == list(range(8))


def test_an_error_is_raised_in_its_turn() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise CaptureError("a.pcap", "ends early", offset=7)

    found: list[int] = []
    with pytest.raises(CaptureError, match=r"a\.pcap: byte 7: ends early") as caught:
        found.extend(apart(broken))
    assert found == [1]
    assert caught.value.offset == 7


def test_a_process_that_dies_is_told() -> None:
    def dying() -> Iterator[int]:
        yield 1
        os._exit(9)

    with pytest.raises(RuntimeError, match="the reading process ended with 9"):
        list(apart(dying))


def test_the_process_ends_with_who_takes_its_items() -> None:
    def endless() -> Iterator[np.ndarray]:
        while True:
            yield np.zeros(1000)

    items = apart(endless)
    next(items)
    assert len(multiprocessing.active_children()) == 1
    items.close()
    assert not multiprocessing.active_children()


def test_a_process_that_waits_for_input_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    waiting, silent = os.pipe()

    def reading() -> Iterator[bytes]:
        yield b""
        yield os.read(waiting, 1)

    items = apart(lambda: apart(reading))
    next(items)
    items.close()
    assert not multiprocessing.active_children()
    os.close(silent)
    os.close(waiting)


def test_where_nothing_can_be_forked_all_happens_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "may_run_apart", lambda: False)
    assert set(apart(lambda: iter([os.getpid()]))) == {os.getpid()}
