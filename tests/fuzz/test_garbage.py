"""Garbage collection during a run: long-lived objects are excluded, and found at times all the same."""

import gc
import weakref

from wiretool.fuzz.garbage import THRESHOLDS, collect_all, earlier_frozen, long_lived_frozen


class Knot:
    """An object that refers to itself, so that only the garbage collector frees it."""

    def __init__(self) -> None:
        self.end = self


def test_objects_of_before_are_excluded_in_a_run() -> None:
    before = gc.get_threshold()
    with long_lived_frozen():
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == THRESHOLDS
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)


def test_a_block_that_freezes_leaves_the_heap_of_a_run_frozen() -> None:
    with long_lived_frozen():
        with earlier_frozen():
            pass
        assert gc.get_freeze_count() > 10_000
    with earlier_frozen():
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0


def test_garbage_that_was_excluded_is_found_by_a_collection_of_all() -> None:
    gc.disable()
    try:
        with long_lived_frozen():
            knot = weakref.ref(Knot())
            with earlier_frozen():
                gc.collect()
            gc.collect()
            assert knot() is not None
            collect_all()
            assert knot() is None
            assert gc.get_freeze_count() > 10_000
    finally:
        gc.enable()
