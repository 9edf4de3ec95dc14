"""Items that cross from another process: all of them, in order, and how that ends."""

import multiprocessing
import os
import pickle
import select
import signal
import sys
from collections.abc import Iterator
from mmap import mmap

import numpy as np
import pytest

from wiretool.dissect.columns import apart as module
from wiretool.dissect.columns.apart import apart
from wiretool.errors import CaptureError, Killed


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


def test_bytes_and_arrays_of_any_size_cross_as_they_are() -> None:
    def items() -> Iterator[tuple[bytes, list[np.ndarray]]]:
        for size in (0, 1, 63, 64, 65, 70_000, 1_000_000):
            yield bytes(range(256)) * size, [np.arange(size), np.arange(size, dtype=np.uint8)[::3], np.zeros((0, 4))]

    for (raw, arrays), (found, others) in zip(items(), apart(items), strict=True):
        assert (type(found), found) == (bytes, raw)
        assert [array.tolist() for array in others] == [array.tolist() for array in arrays]
        assert [array.dtype for array in others] == [array.dtype for array in arrays]


def test_arrays_stay_where_they_are_until_nobody_looks_at_them() -> None:
    """And however many somebody keeps, for as long as they like, the next item comes."""
    kept = [array for number, array in apart(lambda: numbers(50)) if number % 3]
    assert [int(array[0]) for array in kept] == [number for number in range(50) if number % 3]
    assert all((array == array[0]).all() for array in kept)


def test_a_block_is_used_again_once_its_arrays_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(module._Blocks, "_give_back", lambda self, place: given.append(place))
    page = mmap(-1, 4096)
    spans = module._put(module._Page(page), np.arange(10))
    (start, end), *_ = spans
    assert (start % module.ALIGNED_BYTES, end - start) == (0, 80)
    receiving, sending = multiprocessing.Pipe(duplex=False)
    blocks = module._Blocks([page] * (module.BLOCKS_MOVING + 1), sending)
    array = blocks.item(0, spans)
    part = array[2:5]
    page[start : start + 8] = b"\1" + bytes(7)
    assert array[0] == 1, "the array is in the block"
    del array
    assert (part.tolist(), given) == ([2, 3, 4], [])
    del part
    assert given == [0]
    receiving.close()
    sending.close()


def test_arrays_are_copied_where_too_few_blocks_would_be_left() -> None:
    page = mmap(-1, 4096)
    spans = module._put(module._Page(page), np.arange(10))
    receiving, sending = multiprocessing.Pipe(duplex=False)
    blocks = module._Blocks([page] * (module.BLOCKS_MOVING + 2), sending)
    in_place = [blocks.item(place, spans) for place in (0, 1)]
    assert not receiving.poll()
    copied = blocks.item(2, spans)
    assert receiving.recv() == 2
    page[:] = bytes(4096)
    assert copied.tolist() == list(range(10))
    assert copied.flags.writeable
    assert [array.any() for array in in_place] == [False, False]
    receiving.close()
    del in_place
    sending.close()


def test_items_outlive_the_other_process() -> None:
    items = apart(lambda: numbers(9))
    _, array = next(items)
    items.close()
    assert not multiprocessing.active_children()
    assert (array == 0).all()


def test_a_pickle_holds_no_lines() -> None:
    with pytest.raises(pickle.UnpicklingError, match="a line in a pickle"):
        module._Page(mmap(-1, 4096)).readline()


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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_is_killed_is_told(number: signal.Signals) -> None:
    def dying() -> Iterator[int]:
        yield 1
        os.kill(os.getpid(), number)
        yield 2
        yield os.getpid()

    found: list[int] = []
    with pytest.raises(Killed, match=rf"a reading process was killed \(signal {number.value}\)") as caught:
        found.extend(apart(lambda: apart(dying)))
    assert found == [1]
    assert caught.value.exit_code == 128 + number


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


def test_a_process_at_work_ends_and_so_do_those_it_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told to end when it is patient no more, it still has the iterator of the third one in its hands."""
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    waiting, silent = os.pipe()

    def endless() -> Iterator[np.ndarray]:
        while True:
            yield np.zeros(1000)

    def at_work() -> Iterator[np.ndarray]:
        arrays = apart(endless)
        yield next(arrays)
        os.read(waiting, 1)
        yield from arrays

    items = apart(at_work)
    next(items)
    items.close()
    assert not multiprocessing.active_children()
    os.close(silent)
    os.close(waiting)


def test_a_process_that_is_ended_while_it_finishes_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.3)

    def items() -> Iterator[int]:
        sys.unraisablehook = sys.__unraisablehook__  # of the other process, which has pytest's, and that prints nothing
        try:
            while True:
                yield 0
        finally:
            select.select([], [], [], 30)

    taken = apart(items)
    next(taken)
    taken.close()
    assert capfd.readouterr() == ("", "")


def test_where_nothing_can_be_forked_all_happens_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "may_run_apart", lambda: False)
    assert set(apart(lambda: iter([os.getpid()]))) == {os.getpid()}
