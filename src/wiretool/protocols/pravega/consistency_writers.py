"""The appends of one connection to a segment store: their bytes, and the acknowledgements that they wait for."""

from collections import OrderedDict
from typing import NamedTuple

from wiretool.consistency.appended import AppendedBytes
from wiretool.consistency.segment_log import digest_of, split_events
from wiretool.consistency.stored_levels import StoredLevels
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.appends import EVENT_HEAD, Appends, event_extent, event_frame
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    ConditionalAppend,
    ConditionalBlockEnd,
)
from wiretool.records import Record

AppendEnd = AppendBlockEnd | ConditionalAppend | ConditionalBlockEnd


class SentAppend(NamedTuple):
    """An append, its segment, and the events of it that a sound store may put there."""

    segment: str
    append: AppendedBytes
    copies: list[bytes]


def event_end(data: bytes | bytearray, at: int) -> int:
    """Return where the EVENT frame ends that begins at an offset: 0 for a part of one, -1 for anything else."""
    head = data[at : at + len(EVENT_HEAD)]
    if head != EVENT_HEAD[: len(head)]:
        return -1
    size = event_extent(data, at, len(data))
    return at + size if 0 < size <= len(data) - at else 0


class ConnectionWriters:
    """The writers of one connection."""

    def __init__(self) -> None:
        self._appends = Appends(is_whole=True)
        #: Appends without an acknowledgement, by writer and event number.
        self._waiting: dict[str, OrderedDict[int, SentAppend]] = {}
        #: The last number of each writer, by its appends and its AppendSetup.
        self._last: dict[str, int] = {}

    def forget_waiting(self) -> None:
        """Replies are missing: appends may be refused."""
        self._waiting.clear()

    def begin(self, block: AppendBlock) -> None:
        """Keep a block until its end."""
        self._bind(block.writer_id)
        self._appends.begin(block)

    def finish(self, record: Record, stored: StoredLevels) -> SentAppend | None:
        """Return the append that a record completes; None where a part of it is missing.

        The store takes a number that it has as the last one, where it comes again on a connection, for a further
        append, and sends no reply (§3.7). Lower numbers it never stores again.
        """
        message = record.fields
        assert isinstance(message, AppendEnd)
        data = self._data_of(message)
        form = record.append
        if data is None or form is None or form["segment"] is None or form["length"] != len(data):
            return None
        segment, writer_id, number = form["segment"], form["writer_id"], form["event_number"]
        digests = [digest_of(event) for event in split_events(data, event_end)]
        append = AppendedBytes(n=record.n, data=data, events=form["event_count"], digests=digests)
        last, self._last[writer_id] = self._last.get(writer_id), number
        if number == last:
            return SentAppend(segment, append, digests)
        sent = SentAppend(segment, append, [] if stored.has(segment, writer_id, number) else digests)
        self._waiting.setdefault(writer_id, OrderedDict())[number] = sent
        return sent

    def acknowledge(self, writer_id: str, number: int, last: int | None = None) -> list[SentAppend]:
        """Return the appends that an acknowledgement of a number covers, in order; they wait no longer.

        `last` is the record of the append with that number: what was sent after it is not covered.
        """
        waiting = self._waiting.get(writer_id, OrderedDict())
        covered = [each for each, sent in waiting.items() if each <= number and (last is None or sent.append.n <= last)]
        return [waiting.pop(each) for each in covered]

    def set_up(self, writer_id: str, last: int, n: int | None) -> None:
        """A writer was set up, as record `n` asked: its appends before that are stored, or will be sent again."""
        waiting = self._waiting.get(writer_id, OrderedDict())
        if n is None or all(sent.append.n < n for sent in waiting.values()):
            self._last[writer_id] = last
        for each in [each for each, sent in waiting.items() if n is None or sent.append.n < n]:
            del waiting[each]

    def drop_repeated(self, writer_id: str, last: int, n: int | None) -> list[SentAppend]:
        """Return the appends after the set-up `n` with numbers that the store has; they wait no longer."""
        waiting = self._waiting.get(writer_id, OrderedDict())
        repeated = [each for each, sent in waiting.items() if each <= last and n is not None and sent.append.n > n]
        return [waiting.pop(each) for each in repeated]

    def refuse(self, n: int | None) -> None:
        """The store refused the append of record `n`, and with it all of that writer after it."""
        for waiting in self._waiting.values():
            number = next((number for number, sent in waiting.items() if sent.append.n == n), None)
            for each in [each for each in waiting if number is not None and each >= number]:
                del waiting[each]

    def refuse_one(self, writer_id: str, number: int) -> None:
        """The store refused a conditional append."""
        self._waiting.get(writer_id, OrderedDict()).pop(number, None)

    def waiting_after(self, writer_id: str, segment: str, number: int) -> list[SentAppend]:
        """Return the appends of a writer to a segment, with higher numbers, that have no acknowledgement."""
        waiting = self._waiting.get(writer_id, OrderedDict())
        return [sent for each, sent in waiting.items() if each > number and sent.segment == segment]

    def has_waiting(self, writer_id: str, segment: str, number: int) -> bool:
        """Return whether the append with that number is the writer's to a segment, and has no acknowledgement."""
        sent = self._waiting.get(writer_id, OrderedDict()).get(number)
        return sent is not None and sent.segment == segment

    def _data_of(self, message: AppendEnd) -> bytes | None:
        """Return the bytes that a message appends; None where they are not known."""
        if isinstance(message, ConditionalAppend):
            return event_frame(message.event.data)
        if isinstance(message, ConditionalBlockEnd):
            return message.data
        self._bind(message.writer_id)
        try:
            return self._appends.finish(message)[1]
        except ProtocolViolation:
            return None

    def _bind(self, writer_id: str) -> None:
        """Take any writer, at any number: the conversation has checked both."""
        self._appends.bind(writer_id, "")
