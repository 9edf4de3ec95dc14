"""The appends of one connection to a segment store: their bytes, and the acknowledgements that they wait for."""

from collections import OrderedDict
from typing import NamedTuple

from wiretool.consistency.appended import AppendedBytes
from wiretool.consistency.event_numbers import EventNumbers
from wiretool.consistency.segment_log import digest_of, split_events
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.appends import EVENT_HEAD, HEADER_BYTES, Appends, event_frame
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    ConditionalAppend,
    ConditionalBlockEnd,
)
from wiretool.records import Record

AppendEnd = AppendBlockEnd | ConditionalAppend | ConditionalBlockEnd


class SentAppend(NamedTuple):
    """An append, its segment, and the events in it that were not sent before with the same number."""

    segment: str
    writer_id: str
    append: AppendedBytes
    copies: list[bytes]


def event_end(data: bytes | bytearray, at: int) -> int:
    """Return where the EVENT frame ends that begins at an offset: 0 for a part of one, -1 for anything else."""
    head = data[at : at + len(EVENT_HEAD)]
    if head != EVENT_HEAD[: len(head)]:
        return -1
    if at + HEADER_BYTES > len(data):
        return 0
    end = at + HEADER_BYTES + int.from_bytes(data[at + len(EVENT_HEAD) : at + HEADER_BYTES], "big")
    return end if end <= len(data) else 0


class ConnectionWriters:
    """The writers of one connection."""

    def __init__(self) -> None:
        self._appends = Appends(is_whole=True)
        #: Appends without an acknowledgement, by writer and event number.
        self._waiting: dict[str, OrderedDict[int, SentAppend]] = {}

    def forget_waiting(self) -> None:
        """Replies are missing: appends may be refused."""
        self._waiting.clear()

    def begin(self, block: AppendBlock) -> None:
        """Keep a block until its end."""
        self._bind(block.writer_id)
        self._appends.begin(block)

    def finish(self, record: Record, numbers: EventNumbers) -> SentAppend | None:
        """Return the append that a record completes; None where a part of it is missing. Its numbers are added."""
        message = record.fields
        assert isinstance(message, AppendEnd)
        data = self._data_of(message)
        form = record.append
        if data is None or form is None or form["segment"] is None or form["length"] != len(data):
            return None
        segment, writer_id, number, count = (
            form["segment"],
            form["writer_id"],
            form["event_number"],
            form["event_count"],
        )
        events = split_events(data, event_end)
        append = AppendedBytes(n=record.n, data=data, events=count, digests=[digest_of(event) for event in events])
        waiting = self._waiting.setdefault(writer_id, OrderedDict())
        if number in waiting:
            # The store takes a number that comes again on one connection for a further append, and sends no reply.
            return SentAppend(segment, writer_id, append, append.digests)
        copies = append.digests
        if len(copies) == count:
            copies = numbers.add(segment, writer_id, range(number - count + 1, number + 1), copies)
        waiting[number] = sent = SentAppend(segment, writer_id, append, copies)
        return sent

    def acknowledge(self, writer_id: str, number: int) -> list[SentAppend]:
        """Return the appends that an acknowledgement of a number covers, in order; they wait no longer."""
        waiting = self._waiting.get(writer_id, OrderedDict())
        return [waiting.pop(each) for each in [each for each in waiting if each <= number]]

    def set_up(self, writer_id: str, n: int | None) -> None:
        """A writer was set up, as record `n` asked: its appends before that are stored, or will be sent again."""
        waiting = self._waiting.get(writer_id, OrderedDict())
        for each in [each for each, sent in waiting.items() if n is None or sent.append.n < n]:
            del waiting[each]

    def refuse(self, n: int | None) -> None:
        """The store refused the append of record `n`, and with it all of that writer after it."""
        for waiting in self._waiting.values():
            number = next((number for number, sent in waiting.items() if sent.append.n == n), None)
            for each in [each for each in waiting if number is not None and each >= number]:
                del waiting[each]

    def refuse_one(self, writer_id: str, number: int) -> None:
        """The store refused a conditional append."""
        self._waiting.get(writer_id, OrderedDict()).pop(number, None)

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
