"""Exchanges: requests and the first answer to each, put together over many frames at once.

Show it every batch in order. A request is held against `limits.REQUESTS_OPEN_MAX` records of its numbering: what
answers it later does so unseen. Where an answer stands for earlier requests too (an ack is for every append of the
writer up to its number) it is the answer of each of them. What answers again, as further parts of one answer do, adds
nothing. However the batches are cut, the exchanges are the same.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wiretool import limits
from wiretool.analysis.exchange_rows import ASKS, NOT_ASKING, FrameRows, Source, exchanges_of
from wiretool.analysis.subjects import Key, Subject, Subjects
from wiretool.analysis.subjects_bulk import Codes, Mentions, follow_mentions
from wiretool.batches.batch import Batch
from wiretool.codec.columns import Flags, Integers
from wiretool.protocols.base.columns import NO_REPLY

T = TypeVar("T", bound=Hashable)
#: In columns of answers: there was none.
NONE = -1
#: Numbers of records are smaller than this.
_N_MAX = 1 << 40


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests in the order of connection and number; `source`, `subject` and `writer` are codes."""

    connection: Integers
    n: Integers
    time_ns: Integers
    size: Integers
    source: Integers
    subject: Integers
    writer: Integers
    events: Integers
    role: Integers

    def __len__(self) -> int:
        return len(self.n)

    def take(self, rows: Integers | Flags) -> "Requests":
        """Some of them."""
        return Requests(*(getattr(self, each.name)[rows] for each in fields(self)))

    def and_those(self, others: "Requests") -> "Requests":
        """These and others, in order."""
        if not len(self) or not len(others):
            return self if len(self) else others
        every = self.before(others)
        return every.take(np.lexsort((every.n, every.connection)))

    def before(self, others: "Requests") -> "Requests":
        """These, and others behind them."""
        return Requests(
            *(np.concatenate((getattr(self, each.name), getattr(others, each.name))) for each in fields(self))
        )


NO_REQUESTS = Requests(*(np.zeros(0, np.int64) for _ in fields(Requests)))


@dataclass(frozen=True, slots=True)
class Exchanged:
    """Requests with their answers, a row each, NONE for what is not there; what codes stand for is beside them."""

    requests: Requests
    reply_n: Integers
    latency_ns: Integers
    reply_source: Integers
    reply_size: Integers
    subject: Integers
    failure: Integers
    sources: Sequence[Source]
    subjects: Sequence[Subject | None]
    writers: Sequence[str | None]
    failures: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.requests)


class Open(NamedTuple):
    """What is to be known of connections for their next batch: open requests, what their codes stand for, subjects."""

    about: Mapping[Key, tuple[Subject, ...]]
    requests: Requests | None = None
    sources: Sequence[Source] = ()
    subjects: Sequence[Subject | None] = ()
    writers: Sequence[str | None] = ()

    def shifted(self, by: int) -> "Open":
        """The same where each record has a number that is larger by so much."""
        if self.requests is None:
            return self
        return self._replace(requests=replace(self.requests, n=self.requests.n + by))


