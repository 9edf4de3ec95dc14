"""Garbage collection during a fuzz run: seeds, contexts and modules live long, and are not looked through again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: New objects, and collections of a younger generation, after which a generation is collected. A run leaves hundreds of
#: objects that die as soon as it is judged; the few cycles among them can wait.
THRESHOLDS = 20_000, 10, 20


#: Excludes all objects from collections, and includes them again.
_exclude_objects, _include_objects = gc.freeze, gc.unfreeze


class _Heap:
    #: Blocks of `long_lived_frozen` under way.
    frozen_blocks = 0


_heap = _Heap()


@contextmanager
def long_lived_frozen() -> Iterator[None]:
    """Exclude the objects that exist now from garbage collections in a block, and collect new ones seldom."""
    before = gc.get_threshold()
    gc.collect()
    _exclude_objects()
    gc.set_threshold(*THRESHOLDS)
    _heap.frozen_blocks += 1
    try:
        yield
    finally:
        _heap.frozen_blocks -= 1
        gc.set_threshold(*before)
        _include_objects()


@contextmanager
def earlier_frozen() -> Iterator[None]:
    """Exclude the objects that exist now from garbage collections in a block.

    Inside `long_lived_frozen` they stay excluded until `collect_all`.
    """
    _exclude_objects()
    try:
        yield
    finally:
        if not _heap.frozen_blocks:
            _include_objects()


def collect_all() -> None:
    """Collect garbage among all objects, also those that were excluded so far."""
    _include_objects()
    gc.collect()
    if _heap.frozen_blocks:
        _exclude_objects()
