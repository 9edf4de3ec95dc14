"""Numbers over many records at once, the same as one by one.

The frames of a batch are counted by cell: those of one connection and message that are about the same. A cell has its
turn where its first frame stands, so that rows come in the order in which `Stats.add` would make them. Where what a
key stands for would be forgotten within the batch, its records are added one by one.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from wiretool import limits
from wiretool.batches.batch import Batch, FrameRun, join_batches
from wiretool.batches.rows import records_of
from wiretool.codec.columns import Integers
from wiretool.protocols.bulk import NO_REPLY, Group
from wiretool.records import Record
from wiretool.sessions.latency import Latencies
from wiretool.sessions.latency_bulk import FEW_CELLS, bounds_of, firsts_of, spread
from wiretool.sessions.replies_bulk import latencies_of, note_times
from wiretool.sessions.stats import MessageKey, Request, Stats
from wiretool.sessions.subjects import Mention, Subject, mention_of
from wiretool.sessions.subjects_bulk import Codes, distinct, mention_codes, resolve

#: Records that are counted together. Counting costs time for each connection of a batch, so few batches are joined.
JOINED_RECORDS = 131_072


class BatchCounter:
    """Counts the records of batches, several batches at a time; `flush` counts the rest."""

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self._batches: list[Batch] = []

    def add(self, batch: Batch) -> None:
        """Count a batch, now or later."""
        self._batches.append(batch)
        if sum(each.count for each in self._batches) >= JOINED_RECORDS:
            self.flush()

    def flush(self) -> None:
        """Count all batches so far."""
        if self._batches:
            batches, self._batches = self._batches, []
            count_batch(self._stats, join_batches(batches))


class Source(NamedTuple):
    """A connection and a message on it; no message for what is no frame."""

    connection: int
    client: str
    server: str
    message: MessageKey | None


def count_batch(stats: Stats, batch: Batch) -> None:
    """Count the records of a batch."""
    if not batch.runs or not _is_whole(batch):
        stats.add_all(records_of(batch))
        return
    table = _Table(batch)
    about: Codes[tuple[Subject, ...]] = Codes([()])
    resolved = resolve(table.said, table.mentions.values, about, stats.about)
    if resolved is None:
        stats.add_all(records_of(batch))
        return
    for key, subjects in resolved.keys:
        stats.about.remember(key, subjects)
    _Count(stats, table, resolved.codes, about).run(batch.records)


def _is_whole(batch: Batch) -> bool:
    """Whether its records are numbered without a hole."""
    return batch.count == len(batch.records) + sum(len(group.rows) for run in batch.runs for group in run.groups)


class _Table:
    """The records of a batch in the order of their numbers: a row each."""

    def __init__(self, batch: Batch) -> None:
        self.first_n = batch.first_n
        self.times = np.empty(batch.count, np.int64)
        self.lengths = np.empty(batch.count, np.int64)
        self.replies = np.full(batch.count, NO_REPLY, np.int64)
        #: Codes of where each is from, and of what it says of its subjects (-1 for nothing).
        self.source = np.empty(batch.count, np.int64)
        self.said = np.full(batch.count, -1, np.int64)
        self.sources: Codes[Source] = Codes()
        self.mentions: Codes[Mention] = Codes()
        for run in batch.runs:
            self._add(run)
        if batch.records:
            self._add_records(batch.records)

    def __len__(self) -> int:
        return len(self.times)

    def _add(self, run: FrameRun) -> None:
        frames, places = run.frames, run.frames.numbers - self.first_n
        line = _line(run, places)
        if line is not None:
            self.times[line], self.lengths[line] = run.times, frames.ends - frames.starts
        for group in run.groups:
            rows = group.rows
            if line is not None:
                at = rows + line.start
            else:
                at = places[rows]
                self.times[at], self.lengths[at] = run.times[rows], frames.ends[rows] - frames.starts[rows]
            self.source[at] = self._sources(run, group)
            self.said[at] = mention_codes(run, group, self.mentions)
            if group.reply_to is not None:
                self.replies[at] = group.reply_to

    def _sources(self, run: FrameRun, group: Group) -> Integers | int:
        owner, is_server = run.connection_of[group.rows], run.frames.is_server[group.rows]
        found, of_row = distinct(2 * owner + is_server, 2 * len(run.connections))
        keys: Sequence[MessageKey] = [(run.protocol, group.name, side) for side in ("client", "server")]
        ends = [run.connections[code >> 1] for code in found.tolist()]
        codes = self.sources.all_of(
            Source(each.connection, each.client, each.server, keys[code & 1])
            for each, code in zip(ends, found.tolist(), strict=True)
        )
        return int(codes[0]) if len(codes) == 1 else codes[of_row]

    def _add_records(self, records: Sequence[Record]) -> None:
        at = np.array([record.n for record in records], np.int64) - self.first_n
        self.times[at] = [record.time_ns for record in records]
        self.lengths[at] = [record.length for record in records]
        self.replies[at] = [_reply_of(record) for record in records]
        self.source[at] = [self.sources.of(_source_of(record)) for record in records]
        self.said[at] = [self.mentions.of(mention_of(record)) if record.kind == "frame" else -1 for record in records]


def _line(run: FrameRun, places: Integers) -> slice | None:
    """The places of all frames of a run where they stand in line, with nothing between them."""
    if sum(len(group.rows) for group in run.groups) < len(places):
        return None
    first, stop = int(places[0]), int(places[-1]) + 1
    return slice(first, stop) if stop - first == len(places) else None


def _source_of(record: Record) -> Source:
    message: MessageKey | None = None
    if record.kind == "frame":
        message = record.protocol, record.message, record.side
    return Source(record.connection, record.client, record.server, message)


def _reply_of(record: Record) -> int:
    return NO_REPLY if record.kind != "frame" or record.reply_to is None else record.reply_to


class _Count:
    """Counts a table, of whose records is known what they say that they are about."""

    def __init__(self, stats: Stats, table: _Table, about: Integers, subjects: Codes[tuple[Subject, ...]]) -> None:
        self._stats = stats
        self._table = table
        self._sources = table.sources.values
        self._messages: Codes[MessageKey | None] = Codes([None])
        self._message_of = self._messages.all_of(source.message for source in self._sources)
        self._replies = np.flatnonzero(table.replies != NO_REPLY)
        #: What a request is, as a code; 0 for a reply, and for what is no frame.
        self._request = self._message_of[table.source]
        self._request[self._replies] = 0
        self._about = about
        self._subjects = subjects

    def run(self, records: Sequence[Record]) -> None:
        """Count everything; `records` are those that are not in columns."""
        at = self._table.replies[self._replies] - self._table.first_n
        asked = self._follow(self._replies, at)
        self._count_cells(records)
        self._see()
        self._count_replies(self._replies, at, asked)
        self._note()

    # -- frames --------------------------------------------------------------------------------------------------------

    def _count_cells(self, records: Sequence[Record]) -> None:
        """Every cell, and every record that is no frame, in turn."""
        others = [(record.n - self._table.first_n, record) for record in records if record.kind != "frame"]
        turns: list[tuple[int, Record | Cell]] = [*others, *self._cells()]
        for _, each in sorted(turns, key=lambda turn: turn[0]):
            if isinstance(each, Record):
                self._stats.add_other(each)
            else:
                self._count_cell(each)

    def _cells(self) -> "Iterator[tuple[int, Cell]]":
        """The cells of the batch, and the place of the first frame of each."""
        table, width = self._table, len(self._subjects)
        size = len(self._sources) * width
        cell = table.source * width + self._about
        # Of few cells it costs nothing that some are empty.
        codes, cell = (np.arange(size), cell) if size <= FEW_CELLS else distinct(cell, size)
        count = len(codes)
        frames = np.bincount(cell, minlength=count)
        sizes = np.bincount(cell, table.lengths, count).astype(np.int64)
        subjects = self._subjects.values
        columns = (codes, firsts_of(cell, count), frames, sizes)
        for code, first, *numbers in zip(*(column.tolist() for column in columns), strict=True):
            source = self._sources[code // width]
            if source.message is not None and numbers[0]:
                yield first, Cell(source, source.message, subjects[code % width], *numbers)

    def _count_cell(self, cell: "Cell") -> None:
        source, message = cell.source, cell.message
        connection = self._stats.connection_row(source.connection, source.client, source.server, message[0])
        for row in (self._stats.total, connection):
            row.count_from(message[2], cell.frames, cell.bytes)
        for each in (self._stats.message_row(message), *map(self._stats.subject_row, cell.subjects)):
            each.count(cell.frames, cell.bytes)

    def _see(self) -> None:
        """Note when the records of each connection were captured; all have their rows by now."""
        connections: Codes[int] = Codes()
        of_source = connections.all_of(source.connection for source in self._sources)
        place = of_source[self._table.source] if len(connections) > 1 else of_source
        least, most = bounds_of(self._table.times, place, len(connections))
        for number, first_ns, last_ns in zip(connections.values, least.tolist(), most.tolist(), strict=True):
            for row in (self._stats.total, self._stats.connection_row(number, "", "", "")):
                row.see(first_ns, last_ns)

    # -- replies -------------------------------------------------------------------------------------------------------

    def _follow(self, replies: Integers, at: Integers) -> Integers:
        """The code of the message that each reply answers, 0 for none known; what was asked says what it is about.

        What is answered has the places `at`, those before the batch below 0.
        """
        age = replies - at
        is_near = (at >= 0) & (age > 0) & (age < limits.REQUESTS_OPEN_MAX)
        near = at if is_near.all() else np.where(is_near, at, replies)
        asked = self._request[near]
        is_unsaid = self._about[replies] == 0
        about = np.where(is_unsaid & (asked > 0), self._about[near], 0) if is_unsaid.any() else None
        for row in np.flatnonzero(at < 0).tolist():
            n = self._table.first_n + int(replies[row])
            request = self._stats.asked.of(n, self._table.first_n + int(at[row]))
            if request is not None:
                asked[row] = self._messages.of(request.message)
                if about is not None and is_unsaid[row]:
                    about[row] = self._subjects.of(request.subjects)
        if about is not None:
            self._about[replies] += about
        return asked

    def _count_replies(self, replies: Integers, at: Integers, asked: Integers) -> None:
        table = self._table
        latencies, is_known = latencies_of(self._stats.times, table.first_n, table.times, replies, at)
        if not is_known.all():
            replies, asked, latencies = replies[is_known], asked[is_known], latencies[is_known]
        width, height = len(self._messages), len(self._subjects)
        codes = (table.source[replies] * height + self._about[replies]) * width + asked
        cells, cell = distinct(codes, len(self._sources) * height * width)
        messages, subjects = self._messages.values, self._subjects.values
        for code, times in zip(cells.tolist(), spread(latencies, cell, len(cells)), strict=True):
            of_where, request = divmod(code, width)
            source, about = divmod(of_where, height)
            for row in self._rows_of(self._sources[source], subjects[about], messages[request]):
                row.add_counted(*times)

    def _rows_of(self, where: Source, about: Iterable[Subject], request: MessageKey | None) -> Iterator[Latencies]:
        yield self._stats.total.replies
        yield self._stats.connection_row(where.connection, where.client, where.server, "").replies
        for subject in about:
            yield self._stats.subject_row(subject).replies
        if request is not None:
            yield self._stats.message_row(request).replies

    def _note(self) -> None:
        """Remember what later records may ask for."""
        table = self._table
        note_times(self._stats.times, table.first_n, table.times)
        kept = slice(-limits.REQUESTS_OPEN_MAX, None)
        request, about = self._request[kept], self._about[kept]
        request_at = partial(_request_at, request, self._messages.values, about, self._subjects.values)
        self._stats.asked.note_many(table.first_n + len(table) - len(request), len(request), request_at)


def _request_at(
    request: Integers,
    messages: Sequence[MessageKey | None],
    about: Integers,
    subjects: Sequence[tuple[Subject, ...]],
    place: int,
) -> Request | None:
    """What is to be remembered of a record; None where it is no request."""
    message = messages[request[place]]
    return None if message is None else Request(message, subjects[about[place]])


class Cell(NamedTuple):
    """Frames of one message on one connection that are about the same."""

    source: Source
    message: MessageKey
    subjects: tuple[Subject, ...]
    frames: int
    bytes: int
