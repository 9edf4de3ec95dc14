"""The flows of many connections in one buffer, for the frames in it to be found and put in order together."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.codec.columns import Flags, Integers, items_of
from wiretool.codec.frames.boundaries import FrameBoundaries
from wiretool.dissect.columns.held_bytes import NO_MARKS, Marks
from wiretool.dissect.columns.numbering import Numbers
from wiretool.dissect.columns.placing import Pieces, PlacedFrames, brought, in_order
from wiretool.dissect.columns.steady_watches import SteadyWatches


class JoinedFlows(NamedTuple):
    """The flows of some connections, adjacent in one buffer: the bytes of an unfinished frame, then the new bytes."""

    #: By connection.
    slots: Integers
    #: By flow: its index among steady flows, that of its connection in `slots`, and its new bytes.
    indices: Integers
    owner: Integers
    is_server: Flags
    sizes: Integers
    #: Its start and end in the buffer, and the offset of its first byte in the flow.
    begins: Integers
    stops: Integers
    offsets: Integers
    #: Pieces, and the flow of each.
    pieces: Pieces
    flow_of: Integers


def join_flows(
    plain: PlainSegments, indices: Integers, slots: Integers, steady: SteadyWatches | None = None
) -> tuple[bytes, JoinedFlows]:
    """Return the flows of some connections, in these slots of `steady`, and the buffer; without it they begin here."""
    owner_of = np.full(len(plain.connections), -1)
    owner_of[indices] = np.arange(len(indices))
    places = np.flatnonzero(owner_of[plain.connection_of] >= 0)
    owner, is_server = owner_of[plain.connection_of[places]], plain.is_server[places]
    flows = 2 * slots[owner] + is_server
    none = np.zeros(len(flows), np.int64)
    held, marks = (none, NO_MARKS) if steady is None else steady.held(flows)
    counts = np.diff(plain.bounds)[places]
    rows = plain.rows if len(places) == len(plain.bounds) - 1 else plain.rows[items_of(plain.bounds[places], counts)]
    new = plain.sizes[places]
    stops = np.cumsum(held + new)
    begins = stops - held - new
    flow_of = np.repeat(np.arange(len(places)), counts)
    table = plain.table
    ends = np.cumsum(table.lengths[rows]) + np.cumsum(held)[flow_of]
    packets = table.numbers[rows]
    emitted_at = packets if plain.emitted_at is None else plain.emitted_at[rows]
    pieces = Pieces(ends, packets, table.times[rows], emitted_at, packets if plain.turns is None else plain.turns[rows])
    offsets = none if steady is None else steady.offsets(flows)
    if len(marks.flows):
        turns = marks.packets if plain.turns is None else np.full(len(marks.flows), -1)
        pieces, flow_of = _with_marks(pieces, flow_of, marks, turns, begins - offsets)
    if plain.emitted_from is not None:
        emitted_from = plain.emitted_from[indices[owner[flow_of]]]
        pieces = pieces._replace(emitted_at=np.maximum(pieces.emitted_at, emitted_from))
    rests = {} if steady is None else {at: steady.rest(int(flows[at])) for at in np.flatnonzero(held).tolist()}
    data = b"".join(_parts(plain, rows, rests, np.cumsum(counts) - counts))
    return data, JoinedFlows(slots, flows, owner, is_server, new, begins, stops, offsets, pieces, flow_of)


def _parts(
    plain: PlainSegments, rows: Integers, rests: Mapping[int, bytes], firsts: Integers
) -> list[bytes | memoryview]:
    """Return the payloads of rows, and before the first one of some flows its unfinished frame."""
    parts: list[bytes | memoryview] = []
    done = 0
    for flow, rest in rests.items():
        first = int(firsts[flow])
        parts += plain.table.payloads(rows[done:first])
        parts.append(rest)
        done = first
    return parts + plain.table.payloads(rows[done:])


def _with_marks(
    pieces: Pieces, flow_of: Integers, marks: Marks, turns: Integers, base: Integers
) -> tuple[Pieces, Integers]:
    """Insert the pieces of the unfinished frame of each flow, with their turns, before its new ones."""
    flows, ends, packets, times = marks
    order = np.argsort(np.concatenate((2 * flows, 2 * flow_of + 1)), kind="stable")
    columns = (ends + base[flows], packets, times, packets, turns)
    both = Pieces(*(np.concatenate(pair)[order] for pair in zip(columns, pieces, strict=True)))
    flow_of = np.concatenate((flows, flow_of))[order]
    of_flow = flow_of * (int(both.turns.max()) + 2)
    return both._replace(turns=np.maximum.accumulate(both.turns + of_flow) - of_flow), flow_of


def place_frames(
    data: bytes, flows: JoinedFlows, found: FrameBoundaries, is_whole: Flags, numbers: Numbers
) -> PlacedFrames:
    """Return the frames of some connections, by their index, in the order of their records."""
    pieces, flow_of = flows.pieces, flows.flow_of
    starts = found.starts
    ends = found.frame_ends
    if not is_whole.all():
        kept = is_whole[flows.owner[found.range_of]]
        starts, ends = starts[kept], ends[kept]
        is_mine = is_whole[flows.owner[flow_of]]
        pieces, flow_of = Pieces(*(column[is_mine] for column in pieces)), flow_of[is_mine]
    of_flow = flows.is_server, flows.owner, flows.offsets - flows.begins
    return in_order(data, brought(pieces, flow_of, *of_flow, starts, ends), starts, ends, numbers)


def note_rests(data: bytes, flows: JoinedFlows, found: FrameBoundaries, is_whole: Flags, steady: SteadyWatches) -> None:
    """Have `steady` count the bytes of some connections, and keep those after the frames."""
    pieces, flow_of, base = flows.pieces, flows.flow_of, flows.offsets - flows.begins
    is_mine = is_whole[flows.owner]
    rows = np.flatnonzero((pieces.ends > found.ends[flow_of]) & is_mine[flow_of])
    of = flow_of[rows]
    marks = Marks(flows.indices[of], pieces.ends[rows] + base[of], pieces.packets[rows], pieces.times[rows])
    open_ones = np.flatnonzero((found.ends < flows.stops) & is_mine)
    columns = flows.indices[open_ones], found.ends[open_ones], flows.stops[open_ones]
    rests = {flow: data[end:stop] for flow, end, stop in zip(*(column.tolist() for column in columns), strict=True)}
    indices, sizes, offsets = flows.indices[is_mine], flows.sizes[is_mine], (found.ends + base)[is_mine]
    steady.pass_bytes(indices, sizes, offsets, found.needs[is_mine], rests, marks)
