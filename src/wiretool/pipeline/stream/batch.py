"""One part of a batch: what its flows say now, and what is open of them then. It is what one task does."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from wiretool.errors import CaptureError
from wiretool.pipeline.flows.open_flows import Carried, CarryReader
from wiretool.pipeline.flows.reading import FlowBatch
from wiretool.pipeline.flows.task import Done, Files
from wiretool.pipeline.stream.checkpoint import ANEW
from wiretool.pipeline.stream.states import States, StateWriter
from wiretool.pipeline.tables import FlowTables


class Silence(msgspec.Struct, frozen=True):
    """Flows of which nothing came since, in packet time, are over; those that have ended have a bound of their own."""

    before_ns: int
    ended_before_ns: int


class Task(msgspec.Struct, frozen=True):
    """What the parts of a batch have in common."""

    options: Mapping[str, Any]
    has_events: bool
    files: Files
    #: The folder of states, the names of those that hold for each part, and how those of this batch begin.
    folder: str
    states: Sequence[Sequence[str]]
    token: str
    silence: Silence


class Told(msgspec.Struct):
    """What a part has come to: its tables, the names of its states, and how many flows are open."""

    done: Done
    states: Sequence[str]
    open: int


def read_batch(task: Task, part: int, rows: Iterable[pa.RecordBatch], root: Path, attempt: str = "") -> Told:
    """Make the tables of one part under `root`, of segment rows that are sorted by `rows.ORDER`.

    `attempt` tells those apart who do the same. CaptureError where a capture or the states cannot be read, UsageError
    where the system does not take what is written.
    """
    folder, name = Path(task.folder), f"{task.token}-{part:05d}{attempt}.arrow"
    with States([folder / each for each in task.states[part]]) as states:
        with StateWriter(folder / name) as writer:
            changes = _Changes(writer)
            done = _written(task, f"part-{part:05d}", rows, root, states, changes)
            is_whole = states.is_scattered
            if is_whole:
                changes.keep(states)
        names = [] if is_whole else list(task.states[part])
        if writer.count:
            names.append(name)
        return Told(done, names, len(states.keys() | changes.left) - len(changes.dropped))


class _Changes:
    """What a batch writes of states."""

    def __init__(self, writer: StateWriter) -> None:
        self._writer = writer
        self.left: set[bytes] = set()
        self.dropped: set[bytes] = set()

    def leave(self, carried: Carried) -> None:
        """Something new is open of a flow."""
        self.left.add(carried.flow)
        self._writer.leave(carried)

    def drop(self, flows: Iterable[bytes]) -> None:
        """Nothing is open of them any more."""
        self.dropped.update(flows)
        self._writer.drop(flows)

    def keep(self, states: States) -> None:
        """All that is as it was."""
        for flow in states.keys() - self.left - self.dropped:
            self._writer.leave(states[flow])


def _written(
    task: Task, part: str, rows: Iterable[pa.RecordBatch], root: Path, states: States, changes: _Changes
) -> Done:
    done = Done()
    note: Callable[[str], None] = done.note
    sink = FlowTables(root, part, task.files.names, has_events=task.has_events)
    reader = CarryReader([Path(path) for path in task.files.paths], sink, note, **task.options)
    told = reader.read(rows, states, changes.leave)
    with _trusted(task, states):
        for each in chain(told, _closed(reader, task.silence, states, changes)):
            sink.write(each)
            done.count(each.over)
        done.tables = sink.close()
    return done


@contextmanager
def _trusted(task: Task, states: States) -> Iterator[None]:
    """CaptureError where what goes on from states fails on a value in them: of the right type, and yet impossible."""
    try:
        yield
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as err:
        if not states:
            raise
        why = f"the state of open flows does not fit the captures; {ANEW}"
        raise CaptureError(task.folder, why) from err


def _closed(reader: CarryReader, silence: Silence, states: States, changes: _Changes) -> Iterator[FlowBatch]:
    """The end of the flows of which nothing came for long; those of which something came now are none of them."""
    silent = [flow for flow in states.silent(silence.before_ns, silence.ended_before_ns) if flow not in changes.left]
    yield from reader.close(states[flow] for flow in silent)
    changes.drop(silent)