class Exchanging:
    """Puts requests and answers together."""

    def __init__(self) -> None:
        self._about = Subjects()
        self._open = NO_REQUESTS
        self._sources: Codes[Source] = Codes()
        self._subjects: Codes[Subject | None] = Codes([None])
        self._writers: Codes[str | None] = Codes([None])

    # -- what comes out ------------------------------------------------------------------------------------------------

    def take(self, batch: Batch) -> Exchanged:
        """The exchanges that a batch ends, in the order of their answers; behind them those that none can end now."""
        failures: Codes[str | None] = Codes([None])
        rows = FrameRows(batch, self._sources, failures)
        columns = rows.columns()
        if not columns:
            return self._unanswered(NO_REQUESTS, failures)
        subject, writer = self._meanings(columns, rows)
        requests = self._open.and_those(_requests(columns, subject, writer))
        answer = self._answers(requests, columns)
        count = len(columns["n"])
        is_over = (answer == count) & _is_too_old(requests, columns)
        found = self._answered(requests, answer, columns, subject, failures)
        late = requests.take(is_over & (requests.role == ASKS))
        self._open = requests.take((answer == count) & ~is_over)
        told = _joined(found, self._unanswered(late, failures))
        self._compact()
        return told

    def forget(self, connections: Collection[int]) -> Exchanged:
        """The requests on connections that are over, of which no answer was seen."""
        self._about.forget(frozenset(connections))
        mine = np.isin(self._open.connection, list(connections))
        over, self._open = self._open.take(mine), self._open.take(~mine)
        return self._unanswered(over.take(over.role == ASKS), Codes([None]))

    def give(self, connections: Collection[int]) -> Open:
        """What is known of these connections; nothing of it is kept here."""
        about = self._about.give(connections)
        mine = np.isin(self._open.connection, list(connections))
        if not mine.any():
            return Open(about)
        requests, self._open = self._open.take(mine), self._open.take(~mine)
        return Open(about, *self._recoded(requests))

    def take_over(self, kept: Open) -> None:
        """Go on with connections that were given elsewhere, and that nothing is known of here."""
        self._about.known.update(kept.about)
        if kept.requests is not None:
            requests = replace(
                kept.requests,
                source=self._sources.all_of(kept.sources)[kept.requests.source],
                subject=self._subjects.all_of(kept.subjects)[kept.requests.subject],
                writer=self._writers.all_of(kept.writers)[kept.requests.writer],
            )
            self._open = self._open.and_those(requests)

    def end(self) -> Exchanged:
        """The requests of which no answer was seen, when no more batches come."""
        over, self._open, self._about = self._open, NO_REQUESTS, Subjects()
        return self._unanswered(over.take(over.role == ASKS), Codes([None]))

    def _answered(
        self,
        requests: Requests,
        answer: Integers,
        columns: Mapping[str, Integers],
        subject: Integers,
        failures: Codes[str | None],
    ) -> Exchanged:
        asked = np.flatnonzero(answer < len(columns["n"]))
        order = np.lexsort((requests.n[asked], requests.connection[asked], columns["n"][answer[asked]]))
        asked = asked[order]
        mine, by = requests.take(asked), answer[asked]
        return Exchanged(
            requests=mine,
            reply_n=columns["n"][by],
            latency_ns=np.maximum(columns["time_ns"][by] - mine.time_ns, 0),
            reply_source=columns["source"][by],
            reply_size=columns["size"][by],
            subject=np.where(mine.subject > 0, mine.subject, subject[by]),
            failure=columns["failure"][by],
            **self._values(failures),
        )

    def _unanswered(self, requests: Requests, failures: Codes[str | None]) -> Exchanged:
        none = np.full(len(requests), NONE)
        return Exchanged(
            requests, none, none, none, none, requests.subject, np.zeros_like(none), **self._values(failures)
        )

    def _values(self, failures: Codes[str | None]) -> dict[str, Any]:
        return {
            "sources": self._sources.values,
            "subjects": self._subjects.values,
            "writers": self._writers.values,
            "failures": failures.values,
        }

    # -- what frames are about -----------------------------------------------------------------------------------------

    def _meanings(self, columns: Mapping[str, Integers], rows: FrameRows) -> tuple[Integers, Integers]:
        """The codes of the first subject and of the writer of each frame."""
        mentions = Mentions(columns["subjects"], columns["key_name"])
        codes = follow_mentions(columns["connection"], mentions, rows.mention_codes, self._about)
        first = self._subjects.all_of(each[0] if each else None for each in rows.mention_codes.subjects.values)
        writer = self._writers.all_of(name or None for name in rows.mention_codes.key_names.values)
        return first[codes], writer[mentions.key_name]

    # -- answers -------------------------------------------------------------------------------------------------------

    def _answers(self, requests: Requests, columns: Mapping[str, Integers]) -> Integers:
        """The row of the first answer to each request, as many as there are rows where none is there."""
        count = len(columns["n"])
        answer = np.full(len(requests), count)
        replies = np.flatnonzero(columns["reply"] != NO_REPLY)
        if not len(requests) or not len(replies):
            return answer
        connections, place = np.unique(requests.connection, return_inverse=True)
        at = np.minimum(np.searchsorted(connections, columns["connection"][replies]), len(connections) - 1)
        is_known = connections[at] == columns["connection"][replies]
        keys, wanted = place * _N_MAX + requests.n, at * _N_MAX + columns["reply"][replies]
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        age = columns["n"][replies] - columns["reply"][replies]
        is_known &= (keys[found] == wanted) & (age < limits.REQUESTS_OPEN_MAX)
        asked, first = np.unique(found[is_known], return_index=True)
        answer[asked] = replies[is_known][first]
        self._settle(requests, place, answer, columns)
        return answer

    def _settle(self, requests: Requests, place: Integers, answer: Integers, columns: Mapping[str, Integers]) -> None:
        """Let answers that stand for earlier requests of the same writer be theirs too, where none came before it."""
        count = len(columns["n"])
        is_settled, settles = self._settling()
        mine = np.flatnonzero(is_settled[requests.source] & (requests.writer > 0))
        by = answer[mine]
        source = np.append(columns["source"], 0)[by]
        by = np.where((by < count) & settles[source], by, count)
        if (by == count).all():
            return
        writer = place[mine] * len(self._writers) + requests.writer[mine]
        order = np.argsort(writer, kind="stable")
        mine, by, writer = mine[order], by[order], writer[order]
        # The first of the answers from a request on: each writer's are above those of the one before.
        level = np.cumsum(np.diff(writer, prepend=writer[:1]) != 0) * (count + 1)
        first = np.minimum.accumulate((by + level)[::-1])[::-1] - level
        age = np.append(columns["n"], 0)[first] - requests.n[mine]
        first = np.where(age < limits.REQUESTS_OPEN_MAX, first, count)
        answer[mine] = np.minimum(answer[mine], first)

    def _settling(self) -> tuple[Flags, Flags]:
        """By the code of their source: requests that an answer to a later one settles, and such answers."""
        found = [_settling_of(source.protocol, source.message) for source in self._sources.values]
        settled, settles = np.array(found, np.bool_).reshape(-1, 2).T
        return settled, settles

    # -- memory --------------------------------------------------------------------------------------------------------

    def _compact(self) -> None:
        """Forget what no open request needs."""
        most = 1_024 + 2 * len(self._open)
        if max(len(self._sources), len(self._subjects), len(self._writers)) <= most:
            return
        self._open, sources, subjects, writers = self._recoded(self._open)
        self._sources, self._subjects, self._writers = Codes(sources), Codes(subjects), Codes(writers)

    def _recoded(
        self, requests: Requests
    ) -> tuple[Requests, Sequence[Source], Sequence[Subject | None], Sequence[str | None]]:
        """Requests with codes of their own, and what these stand for."""
        sources: Codes[Source] = Codes()
        subjects: Codes[Subject | None] = Codes([None])
        writers: Codes[str | None] = Codes([None])
        coded = replace(
            requests,
            source=_used(self._sources, sources, requests.source),
            subject=_used(self._subjects, subjects, requests.subject),
            writer=_used(self._writers, writers, requests.writer),
        )
        return coded, sources.values, subjects.values, writers.values


