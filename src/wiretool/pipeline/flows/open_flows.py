"""Flows that are not at their end when a batch of a stream is: what is open of them goes to the next batch, as bytes.

However a stream is cut into batches, the records are the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.structs import force_setattr

from wiretool.batches.batch import Batch
from wiretool.pipeline.flows.parts import Part, parts_of
from wiretool.pipeline.flows.payloads import Payloads
from wiretool.pipeline.flows.positions import Places
from wiretool.pipeline.flows.reading import POOL_CONNECTIONS, POOLED_SEGMENTS, Flow, FlowBatch, Pool
from wiretool.pipeline.flows.state import deserialize, serialize
from wiretool.pipeline.tables import NOTHING_KEPT, FlowTables, Kept


class Carried(NamedTuple):
    """What is open of a flow: the turn of the last of its packets, and all else as bytes (see `state.py`).

    Of one that is ended only packets come that were sent again, if any.
    """

    flow: bytes
    turn_ns: int
    is_ended: bool
    state: bytes
    #: The file that the bytes are from; empty where they are from another process.
    path: str = ""


class _Waiting(NamedTuple):
    """A flow in a pool: it can be frozen once the pool is written."""

    flow: Flow
    turn_ns: int
    #: By how much its records have larger numbers in the pool.
    base: int


class _Pool(Pool):
    """Records of small parts of flows, and these flows."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[_Waiting] = []

    @property
    def is_full(self) -> bool:
        return super().is_full or len(self.waiting) >= POOL_CONNECTIONS

    def take(self, flow: Flow, read: Sequence[FlowBatch], size: int = 0) -> int:
        """Take in what a flow said in so many bytes; by how much its numbers are shifted."""
        batches = [each.batch for each in read if each.batch.count]
        if batches:
            batches = self._placed(batches, flow.places)
        self.over += [over for each in read for over in each.over]
        return self.add(batches, size, flow.dissector.numbers.count)

    def _placed(self, batches: Sequence[Batch], places: Places) -> list[Batch]:
        """The batches as they say where their packets are among those of the pool."""
        records = [record for batch in batches for record in batch.records]
        runs = [run for batch in batches for run in batch.runs]
        said = [np.array([record.packets for record in records], np.int64).ravel()]
        said += [packets for run in runs for packets in (run.first_packets, run.last_packets)]
        packets = np.unique(np.concatenate(said))
        numbers = self.places.add(places.files(packets), places.numbers(packets))
        first, *others = (numbers[np.searchsorted(packets, each)] for each in said)
        for record, pair in zip(records, first.reshape(-1, 2).tolist(), strict=True):
            force_setattr(record, "packets", tuple(pair))
        bounds = zip(others[::2], others[1::2], strict=True)
        placed = [
            replace(run, first_packets=first, last_packets=last)
            for run, (first, last) in zip(runs, bounds, strict=True)
        ]
        return [Batch(0, sum(batch.count for batch in batches), placed, records)]


class CarryReader:
    """Reads batches of a stream, in a process that need not be that of the batch before."""

    def __init__(self, files: Sequence[Path], tables: FlowTables, notes: Callable[[str], None], **options: Any) -> None:
        """`files` are all inputs, of which a batch before had the first ones; each keeps its place for ever.

        Every FlowBatch is to be written to `tables` before the next one is asked for. `notes` and `options` are those
        of dissect.Connections; the options of a flow are those with which it was begun.
        """
        self._files = files
        self._tables = tables
        self._notes = notes
        self._options = options
        self._pool = _Pool()
        #: The flow that is read, and what tables know of it.
        self._flow: Flow | None = None
        self._kept = NOTHING_KEPT
        #: Bytes of the state that it was loaded from: what it holds of unfinished frames is among them.
        self._state_bytes = 0

    def read(
        self, rows: Iterable[pa.RecordBatch], carried: Mapping[bytes, Carried], leave: Callable[[Carried], None]
    ) -> Iterator[FlowBatch]:
        """The records of segment rows sorted by `rows.ORDER`, which come behind those of all batches before.

        Of each flow that was open it is to be known by its key what is `carried`. What is open now of flows that have
        rows is told to `leave`; of the others what was carried goes on to be. CaptureError as FlowReader has it.
        """
        with Payloads(self._files) as payloads:
            for part in parts_of(rows):
                if part.is_first:
                    self._go_on_with(part.flow, carried.get(part.flow))
                if part.is_first and part.is_last and part.rows.size < POOLED_SEGMENTS:
                    self._read_few(part, payloads)
                    if self._pool.is_full:
                        yield from self._pooled(leave)
                else:
                    yield from self._read_many(part, payloads)
                if part.is_last and self._flow is not None:
                    leave(self._left(self._flow, int(part.rows.turns[-1])))
        yield from self._pooled(leave)

    def close(self, carried: Iterable[Carried]) -> Iterator[FlowBatch]:
        """What remains of flows of which nothing more comes."""
        for each in carried:
            flow, kept = self._thawed(each)
            self._tables.take(kept, self._pool.take(flow, list(flow.end()), len(each.state)))
            if self._pool.is_full:
                yield from self._pooled()
        yield from self._pooled()

    # -- parts of flows ------------------------------------------------------------------------------------------------

    def _go_on_with(self, key: bytes, carried: Carried | None) -> None:
        self._state_bytes = 0 if carried is None else len(carried.state)
        if carried is None:
            self._flow, self._kept = Flow(key, notes=self._notes, **self._options), NOTHING_KEPT
        else:
            self._flow, self._kept = self._thawed(carried)

    def _read_few(self, part: Part, payloads: Payloads) -> None:
        """A part that says little, with those of other flows."""
        flow = self._flow
        assert flow is not None, "a flow begins with its first part"
        told = [*flow.read(part.rows, payloads), *flow.let_go()]
        base = self._pool.take(flow, told, int(part.rows.lengths.sum()) + self._state_bytes)
        self._pool.waiting.append(_Waiting(flow, int(part.rows.turns[-1]), base))
        self._tables.take(self._kept, base)
        self._flow = None

    def _read_many(self, part: Part, payloads: Payloads) -> Iterator[FlowBatch]:
        flow = self._flow
        assert flow is not None, "a flow begins with its first part"
        if part.is_first:
            self._tables.take(self._kept)
        yield from flow.read(part.rows, payloads)
        if part.is_last:
            yield from flow.let_go()

    def _pooled(self, leave: Callable[[Carried], None] | None = None) -> Iterator[FlowBatch]:
        """What the pool has, and then its flows."""
        pool, self._pool = self._pool, _Pool()
        told = pool.told()
        if told.batch.count or told.over:
            yield told
        for each in pool.waiting:
            assert leave is not None, "flows wait only where some are left open"
            leave(self._left(*each))

    # -- as bytes ------------------------------------------------------------------------------------------------------

    def _left(self, flow: Flow, turn_ns: int, base: int = 0) -> Carried:
        """What is open of a flow, of which all is written."""
        kept = self._tables.give({each.connection.id for each in flow.over}, base)
        state = serialize(flow, kept, (flow.dissector.numbers, flow.places))
        return Carried(flow.key, turn_ns, flow.is_ended, state)

    def _thawed(self, carried: Carried) -> tuple[Flow, Kept]:
        return deserialize(carried.state, {"notes": self._notes}, name=carried.path)
