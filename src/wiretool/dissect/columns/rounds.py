"""Reads what was deferred of a table in rounds: each takes the bytes of all connections up to what else there is."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from wiretool import limits
from wiretool.capture.tcp.stream_events import Connection, Finding, Item
from wiretool.codec.columns import Integers, begins_of
from wiretool.dissect.closed_connection import finding_record
from wiretool.dissect.columns.deferred import Deferred, Due
from wiretool.dissect.columns.numbering import Numbers
from wiretool.dissect.columns.pace import Pace
from wiretool.dissect.columns.pending_output import PendingOutput
from wiretool.dissect.columns.plain_reading import read_plain_segments
from wiretool.dissect.columns.steady_watches import SteadyWatches
from wiretool.dissect.columns.watch import BulkWatch, EndedBulkWatch

#: Rows of a round below which each is read by itself, if they have fewer bytes: arrays would cost more.
ROWS_MIN, ROWS_BYTES_MIN = 64, 16_384


class Rounds:
    """Reads deferred items of many connections in rounds."""

    def __init__(
        self,
        numbers: Numbers,
        pace: Pace,
        watch_of: Callable[[Connection], BulkWatch | EndedBulkWatch],
        take: Callable[[Item], int],
    ) -> None:
        """`take` reads an item by itself, and returns how many bytes it may come to."""
        self.numbers = numbers
        self.pace = pace
        self.watch_of = watch_of
        self.take = take

    def read(
        self,
        deferred: Deferred,
        steady: SteadyWatches,
        output: PendingOutput,
        before: int | None = None,
        *,
        among: Iterable[Connection] | None = None,
        is_least: bool = False,
    ) -> bool:
        """Read what was given before a packet, of some connections; None for all.

        Return False where that is too much for one batch: then some of it is still deferred. `is_least`: it is not to
        be divided any more.
        """
        due = deferred.due(before, among)
        return _Reading(self, deferred, steady, output, due, is_least=is_least).read()


class _Reading:
    """One call of `Rounds.read`."""

    def __init__(
        self,
        rounds: Rounds,
        deferred: Deferred,
        steady: SteadyWatches,
        output: PendingOutput,
        due: Due,
        *,
        is_least: bool,
    ) -> None:
        self._rounds = rounds
        self._deferred = deferred
        self._output = output
        self._due = due
        self._is_least = is_least
        #: The packets that give something else than rows: more may be emitted at them than the frames of these.
        self._shared = deferred.packets_of_others()
        self._steady = steady
        self._records_most = len(output.records) + limits.BATCH_RECORDS_MAX
        self._bytes = 0

    @property
    def _is_full(self) -> bool:
        return len(self._output.records) >= self._records_most or self._bytes > limits.BATCH_BYTES_MAX

    def read(self) -> bool:
        """Return whether all was read."""
        deferred = self._deferred
        rows, others = self._due
        stretches = deferred.stretch[rows]
        begins = begins_of(stretches)
        parts = dict(zip(stretches[begins].tolist(), np.split(rows, begins[1:]), strict=True)) if len(rows) else {}
        for stretch in sorted({*parts, *others}):
            if stretch in parts and not self._read_rows(parts[stretch]):
                return False
            owners = others.get(stretch, ())
            self._leave(owners)
            for owner in owners:
                self._take_other(owner)
                if self._is_full:
                    return False
        return True

    def _take_other(self, owner: int) -> None:
        _, packet, item = self._deferred.take_other(owner)
        self._take(packet, item)
        self._rounds.numbers.leave(packet)

    def _leave(self, owners: Sequence[int]) -> None:
        self._steady.release(map(self._deferred.connection, owners))

    def _take(self, packet: int, item: Item) -> None:
        self._rounds.numbers.at_packet(packet)
        self._bytes += self._rounds.take(item)

    def _take_row(self, row: int) -> None:
        item = self._deferred.item(row)
        self._take(int(self._deferred.emitted_at[row]), item)

    # -- one round -------------------------------------------------------------------------------------------------

    def _read_rows(self, rows: Integers) -> bool:
        """Read the rows of a stretch, which are by connection and flow; return whether all were read."""
        if len(rows) < ROWS_MIN and self._deferred.table.lengths[rows].sum() < ROWS_BYTES_MIN:
            return self._read_singly(rows)
        owner_of = self._deferred.owner[rows]
        parts = []
        for mine in np.split(rows, begins_of(owner_of)[1:]):
            owner = int(self._deferred.owner[mine[0]])
            left = mine if self._steady.has(self._deferred.connection(owner)) else self._get_in_step(owner, mine)
            if left is None:
                return False
            parts.append(left)
        rows = np.concatenate(parts)
        return not len(rows) or self._read_together(rows)

    def _get_in_step(self, owner: int, rows: Integers) -> Integers | None:
        """Read rows of a connection singly until it is in step; return the others, None where too many were read."""
        deferred = self._deferred
        watch = self._rounds.watch_of(deferred.connection(owner))
        if isinstance(watch, BulkWatch) and watch.is_foreign:
            rows = self._pass_foreign(watch, rows)
            if not len(rows):
                return rows
        is_server = deferred.is_server[rows]
        lengths = deferred.table.lengths[rows]
        sizes = [int(lengths[~is_server].sum()), int(lengths[is_server].sum())]
        if isinstance(watch, BulkWatch) and watch.may_pass(sizes):
            return rows
        by_place = np.argsort(deferred.place[rows])
        count = 0
        for at in by_place.tolist():
            self._take_row(int(rows[at]))
            count += 1
            sizes[int(is_server[at])] -= int(lengths[at])
            if self._is_full or (isinstance(watch, BulkWatch) and watch.may_pass(sizes)):
                break
        done = by_place[:count]
        self._rounds.numbers.leave(int(deferred.emitted_at[rows[done[-1]]]))
        deferred.note_read(rows[done])
        if self._is_full and count < len(rows):
            return None
        return np.delete(rows, done)

    def _pass_foreign(self, watch: BulkWatch, rows: Integers) -> Integers:
        """Count bytes of a protocol that is not read; return the findings, which are left."""
        deferred, table = self._deferred, self._deferred.table
        are_findings = deferred.are_findings(rows)
        bytes_of = rows[~are_findings]
        for mine in np.split(bytes_of, begins_of(deferred.is_server[bytes_of])[1:]) if len(bytes_of) else ():
            first, last = deferred.data(int(mine[0])), int(mine[-1])
            size = int(table.lengths[mine].sum())
            watch.pass_foreign(first, size, int(table.numbers[last]), int(table.times[last]))
        deferred.note_read(bytes_of)
        return rows[are_findings]

    def _read_together(self, rows: Integers) -> bool:
        deferred, owner_of = self._deferred, self._deferred.owner[rows]
        are_findings = deferred.are_findings(rows)
        owners = np.unique(owner_of[~are_findings])
        plain = deferred.segments(rows[~are_findings], owners)._replace(shared=self._shared)
        where = self._steady, self._rounds.watch_of, self._rounds.numbers, self._rounds.pace, self._output
        read = read_plain_segments(plain, *where, is_least=self._is_least)
        if read.is_much:
            return False
        is_row_read = ~np.isin(owner_of, owners[~read.are_read])
        left = rows[~is_row_read]
        deferred.note_read(rows[is_row_read & ~are_findings])
        if len(left) and not self._read_singly(left):
            return False
        return self._take_findings(rows[is_row_read & are_findings])

    def _take_findings(self, rows: Integers) -> bool:
        """Read findings of connections that are in step; return whether all were read.

        Nothing else is emitted at their packets.
        """
        deferred, numbers = self._deferred, self._rounds.numbers
        count = 0
        for row in rows.tolist():
            item = deferred.item(row)
            assert isinstance(item, Finding), "all others were read"
            account = self._steady.account(item.connection) or self._rounds.watch_of(item.connection).account
            numbers.at_packet(int(deferred.emitted_at[row]))
            self._output.records.append(finding_record(item, account, numbers.take()))
            count += 1
            if self._is_full:
                break
        deferred.note_read(rows[:count])
        return count == len(rows)

    def _read_singly(self, rows: Integers) -> bool:
        """Read rows of some connections, each by itself; return whether all were read."""
        deferred = self._deferred
        order = rows[np.lexsort((deferred.place[rows], deferred.owner[rows]))]
        self._leave(np.unique(deferred.owner[rows]).tolist())
        count = 0
        for row, following in pairwise([*order.tolist(), -1]):
            self._take_row(row)
            count += 1
            if self._is_full or following < 0 or deferred.owner[following] != deferred.owner[row]:
                self._rounds.numbers.leave(int(deferred.emitted_at[row]))
            if self._is_full:
                break
        deferred.note_read(order[:count])
        return count == len(order)