@cache
def _settling_of(protocol: str, message: str) -> tuple[bool, bool]:
    """Whether an answer to a later request settles a message, and whether it is such an answer."""
    settles = exchanges_of(protocol).settles
    return any(message in names for names in settles.values()), message in settles


def _used(known: Codes[T], fresh: Codes[T], codes: Integers) -> Integers:
    """The codes that `fresh` gives what these stand for."""
    values = known.values
    used, of_row = np.unique(codes, return_inverse=True)
    return fresh.all_of(values[code] for code in used.tolist())[of_row]


def _requests(columns: Mapping[str, Integers], subject: Integers, writer: Integers) -> Requests:
    """The frames that may be answered."""
    rows = np.flatnonzero((columns["role"] != NOT_ASKING) & (columns["reply"] == NO_REPLY))
    known = {"subject": subject, "writer": writer}
    return Requests(*((known.get(each.name, columns.get(each.name, columns["n"])))[rows] for each in fields(Requests)))


def _is_too_old(requests: Requests, columns: Mapping[str, Integers]) -> Flags:
    """Which of the requests no later record of their connection can answer."""
    connection = columns["connection"]
    last = np.flatnonzero(np.append(connection[1:] != connection[:-1], True))
    at = np.minimum(np.searchsorted(connection[last], requests.connection), len(last) - 1)
    age = columns["n"][last][at] - requests.n
    is_over: Flags = (connection[last][at] == requests.connection) & (age >= limits.REQUESTS_OPEN_MAX - 1)
    return is_over


def _joined(one: Exchanged, other: Exchanged) -> Exchanged:
    """The rows of both, which have the same codes."""
    if not len(other):
        return one
    names = ("reply_n", "latency_ns", "reply_source", "reply_size", "subject", "failure")
    columns: dict[str, Any] = {name: np.concatenate((getattr(one, name), getattr(other, name))) for name in names}
    return replace(one, requests=one.requests.before(other.requests), **columns)
