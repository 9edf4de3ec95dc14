"""Segments as writers of a run would fill them, and what may happen to them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from wiretool.load.events import Filler, Head, Maker, writer_of
from wiretool.load.following import Piece, Reads
from wiretool.load.verify.findings import Outcome
from wiretool.load.verify.stored_events import Checker

RUN = "run-1"
HEAD = Head(bytes(4))
FILLER = Filler(7)
#: Who wrote an event, and its number.
Event = tuple[int, int]


def writer(index: int) -> int:
    """A writer of the run; odd ones are in another process."""
    return writer_of(RUN, index % 2, index // 2)


def stored(event: Event, size: int = 60, *, head: Head = HEAD) -> bytes:
    """An event as it is stored."""
    return Maker(writer(event[0]), head=head, filler=FILLER).batch([size], event[1])


def segment_of(events: Iterable[Event], size: int = 60) -> bytes:
    """Events one after the other."""
    return b"".join(stored(event, size) for event in events)


def numbers(*given: int) -> list[Event]:
    """Events of one writer."""
    return [(0, number) for number in given]


def last_of(events: Iterable[Event]) -> dict[int, int]:
    """The last number by writer."""
    last: dict[int, int] = {}
    for index, number in events:
        last[writer(index)] = max(number, last.get(writer(index), 0))
    return last


def checked(
    data: bytes,
    acknowledged: Mapping[int, int],
    sent: Mapping[int, int] | None = None,
    *,
    cuts: Sequence[int] = (),
    is_bulk: bool = True,
    head: Head = HEAD,
) -> Outcome:
    """What comes of a segment that is fed in pieces, cut at these places."""
    checker = Checker("seg", run=RUN, head=head, filler=FILLER, is_bulk=is_bulk)
    places = [0, *sorted(cuts), len(data)]
    for start, stop in pairwise(places):
        checker.feed(data[start:stop])
    return checker.end(acknowledged, acknowledged if sent is None else sent)


def pieces_of(reads: Reads, said: bytes, cuts: Iterable[int]) -> list[Piece | None]:
    """What a reader makes of an answer that comes in pieces, cut there."""
    ends = [*sorted(cut for cut in cuts if cut < len(said)), len(said)]
    return [reads.feed(said[start:stop]) for start, stop in pairwise([0, *ends]) if stop > start]
