"""Recognises the protocols of new connections together: the first step of `plain_reading`, before frames are found.

`protocols/base/recognise.py` does so for each of them. Only what is certain is decided here: one protocol fits, and
none of the other expected ones does.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wiretool import limits
from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.tcp.stream_events import Data
from wiretool.codec.columns import Flags, Integers, begins_of
from wiretool.codec.message import SIDES
from wiretool.dissect.columns.watch import BulkWatch
from wiretool.protocols.base.columns import UNSURE, Frames, ProtocolColumns, Weights, columns_of
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.recognise import POINTS_SURE, is_never_foreign

#: Segments of a connection that are looked at: first so many, which are enough as a rule, then more.
SEGMENTS_FEW, SEGMENTS_MAX = 3, 8


class NewWatches(NamedTuple):
    """The watches whose protocol the segments decide, and those that hold their segments for more; by index."""

    recognised: Mapping[int, BulkWatch]
    holding: Mapping[int, BulkWatch]

    def settle(self, is_read: Flags) -> None:
        """Note the bytes of earlier segments as read; have connections that were not read recognised again."""
        for index, watch in self.recognised.items():
            if is_read[index]:
                watch.drop_held()
            else:
                watch.forget_protocol()


NO_NEW_WATCHES = NewWatches({}, {})


class Recognised(NamedTuple):
    """The protocol of a connection, a conversation that has read its first frames, and the row that decided it."""

    protocol: Protocol
    trial: Conversation | None
    row: int


class Recognition(NamedTuple):
    """Recognised connections by index; and of those that only more bytes decide, how many these have to be."""

    decided: dict[int, Recognised]
    undecided: dict[int, int]


class _Chunks(NamedTuple):
    """The first segments of connections in one buffer, ordered by flow; and in columns by their number.

    Column j of `rows` and `sizes` is of the segment that came as number j; the row is -1 for one that came earlier.
    """

    data: bytes
    begins: Integers
    stops: Integers
    owner: Integers
    is_server: Flags
    #: By segment in the buffer: its end, and its number.
    ends: Integers
    numbers: Integers
    rows: Integers
    sizes: Integers


class _Evidence(NamedTuple):
    """Evidence for a protocol, by connection and number of segments."""

    protocol: Protocol
    weights: Weights
    points: Integers
    frames: Integers
    is_refused: Flags
    is_unsure: Flags
    is_decided: Flags

    @property
    def fits(self) -> Flags:
        """Return where it certainly fits."""
        fits: Flags = (self.points > 0) & ~self.is_refused & ~self.is_unsure
        return fits

    @property
    def is_certain(self) -> Flags:
        """Return where it certainly fits or does not, by frames that `recognise` looks at, too."""
        is_certain: Flags = (self.is_refused | ~self.is_unsure) & (self.frames < limits.RECOGNISE_FRAMES_MAX)
        return is_certain


def can_recognise(expected: Sequence[Protocol]) -> bool:
    """Return whether connections on which these protocols are expected can be recognised here."""
    columns = [columns_of(protocol) for protocol in expected]
    return bool(columns) and all(each is not None and each.can_weigh for each in columns)


def recognise_new(plain: PlainSegments, watches: Mapping[int, BulkWatch]) -> tuple[PlainSegments, NewWatches]:
    """Recognise the protocols of connections, or hold their first segments; return when frames are emitted.

    `watches` are those over connections without a protocol.
    """
    firsts = dict(zip(range(len(plain.connections)), plain.first_rows(), strict=True))
    unknown = dict[tuple[Protocol, ...], list[int]]()
    for index, watch in watches.items():
        if watch.may_begin_together and can_recognise(watch.expected):
            unknown.setdefault(tuple(watch.expected), []).append(index)
        elif not watch.has_begun:
            row, is_server = firsts[index]
            watch.begin(SIDES[is_server], plain.table.payload(row))
    decided: dict[int, Recognised] = {}
    holding: dict[int, BulkWatch] = {}
    for expected, indices in unknown.items():
        found = recognise_together(plain, indices, [watches[index] for index in indices], expected)
        decided |= found.decided
        for index, look_at in found.undecided.items():
            holding[index] = watches[index]
            watches[index].hold([item for _, item in plain.run(index).told_items()], look_at)
    for index, each in decided.items():
        watches[index].begin_with(each.protocol, each.trial)
    recognised = {index: watches[index] for index in decided}
    return _with_decided(plain, recognised, decided), NewWatches(recognised, holding)


def _with_decided(
    plain: PlainSegments, recognised: Mapping[int, BulkWatch], decided: Mapping[int, Recognised]
) -> PlainSegments:
    """Have frames emitted from the row on that decided the protocol; insert sides with earlier segments only."""
    if not decided:
        return plain
    emitted_from = np.zeros(len(plain.connections), np.int64)
    emitted_from[list(decided)] = plain.table.numbers[[each.row for each in decided.values()]]
    flows = [2 * index + (item.side == "server") for index, watch in recognised.items() for item in watch.held_items]
    return plain.with_flows(np.unique(flows).astype(np.int64))._replace(emitted_from=emitted_from)


def recognise_together(
    plain: PlainSegments, indices: Sequence[int], watches: Sequence[BulkWatch], expected: Sequence[Protocol]
) -> Recognition:
    """Recognise the protocols of connections by their first segments; `expected` are the protocols of all."""
    recognition = Recognition({}, {})
    of_index = dict(zip(indices, watches, strict=True))
    for most in (SEGMENTS_FEW, SEGMENTS_MAX):
        if of_index:
            left = _recognise_by(most, plain, of_index, expected, recognition)
            of_index = {index: of_index[index] for index in left}
    return recognition


def _recognise_by(
    most: int,
    plain: PlainSegments,
    watches: Mapping[int, BulkWatch],
    expected: Sequence[Protocol],
    recognition: Recognition,
) -> list[int]:
    """Recognise connections by their first segments, so many at most; return the undecided ones with more."""
    indices = list(watches)
    chunks, counts = _first_chunks(most, plain, indices, [watch.held_items for watch in watches.values()])
    found = [_weigh(columns, each, chunks) for each in expected if (columns := columns_of(each)) is not None]
    is_open = _cannot_be_foreign(chunks, len(indices))
    held, look_at = np.zeros(len(indices), np.int64), np.array([watch.look_at for watch in watches.values()])
    for step in range(most):
        held += chunks.sizes[:, step]
        is_asked = is_open & (chunks.rows[:, step] >= 0) & (held >= look_at)
        look_at[is_asked] = 2 * held[is_asked]
        is_certain = np.logical_and.reduce([each.is_certain[:, step] for each in found])
        is_open &= ~is_asked | (is_certain & (held <= limits.RECOGNISE_BYTES_MAX))
        count = sum(each.fits[:, step].astype(np.int64) for each in found)
        for each in found:
            is_sure = each.is_decided[:, step] & (each.points[:, step] >= POINTS_SURE)
            is_it = is_asked & is_open & each.fits[:, step] & is_sure & (count == 1)
            is_open &= ~is_it
            for index in np.flatnonzero(is_it).tolist():
                row = int(chunks.rows[index, step])
                recognition.decided[indices[index]] = Recognised(each.protocol, each.weights.trial(index), row)
    for index in np.flatnonzero(is_open & (counts <= most)).tolist():
        recognition.undecided[indices[index]] = int(look_at[index])
    return [indices[index] for index in np.flatnonzero(is_open & (counts > most)).tolist()]


def _first_chunks(
    most: int, plain: PlainSegments, indices: Sequence[int], held: Sequence[Sequence[Data]]
) -> tuple[_Chunks, Integers]:
    """Return the first segments of connections, `most` of each, after those that are held; and how many each has."""
    owner_of = np.full(len(plain.connections), -1)
    owner_of[list(indices)] = np.arange(len(indices))
    flow_of = np.repeat(np.arange(len(plain.connection_of)), np.diff(plain.bounds))
    owner = owner_of[plain.connection_of[flow_of]]
    mine = np.flatnonzero(owner >= 0)
    mine = mine[np.lexsort((plain.rows[mine], owner[mine]))]
    rows, sides, owner = plain.rows[mine], plain.is_server[flow_of[mine]], owner[mine]
    early = [item for items in held for item in items]
    before = np.array([len(items) for items in held])
    owner = np.concatenate((np.repeat(np.arange(len(held)), before), owner))
    sides = np.concatenate((np.array([item.side == "server" for item in early], np.bool_), sides))
    rows = np.concatenate((np.full(len(early), -1), rows))
    sizes = np.where(rows >= 0, plain.table.lengths[rows], 0)
    sizes[: len(early)] = [len(item.data) for item in early]
    in_turn = np.argsort(owner, kind="stable")
    firsts = begins_of(owner[in_turn])
    counts = np.diff(firsts, append=len(owner))
    numbers = np.empty(len(owner), np.int64)
    numbers[in_turn] = np.arange(len(owner)) - np.repeat(firsts, counts)
    is_seen = numbers < most
    columns = np.full((2, len(indices), most), -1)
    columns[:, owner[is_seen], numbers[is_seen]] = rows[is_seen], sizes[is_seen]
    order = np.lexsort((numbers, sides, owner))
    order = order[is_seen[order]]
    ends = np.cumsum(sizes[order])
    begins = begins_of(2 * owner[order] + sides[order])
    stops = np.append(begins[1:], len(order)) - 1
    chunks = _Chunks(
        b"".join(
            early[at].data if at < len(early) else plain.table.payload(row)
            for at, row in zip(order.tolist(), rows[order].tolist(), strict=True)
        ),
        ends[begins] - sizes[order[begins]],
        ends[stops],
        owner[order[begins]],
        sides[order[begins]],
        ends,
        numbers[order],
        columns[0],
        np.maximum(columns[1], 0),
    )
    return chunks, counts


def _cannot_be_foreign(chunks: _Chunks, count: int) -> Flags:
    """Return the connections on which nothing can be taken for another protocol."""
    cannot_be = np.ones(count, np.bool_)
    flows = zip(chunks.owner.tolist(), chunks.begins.tolist(), chunks.stops.tolist(), strict=True)
    cannot_be[[owner for owner, at, stop in flows if not is_never_foreign(chunks.data[at : min(stop, at + 4)])]] = False
    return cannot_be


def _weigh(columns: ProtocolColumns, protocol: Protocol, chunks: _Chunks) -> _Evidence:
    data, begins, stops, owner, is_server, ends, numbers, rows, _ = chunks
    found = columns.find_boundaries(data, begins, stops, is_server, ends[:-1])
    frame_owner, number = owner[found.range_of], numbers[np.searchsorted(ends, found.frame_ends)]
    order = np.lexsort((found.starts, number, frame_owner))
    frame_owner, number = frame_owner[order], number[order]
    places = found.starts[order], found.frame_ends[order], is_server[found.range_of][order]
    weights = columns.weigh(Frames(data, *places, np.arange(len(number))), frame_owner)

    def so_far(values: Integers | Flags) -> Integers:
        sums = np.zeros(rows.shape, np.int64)
        np.add.at(sums, (frame_owner, number), values)
        summed: Integers = np.cumsum(sums, 1)
        return summed

    trust = weights.trust
    is_unsure = so_far(trust == UNSURE) > 0
    is_unsure[owner[found.is_broken]] = True
    points, frames = so_far(np.maximum(trust, 0)), so_far(np.ones(len(trust), np.int64))
    return _Evidence(
        protocol, weights, points, frames, so_far(trust == 0) > 0, is_unsure, so_far(weights.is_decided) > 0
    )
