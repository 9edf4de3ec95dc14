"""The watches over connections that begin among plain segments, until their first frames are read."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from wiretool.bulk.starts import Start, can_recognise, find_starts
from wiretool.bulk.watch import BulkWatch
from wiretool.capture.plain_runs import PlainSegments
from wiretool.codec.columns import Flags
from wiretool.codec.message import SIDES
from wiretool.protocols.conversation import Protocol


class Beginnings(NamedTuple):
    """The watches whose protocol the segments decide, and those that hold their segments for more; by index."""

    begun: Mapping[int, BulkWatch]
    holding: Mapping[int, BulkWatch]

    def settle(self, is_read: Flags) -> None:
        """Note the bytes of earlier segments as read; have connections that were not read recognised again."""
        for index, watch in self.begun.items():
            if is_read[index]:
                watch.drop_held()
            else:
                watch.forget_beginning()


NO_BEGINNINGS = Beginnings({}, {})


def begin(plain: PlainSegments, watches: Mapping[int, BulkWatch]) -> tuple[PlainSegments, Beginnings]:
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
    decided: dict[int, Start] = {}
    holding: dict[int, BulkWatch] = {}
    for expected, indices in unknown.items():
        starts = find_starts(plain, indices, [watches[index] for index in indices], expected)
        decided |= starts.decided
        for index, look_at in starts.undecided.items():
            holding[index] = watches[index]
            watches[index].hold([item for _, item in plain.run(index).told_items()], look_at)
    for index, start in decided.items():
        watches[index].begin_with(start.protocol, start.trial)
    begun = {index: watches[index] for index in decided}
    return _with_decided(plain, begun, decided), Beginnings(begun, holding)


def _with_decided(plain: PlainSegments, begun: Mapping[int, BulkWatch], decided: Mapping[int, Start]) -> PlainSegments:
    """Have frames emitted from the row on that decided the protocol; insert sides with earlier segments only."""
    if not decided:
        return plain
    emitted_from = np.zeros(len(plain.connections), np.int64)
    emitted_from[list(decided)] = plain.table.numbers[[start.row for start in decided.values()]]
    flows = [2 * index + (item.side == "server") for index, watch in begun.items() for item in watch.held_items]
    return plain.with_flows(np.unique(flows).astype(np.int64))._replace(emitted_from=emitted_from)
