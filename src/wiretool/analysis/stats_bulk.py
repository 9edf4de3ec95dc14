"""Numbers over many records at once, the same as one by one.

The records of some batches are put in order, and adjacent ones that count for the same rows are added up. Counts stay
in arrays by row: `Stats` has the same rows as `Stats.add` makes, in the same order, but gets their numbers at the end.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from wiretool import limits
from wiretool.analysis.row_arrays import ConnectionArrays, FrameCounts, RowArrays
from wiretool.analysis.stats import MessageKey, Row, Stats
from wiretool.analysis.subjects import Subject, mention_of
from wiretool.analysis.subjects_bulk import Codes, MentionCodes, Mentions, distinct, find_begins, follow_mentions
from wiretool.batches.batch import Batch, Ends, FrameRun, join_batches
from wiretool.codec.columns import Integers, items_of
from wiretool.codec.message import Side
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.records import Record

#: Records that are counted together: few enough that their batches take little memory.
JOINED_RECORDS = 131_072
#: In place of that of a row: there is none.
NO_ROW = -1


class BatchCounter:
    """Counts the records of batches, several batches at a time; `flush` counts the rest.

    Show it every batch in order. Its statistics get nothing else.
    """

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self._batches: list[Batch] = []
        self._connections = ConnectionArrays(stats.total)
        self._messages: RowArrays[Row] = RowArrays()
        self._subjects: RowArrays[Row] = RowArrays()
        #: The places of the rows of connections, by number; and by place whether the protocol of a row is known.
        self._place_of = np.zeros(0, np.int64)
        self._has_protocol = np.zeros(0, np.bool_)
        #: Memory of a table, for the next one: what is fresh takes time.
        self._columns = np.empty((RecordTable.COLUMNS, 0), np.int64)
        none = np.zeros(0, np.int64)
        self._requests = RecentRequests(none, none, none, ())

    def add(self, batch: Batch) -> None:
        """Count a batch, now or later."""
        self._batches.append(batch)
        if sum(each.count for each in self._batches) >= JOINED_RECORDS:
            self._count_batches()

    def flush(self) -> None:
        """Count all batches so far, and add their numbers to the statistics."""
        self._count_batches()
        self._connections.pour()
        self._messages.pour()
        self._subjects.pour()

    def _count_batches(self) -> None:
        batches, self._batches = [each for each in self._batches if each.count], []
        if batches:
            batch = join_batches(batches)
            if self._columns.shape[1] < batch.count:
                self._columns = np.empty((RecordTable.COLUMNS, batch.count), np.int64)
            table = RecordTable(batch, self._columns[:, : batch.count], self._requests.subjects)
            del batch, batches[:]  # the data of frames is not needed any more
            self._count(table)

    def _count(self, table: "RecordTable") -> None:
        subjects = table.mention_codes.subjects
        message_of = self._message_places(table)
        about = follow_mentions(table.connection, table.mentions, table.mention_codes, self._stats.about)
        replies = self._follow_replies(table, message_of, about, subjects.values)
        begins = find_begins(table.connection, table.kind, about)
        places = self._connection_places(table, begins)
        for record in table.others:
            self._stats.add_other(record)
        message, about_each = message_of[table.kind[begins]], about[begins]
        is_frame = message != NO_ROW
        counts = table.frame_counts(begins).take(is_frame)
        self._connections.count(places[is_frame], counts)
        self._messages.count(message[is_frame], counts)
        of_subject = self._subject_places(about_each[is_frame], subjects.values)
        index, place = of_subject.pairs(about_each[is_frame])
        self._subjects.count(place, counts.take(index))
        self._count_replies(replies, self._place_of[table.connection[replies.rows]], about[replies.rows], of_subject)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _message_places(self, table: "RecordTable") -> Integers:
        """Return the place of the row of each kind, NO_ROW of one without a message."""
        kinds = table.kinds.values
        places = np.full(len(kinds), NO_ROW)
        for code in np.argsort(_find_firsts(table.kind, len(kinds))).tolist():
            message = kinds[code].message
            if message is not None:
                places[code] = self._messages.place_of(self._stats.message_row(message))
        return places

    def _connection_places(self, table: "RecordTable", begins: Integers) -> Integers:
        """Return the place of the row of the connection of each of these records."""
        numbers, kind = table.connection[begins], table.kind[begins]
        more = max(int(numbers.max()) + 1 - len(self._place_of), 0)
        self._place_of = np.append(self._place_of, np.full(more, NO_ROW))
        new = numbers[self._place_of[numbers] == NO_ROW]
        if len(new):
            new = new[np.sort(np.unique(new, return_index=True)[1])]
            ends = table.ends()
            of_each = ((number, ends[number].client, ends[number].server, "") for number in new.tolist())
            rows = (self._stats.connection_row(*each) for each in of_each)
            self._place_of[new] = list(map(self._connections.place_of, rows))
        places: Integers = self._place_of[numbers]
        self._set_protocols(places, [kind.protocol for kind in table.kinds.values], kind)
        return places

    def _set_protocols(self, places: Integers, protocols: Sequence[str], protocol: Integers) -> None:
        """Give each row without a protocol the first one that is known, by its index."""
        rows = self._connections.rows
        self._has_protocol = np.append(self._has_protocol, np.zeros(len(rows) - len(self._has_protocol), np.bool_))
        is_known = np.array(protocols) != ""
        records = np.flatnonzero(~self._has_protocol[places] & is_known[protocol])
        new, firsts = np.unique(places[records], return_index=True)
        for place, index in zip(new.tolist(), protocol[records[firsts]].tolist(), strict=True):
            rows[place].protocol = protocols[index]
        self._has_protocol[new] = True

    def _subject_places(self, about: Integers, subjects: Sequence[tuple[Subject, ...]]) -> "SubjectPlaces":
        """Return the places of the rows of subjects, by code; `about` are the codes that are there."""
        firsts = _find_firsts(about, len(subjects))
        places: list[list[int]] = [[] for _ in subjects]
        for code in np.argsort(firsts)[: np.count_nonzero(firsts < len(about))].tolist():
            places[code] = [self._subjects.place_of(self._stats.subject_row(each)) for each in subjects[code]]
        counts = np.array([len(each) for each in places], np.int64)
        every = np.array([place for each in places for place in each], np.int64)
        return SubjectPlaces(every, np.cumsum(counts) - counts, counts)

    # -- replies -------------------------------------------------------------------------------------------------------

    def _follow_replies(
        self, table: "RecordTable", message_of: Integers, about: Integers, subjects: Sequence[tuple[Subject, ...]]
    ) -> "KnownReplies":
        """Return the replies to requests that are known; one that names no subjects gets those of its request."""
        rows = np.flatnonzero(table.reply_to != NO_REPLY)
        message = message_of[table.kind]
        message[rows] = NO_ROW
        earlier = self._requests
        requests = RecentRequests(
            np.append(earlier.times_ns, table.times_ns),
            np.append(earlier.message, message),
            np.append(earlier.about, np.where(message == NO_ROW, 0, about)),
            subjects,
        )
        here = rows + len(earlier.message)
        at = table.reply_to[rows] + (len(earlier.message) - table.first_n)
        is_known = (at >= 0) & (at <= here) & (here - at < limits.REQUESTS_OPEN_MAX)
        at = np.where(is_known, at, here)
        is_unnamed = about[rows] == 0
        about[rows[is_unnamed]] = requests.about[at[is_unnamed]]
        self._requests = requests.latest()
        latencies_ns = requests.times_ns[here] - requests.times_ns[at]
        return KnownReplies(rows[is_known], requests.message[at][is_known], latencies_ns[is_known])

    def _count_replies(
        self, replies: "KnownReplies", places: Integers, about: Integers, of_subject: "SubjectPlaces"
    ) -> None:
        """Count replies by the places of the rows of their connections, and by the codes of their subjects."""
        begins = find_begins(places, about, replies.request, replies.latencies_ns)
        counts = np.diff(begins, append=len(places))
        request, times_ns = replies.request[begins], replies.latencies_ns[begins]
        self._connections.count_replies(places[begins], times_ns, counts)
        is_known = request != NO_ROW
        self._messages.count_replies(request[is_known], times_ns[is_known], counts[is_known])
        index, place = of_subject.pairs(about[begins])
        self._subjects.count_replies(place, times_ns[index], counts[index])


class KnownReplies(NamedTuple):
    """Replies to known records: their rows, the places of the rows of the messages that they answer, and latencies.

    NO_ROW is the place where the record that it answers is not a request.
    """

    rows: Integers
    request: Integers
    latencies_ns: Integers


class RecentRequests(NamedTuple):
    """Records that replies may answer: times; of requests also the place of the row of the message, code of subjects.

    Others have NO_ROW, and code 0.
    """

    times_ns: Integers
    message: Integers
    about: Integers
    subjects: Sequence[tuple[Subject, ...]]

    def latest(self) -> "RecentRequests":
        """Return those that later records may answer, and only their subjects."""
        kept = slice(-limits.REQUESTS_OPEN_MAX, None)
        used, codes = distinct(np.append(0, self.about[kept]), len(self.subjects))
        subjects = [self.subjects[code] for code in used.tolist()]
        return RecentRequests(self.times_ns[kept].copy(), self.message[kept].copy(), codes[1:], subjects)


class SubjectPlaces(NamedTuple):
    """The places of the rows of subjects: `places[starts[i] :][: counts[i]]` for those of code i."""

    places: Integers
    starts: Integers
    counts: Integers

    def pairs(self, about: Integers) -> tuple[Integers, Integers]:
        """Return an index in `about`, and the place of a subject with this code: a pair for each subject."""
        counts = self.counts[about]
        return np.repeat(np.arange(len(about)), counts), self.places[items_of(self.starts[about], counts)]


class RecordKind(NamedTuple):
    """Protocol and message of records; without a message for those that are not frames."""

    protocol: str
    message: MessageKey | None


class RecordTable:
    """The records of a batch in the order of their numbers: a row each."""

    COLUMNS = 7

    def __init__(self, batch: Batch, columns: Integers, subjects: Sequence[tuple[Subject, ...]]) -> None:
        """`columns` is memory of COLUMNS x records; `subjects` have codes from before, code 0 is that of none."""
        rows = (group.rows for run in batch.runs for group in run.groups)
        assert batch.count == len(batch.records) + sum(map(len, rows)), "every number is that of a record"
        self.first_n = batch.first_n
        self.times_ns, self._lengths, self.connection, self.kind, self.reply_to, *mentions = columns
        self.reply_to.fill(NO_REPLY)
        self.mentions = Mentions(*mentions)
        for codes in mentions:
            codes.fill(0)
        self.kinds: Codes[RecordKind] = Codes()
        self.mention_codes = MentionCodes(subjects)
        self._ends: list[Sequence[Ends | Record]] = [batch.records, *(run.connections for run in batch.runs)]
        for run in batch.runs:
            self._add(run)
        #: Those that are not frames.
        self.others = [record for record in batch.records if record.kind != "frame"]
        if batch.records:
            self._add_records(batch.records)

    def ends(self) -> Mapping[int, Ends | Record]:
        """Return the client and server of each connection, by its number."""
        return {each.connection: each for ends in self._ends for each in ends}

    def frame_counts(self, begins: Integers) -> FrameCounts:
        """Return the counts of the rows from each of these to the next, which are of one kind."""
        is_server = np.array([each.message is not None and each.message[2] == "server" for each in self.kinds.values])
        return FrameCounts(
            np.diff(begins, append=len(self.times_ns)),
            np.add.reduceat(self._lengths, begins),
            is_server[self.kind[begins]],
            np.minimum.reduceat(self.times_ns, begins),
            np.maximum.reduceat(self.times_ns, begins),
        )

    def _add(self, run: FrameRun) -> None:
        frames, places = run.frames, run.frames.numbers - self.first_n
        connection = run.numbers_of_connections()
        line = _find_line(run, places)
        if line is not None:
            self.times_ns[line], self._lengths[line] = run.times, frames.ends - frames.starts
            self.connection[line] = connection
        for group in run.groups:
            rows = group.rows
            if not len(rows):
                continue
            if line is not None:
                at = rows + line.start
            else:
                at = places[rows]
                self.times_ns[at], self._lengths[at] = run.times[rows], frames.ends[rows] - frames.starts[rows]
                self.connection[at] = connection[rows]
            self.kind[at] = run.code_sides(rows, partial(self._code_kind, run.protocol, group.name))
            self.mentions.subjects[at], self.mentions.key_name[at] = self.mention_codes.of_group(run, group)
            if group.reply_to is not None:
                self.reply_to[at] = group.reply_to

    def _code_kind(self, protocol: str, message: str, side: Side) -> int:
        return self.kinds.of(RecordKind(protocol, (protocol, message, side)))

    def _add_records(self, records: Sequence[Record]) -> None:
        at = _numbers_of(records) - self.first_n
        self.times_ns[at] = [record.time_ns for record in records]
        self._lengths[at] = [record.length for record in records]
        self.connection[at] = [record.connection for record in records]
        self.kind[at] = self.kinds.all_of(map(_kind_of, records))
        frames = [record for record in records if record.kind == "frame"]
        at = _numbers_of(frames) - self.first_n
        self.reply_to[at] = [NO_REPLY if record.reply_to is None else record.reply_to for record in frames]
        self.mentions.subjects[at], self.mentions.key_name[at] = self.mention_codes.of_each(map(mention_of, frames))


def _numbers_of(records: Sequence[Record]) -> Integers:
    return np.array([record.n for record in records], np.int64)


def _kind_of(record: Record) -> RecordKind:
    is_frame = record.kind == "frame"
    return RecordKind(record.protocol, (record.protocol, record.message, record.side) if is_frame else None)


def _find_firsts(codes: Integers, size: int) -> Integers:
    """Return the place of the first of each of the codes below `size`; their number where there is none."""
    firsts = np.full(size, len(codes))
    firsts[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return firsts


def _find_line(run: FrameRun, places: Integers) -> slice | None:
    """Return the places of all frames of a run where they are adjacent."""
    if sum(len(group.rows) for group in run.groups) < len(places):
        return None
    first, stop = int(places[0]), int(places[-1]) + 1
    return slice(first, stop) if stop - first == len(places) else None
