"""The table of exchanges: a row for each request that was answered, with its first answer; and for those never were."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from wiretool.analysis.exchanges import NONE, Exchanged, Exchanging, Open
from wiretool.batches.batch import Batch
from wiretool.codec.columns import Integers
from wiretool.sinks.arrow.arrays import coded_of, numbers_of
from wiretool.sinks.arrow.frames import utf8
from wiretool.sinks.arrow.leaves import CODED

_TIME = pa.timestamp("us")
#: As they are gathered. `n` is the request's, which names the row; `time` when it was captured. Without an answer
#: `reply_n`, `latency_ns`, `reply` and `reply_bytes` are null. `request_bytes` are those of the request's frame, of an
#: append those that it stores. `subject` is the first segment, stream or road that the request names, or its answer;
#: `events` how many an append has, where that is known; `error` what the answer says went wrong, in the protocol's own
#: word, null where it says nothing of the kind; `side` who asked.
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("connection", pa.int64()),
        ("client", CODED),
        ("server", CODED),
        ("side", CODED),
        ("protocol", CODED),
        ("time", _TIME),
        ("time_ns", pa.int64()),
        ("request", CODED),
        ("reply", CODED),
        ("reply_n", pa.int64()),
        ("latency_ns", pa.int64()),
        ("subject_kind", CODED),
        ("subject", CODED),
        ("writer", CODED),
        ("request_bytes", pa.int64()),
        ("reply_bytes", pa.int64()),
        ("events", pa.int64()),
        ("error", CODED),
    ]
)


class ExchangeTables:
    """Makes the tables of batch after batch: an answer may come in a later one than its request.

    However the batches are cut, the rows are the same: those with answers in the order of these, the others where it
    is sure that none can come, or at the end. Where a request has several answers (parts of a response of SBP, of a
    read of the draft, interim responses of HTTP), the row tells of the first. An answer that acknowledges earlier
    requests of its writer as well is in the row of each.
    """

    def __init__(self) -> None:
        self._exchanging = Exchanging()

    def table(self, batch: Batch) -> pa.Table | None:
        """The exchanges that a batch ends; None where there are none."""
        return _table(self._exchanging.take(batch))

    def forget(self, *connections: int) -> pa.Table | None:
        """The requests on connections that are over, of which no answer was seen; nothing more is kept of them."""
        return _table(self._exchanging.forget(connections))

    def give(self, connections: Collection[int]) -> Open:
        """What is known of these connections, for other tables to `take`; it is kept here no longer."""
        return self._exchanging.give(connections)

    def take(self, kept: Open) -> None:
        """Go on with connections that nothing is known of here."""
        self._exchanging.take_over(kept)

    def end(self) -> pa.Table | None:
        """The requests of which no answer was seen, when no more batches come."""
        return _table(self._exchanging.end())


def _table(told: Exchanged) -> pa.Table | None:
    if not len(told):
        return None
    asked = told.requests
    columns: Mapping[str, pa.Array] = {
        "n": numbers_of(asked.n),
        "connection": numbers_of(asked.connection),
        **{name: _words(told.sources, name, asked.source) for name in ("client", "server", "side", "protocol")},
        "time": pa.array(asked.time_ns // 1000).view(_TIME),
        "time_ns": numbers_of(asked.time_ns),
        "request": _words(told.sources, "message", asked.source),
        "reply": _words(told.sources, "message", told.reply_source),
        "reply_n": _known(told.reply_n),
        "latency_ns": _known(told.latency_ns),
        "subject_kind": _words(told.subjects, "kind", told.subject),
        "subject": _words(told.subjects, "name", told.subject),
        "writer": _words(told.writers, "", asked.writer),
        "request_bytes": numbers_of(asked.size),
        "reply_bytes": _known(told.reply_size),
        "events": _known(asked.events),
        "error": _words(told.failures, "", told.failure),
    }
    return pa.Table.from_arrays([columns[field.name] for field in SCHEMA], schema=SCHEMA)


def _known(values: Integers) -> pa.Array:
    is_known = values != NONE
    return numbers_of(values, None if is_known.all() else is_known)


def _words(values: Sequence[Any], name: str, codes: Integers) -> pa.Array:
    """The text of that name in what each code stands for, or that itself; null for NONE and where it is nothing."""
    used, of_row = np.unique(codes, return_inverse=True)
    known = [None if code == NONE else values[code] for code in used.tolist()]
    texts = [None if each is None else getattr(each, name) if name else each for each in known]
    words: dict[str | None, int] = {}
    table = np.array([NONE if text is None else words.setdefault(utf8(text), len(words)) for text in texts], np.int64)
    return coded_of(table[of_row], list(words))
