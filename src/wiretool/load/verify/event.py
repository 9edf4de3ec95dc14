"""What one stored event is: whole and in its place, changed, or somebody else's."""

import zlib
from collections.abc import Iterable, Mapping

from wiretool.codec.event_trailer import DIGEST_BYTES, MARK_BYTES, Mark, digest_from, mark_of, read_mark
from wiretool.load.events import Filler
from wiretool.load.verify.findings import Finding, Findings, Kind
from wiretool.load.verify.sequence import Arrived, Order

#: Bytes of the body by which an event with a damaged mark is told from somebody else's.
LIKENESS_BYTES = 64
#: Damaged events that are kept until all writers are known, as it is not known whose they are; and their bytes.
RIDDLES_MAX = 100
RIDDLES_BYTES_MAX = 1024 * 1024
#: Bytes shown as evidence.
SHOWN_BYTES = 8


def is_good(event: bytes) -> bool:
    """Whether an event's digest is right."""
    return len(event) >= MARK_BYTES and zlib.crc32(event[:-DIGEST_BYTES]) == read_mark(event, len(event)).digest


class Judge:
    """Judges the events of one segment, in their order, and keeps what it found."""

    def __init__(self, findings: Findings, tag: int, filler: Filler, arrived: Arrived | None = None) -> None:
        self._findings = findings
        self._filler = filler
        self.tag = tag.to_bytes(4, "big")
        self.order = Order(findings, arrived)
        #: Damaged events of which it is not known which they are, and how many bytes more may be kept.
        self._riddles: list[tuple[Finding, bytes]] = []
        self._room = RIDDLES_BYTES_MAX
        #: Events of this run that are as they were written, and events of others.
        self.checked = 0
        self.foreign = 0

    def is_ours(self, event: bytes) -> bool:
        """Whether an event's mark names a writer of this run."""
        return len(event) >= MARK_BYTES and event.startswith(self.tag, len(event) - MARK_BYTES)

    def take(self, event: bytes, offset: int) -> bool:
        """Whether an event's digest is right. Then it takes its place, at that byte of the segment."""
        size = len(event)
        if size < MARK_BYTES:
            return False
        writer, number, digest = read_mark(event, size)
        if zlib.crc32(memoryview(event)[:-DIGEST_BYTES]) != digest:
            return False
        if event.startswith(self.tag, size - MARK_BYTES):
            self.checked += 1
            self.order.place(writer, number, offset)
        else:
            self.foreign += 1
        return True

    def take_damaged(self, event: bytes, offset: int) -> None:
        """An event whose digest is wrong. One of ours takes its place all the same: it is one finding, not two."""
        if not self.is_ours(event) and not self._is_like_ours(event):
            self.foreign += 1
            return
        mark = read_mark(event, len(event))
        finding = Finding(Kind.CHANGED, offset, _riddle(event, mark))
        self._findings.add(finding)
        meant = _fitting(event, mark, [(mark.writer, self.order.expected(mark.writer))])
        if meant is None and mark.writer in self.order and self.order.is_missing(mark.writer, mark.number):
            meant = mark.writer, mark.number
        if meant is not None:
            self._name(finding, event, *meant)
            self.order.place(*meant, offset)
        elif self._room >= len(event) and len(self._riddles) < RIDDLES_MAX:
            self._room -= len(event)
            self._riddles.append((finding, event))

    def end(self, acknowledged: Mapping[int, int], sent: Mapping[int, int], length: int) -> None:
        """Nothing comes any more; see `Order.settle`. Now that all writers are known, riddles may be solved."""
        known = sorted({*acknowledged, *sent})
        for finding, event in self._riddles:
            mark = read_mark(event, len(event))
            lacking = (writer for writer in known if self.order.is_missing(writer, mark.number))
            meant = _fitting(event, mark, ((writer, mark.number) for writer in lacking))
            if meant is None and mark.writer in known and self.order.is_missing(mark.writer, mark.number):
                meant = mark.writer, mark.number
            if meant is not None:
                self._name(finding, event, *meant)
                self.order.repair(*meant)
        self.order.settle(acknowledged, sent, length)

    def pass_by(self, data: bytes, start: int, stop: int, offset: int) -> None:
        """Bytes that are no events; those that have left a mark there take their place. `offset` is that of `start`."""
        hit = data.find(self.tag, start, stop)
        while 0 <= hit <= stop - MARK_BYTES:
            mark = read_mark(data, hit + MARK_BYTES)
            if mark.number == self.order.expected(mark.writer):
                self.order.place(mark.writer, mark.number, offset + hit - start)
            hit = data.find(self.tag, hit + 1, stop)

    def _is_like_ours(self, event: bytes) -> bool:
        """Whether half of the beginning of the body is as we write it."""
        begin = event[: max(min(len(event) - MARK_BYTES, LIKENESS_BYTES), 0)]
        same = sum(one == other for one, other in zip(begin, self._filler.body(len(begin)), strict=True))
        return bool(begin) and 2 * same >= len(begin)

    def _name(self, finding: Finding, event: bytes, writer: int, number: int) -> None:
        """It is known which event the finding is about."""
        finding.words = self._change(event, writer, number)
        finding.writer, finding.first, finding.last = writer, number, number

    def _change(self, event: bytes, writer: int, number: int) -> str:
        """How an event differs from what was written."""
        written = self._filler.event(len(event), writer, number)
        at = next(at for at, (one, other) in enumerate(zip(event, written, strict=True)) if one != other)
        there, was = event[at : at + SHOWN_BYTES].hex(" "), written[at : at + SHOWN_BYTES].hex(" ")
        return f"{{events}}: from byte {at:,} of its {len(event):,} on {there} is there, {was} was written"


def _fitting(event: bytes, mark: Mark, candidates: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
    """The first writer and number that make an event's digest right: its mark is what was damaged."""
    body_digest = zlib.crc32(event[:-MARK_BYTES])
    for writer, number in candidates:
        whole = mark_of(digest_from(body_digest, writer), writer, number)
        if read_mark(whole, MARK_BYTES).digest == mark.digest:
            return writer, number
    return None


def _riddle(event: bytes, mark: Mark) -> str:
    """What is known of an event when it is not known which."""
    gives = zlib.crc32(event[:-DIGEST_BYTES])
    return (
        f"an event of {len(event):,} bytes, by its mark number {mark.number:,} of writer {mark.writer:016x}: "
        f"its digest is {mark.digest:08x}, its bytes give {gives:08x}"
    )
