"""What range servers of the newest schema may answer now: by what was appended to them in this run (sbp.md 4.5).

Commits are in order, so what a FETCH finds is a prefix of the appended batches: all that were acknowledged before it
was sent, and of those still under way some.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from wiretool.protocols.sbp.replay.batches import Batch, LiveRange
from wiretool.protocols.sbp.replay.recorded_facts import OK, RangeKey, entries_of, range_of
from wiretool.protocols.sbp.replay.servers import code_of, fields_in
from wiretool.records import Record

SEALED, NOT_FOUND, COMMITTED, PENDING, OVERTAKEN, NO_NEW_RECORD = 1460, 1462, 1464, 1465, 1466, 1204
#: What a FETCH that finds nothing says (facts of the range server).
_FETCH_WORDS = {NO_NEW_RECORD: "No new records to fetch", NOT_FOUND: "Range is not found"}
#: What is said of an entry of an APPEND that is refused.
_APPEND_WORDS = {
    NOT_FOUND: "The specified range is not found",
    SEALED: "The specified range is sealed",
    COMMITTED: "The append request is already committed",
    PENDING: "The append request is on the fly",
    OVERTAKEN: "The append request is out of order",
}
#: What the range server stores in front of each batch and counts against a FETCH's bound (sbp.md 3.4).
STORED_BYTES = 8
#: A reply that found batches: no throttling.
_NOT_THROTTLED = -1
Fields = Mapping[str, Any]


class Asked(NamedTuple):
    """A request, when it was sent, and the batches in it."""

    record: Record
    sent: int
    batches: Sequence[Batch]


class LiveRanges:
    """Follows all frames with range servers, and knows which of their answers are lawful."""

    def __init__(self) -> None:
        self._ranges: dict[tuple[str, RangeKey], LiveRange] = {}
        #: By connection and number, until it is answered.
        self._asked: dict[tuple[int, int], Asked] = {}
        self._lawful: set[tuple[int, int]] = set()
        #: Answers to a FETCH of a range that this run has made, which lack what was appended or have something else.
        self._unlawful: set[tuple[int, int]] = set()
        self._now = 0

    def is_lawful(self, live: Record) -> bool:
        """Return whether a reply to APPEND, FETCH or SEAL_RANGE says what the run so far allows."""
        return (live.connection, live.n) in self._lawful

    def is_unlawful(self, live: Record) -> bool:
        """Return whether a FETCH was answered with other batches than this run has put there."""
        return (live.connection, live.n) in self._unlawful

    def follow(self, record: Record) -> None:
        """Take the next record of the run."""
        if record.kind != "frame" or record.message not in ("APPEND", "FETCH", "SEAL_RANGE", "CREATE_RANGE"):
            return
        self._now += 1
        if record.side == "client":
            self._ask(record)
            return
        asked = self._asked.pop((record.connection, record.reply_to or 0), None)
        if asked is None:
            return
        key = record.connection, record.n
        if self._answer(asked, record):
            self._lawful.add(key)
        elif record.message == "FETCH" and self._range_of(asked) is not None:
            self._unlawful.add(key)

    def _ask(self, record: Record) -> None:
        batches = []
        for entry in entries_of(record) if record.message == "APPEND" else ():
            batches.append(Batch.sent_as(entry, self._now))
            found = self._ranges.get((record.server, range_of(entry["meta"])))
            if found is not None:
                found.add(batches[-1])
        self._asked[record.connection, record.n] = Asked(record, self._now, batches)

    def _range_of(self, asked: Asked) -> LiveRange | None:
        """Return the range that a request names, where this run has made it."""
        wanted = fields_in(asked.record).get("range")
        return self._ranges.get((asked.record.server, range_of(wanted))) if isinstance(wanted, Mapping) else None

    def _answer(self, asked: Asked, reply: Record) -> bool:
        """Take an answer; return whether it is lawful."""
        if asked.record.message == "APPEND":
            return self._append(asked, reply)
        wanted = fields_in(asked.record).get("range")
        if not isinstance(wanted, Mapping):
            return False
        place = asked.record.server, range_of(wanted)
        if asked.record.message == "FETCH":
            return self._fetch(self._ranges.get(place), asked, reply)
        if code_of(reply) != OK:
            return False
        found = self._ranges.setdefault(place, LiveRange(wanted.get("start", -1)))
        return asked.record.message == "SEAL_RANGE" and _seal(found, asked, reply)

    # -- appends -------------------------------------------------------------------------------------------------------

    def _append(self, asked: Asked, reply: Record) -> bool:
        results = fields_in(reply).get("entries") or ()
        is_lawful = code_of(reply) == OK and len(results) == len(asked.batches)
        for batch, result in zip(asked.batches, results, strict=False):
            found = self._ranges.get((asked.record.server, range_of(batch.meta)))
            status = result.get("status") or {}
            code = status.get("code", 0)
            is_lawful = is_lawful and status.get("message") == _APPEND_WORDS.get(code) and _may_say(code, found, batch)
            if found is not None and code == OK:
                found.acknowledge(batch, self._now)
            elif found is not None:
                found.remove(batch)
        return is_lawful

    # -- fetches -------------------------------------------------------------------------------------------------------

    def _fetch(self, found: LiveRange | None, asked: Asked, reply: Record) -> bool:
        said, code = fields_in(reply), code_of(reply)
        entries = entries_of(reply)
        if (said.get("status") or {}).get("message") != _FETCH_WORDS.get(code):
            return False
        if code != OK:
            is_plain = not entries and not said.get("throttle_time_ms") and said.get("object_metadata_list") is None
            if found is None:
                return is_plain and code == NOT_FOUND
            return is_plain and code == NO_NEW_RECORD and not next(_choices(found, asked, entries))
        if found is None or said.get("throttle_time_ms") != _NOT_THROTTLED or said.get("object_metadata_list") != []:
            return False
        return any(_is_same(chosen, entries) for chosen in _choices(found, asked, entries))


def _may_say(code: int, found: LiveRange | None, batch: Batch) -> bool:
    """Return whether an entry of an APPEND may be answered with a code, by what else was sent to the range."""
    if found is None:
        return code == NOT_FOUND
    committed = found.certain_end(batch.sent)
    if code == OK:
        return not found.is_sealed and batch.base >= committed and found.has_end(batch.base, without=batch)
    if code in (COMMITTED, PENDING):
        return batch.base < found.end(without=batch) and (code == COMMITTED or batch.base >= committed)
    return (code == SEALED and found.is_sealed) or (code == OVERTAKEN and batch.base > committed)


def _seal(found: LiveRange, asked: Asked, reply: Record) -> bool:
    """Seal a range; return whether it ends where it may."""
    found.is_sealed = True
    end = (fields_in(reply).get("range") or {}).get("end", -1)
    return bool(found.certain_end(asked.sent) <= end <= found.end()) and found.has_end(end)


def _choices(found: LiveRange, asked: Asked, entries: Sequence[Fields]) -> Iterator[list[Batch]]:
    """Yield what a FETCH may find: if no batch under way was durable by then, all up to the last one told, or all."""
    certain, line = found.certain_count(asked.sent), found.line()
    last = entries[-1]["meta"]["base_offset"] if entries else -1
    told = bisect_right(line, last, key=attrgetter("base"))
    for count in sorted({certain, max(certain, told), len(line)}):
        yield _chosen(line, count, fields_in(asked.record))


def _chosen(line: Sequence[Batch], count: int, wanted: Fields) -> list[Batch]:
    """Return what a FETCH finds of the first `count` batches: its bound on bytes is `max_wait_ms` (sbp.md 4.5)."""
    offset, limit, most = wanted.get("offset", 0), wanted.get("limit", 0), wanted.get("max_wait_ms", 0)
    if not count or not 0 <= offset <= line[count - 1].base or not most:
        return []
    found: list[Batch] = []
    size = 0
    for at in range(bisect_right(line, offset, key=attrgetter("end")), count):
        batch = line[at]
        if (0 <= limit <= batch.base) or (0 < most <= size):
            break
        found.append(batch)
        size += batch.length + STORED_BYTES
    return found


def _is_same(chosen: Sequence[Batch], entries: Sequence[Fields]) -> bool:
    told = [(entry["meta"], entry["payload"]) for entry in entries]
    return bool(told) and told == [(batch.meta, batch.payload) for batch in chosen]
