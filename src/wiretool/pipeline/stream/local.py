"""Batches of a stream made on this machine: each part of a large one in a process of its own."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from wiretool.capture.index.build import read_span
from wiretool.dissect.columns.apart import apart, may_run_apart
from wiretool.pipeline.flows.rows import rows_of
from wiretool.pipeline.local import APART_PACKETS_MIN
from wiretool.pipeline.shuffle import Shuffle
from wiretool.pipeline.stream.batch import Task, Told, read_batch
from wiretool.pipeline.stream.plan import Stretch

_ADVICE = "its batch was not made: run it again, with more memory if that ran out"


def read_here(task: Task, stretches: Sequence[Stretch], floor_ns: int, root: Path) -> list[Told]:
    """Make the tables of a batch under `root`; what each part has come to.

    No row has an earlier turn than `floor_ns`: what is older came late. Errors as `read_batch` has them; Killed where a
    process is that makes a part.
    """
    with Shuffle(root, len(task.states)) as shuffle:
        for place, path, span in stretches:
            for segments in read_span(Path(path), span):
                turns = np.maximum(segments.turns, floor_ns)
                shuffle.add(rows_of(replace(segments, turns=turns), place))
        makes = [partial(_made, task, part, shuffle, root) for part in shuffle.partitions]
        packets = sum(span.next_number - span.since.number for _, _, span in stretches)
        if packets < APART_PACKETS_MIN or not may_run_apart():
            return [make() for make in makes]
        return _made_apart(makes)


def _made(task: Task, part: int, shuffle: Shuffle, root: Path) -> Told:
    return read_batch(task, part, shuffle.sorted(part), root)


def _made_apart(makes: Sequence[Callable[[], Told]]) -> list[Told]:
    """All of them at once, the first one here."""
    with ExitStack() as stack:
        others = [stack.enter_context(closing(_begun(make))) for make in makes[1:]]
        return [makes[0](), *(told for other in others for told in other if told is not None)]


def _begun(make: Callable[[], Told]) -> Generator[Told | None]:
    """What it gives, made in another process from now on."""
    items = apart(lambda: _beginning_with_nothing(make), advice=_ADVICE)
    next(items)
    return items


def _beginning_with_nothing(make: Callable[[], Told]) -> Iterator[Told | None]:
    """Nothing, which says that the process is there; then what it makes."""
    yield None
    yield make()
