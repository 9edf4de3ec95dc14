"""Reads back, after a load, all that it wrote, and checks it."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby

from wiretool.load.checking import Checker
from wiretool.load.events import Filler, Head
from wiretool.load.findings import NOTHING, Kind, Outcome, events_named, joined
from wiretool.load.intervals import Writer
from wiretool.load.link import Link
from wiretool.load.part import SegmentReader, load_part
from wiretool.load.plan import Plan
from wiretool.sinks.printable import printable


def read_back(plan: Plan, writers: Iterable[Writer]) -> Outcome:
    """What is found in the segments of these writers. PeerError where they cannot be read, Unmet where not whole."""
    stored = load_part(plan.protocol).stored
    if stored is None:
        return NOTHING
    filler = Filler(plan.seed)
    found: list[Outcome] = []
    for address, those in _by_store(plan, writers).items():
        with closing(Link(*address)) as link:
            reader = stored.reader(link, plan.token)
            found += [_checked(reader, stored.head, plan, filler, list(some)) for some in _by_segment(those)]
    return joined(found)


def _by_store(plan: Plan, writers: Iterable[Writer]) -> dict[tuple[str, int], list[Writer]]:
    """Those whose segments are on the same server, by where that is."""
    where = {place.segment: (place.host, place.port) for place in plan.places}
    stores: dict[tuple[str, int], list[Writer]] = {}
    for writer in writers:
        stores.setdefault(where.get(writer.segment, (plan.host, plan.port)), []).append(writer)
    return stores


def _by_segment(writers: Iterable[Writer]) -> Iterator[Iterator[Writer]]:
    return (some for _, some in groupby(sorted(writers, key=_segment_of), _segment_of))


def _segment_of(writer: Writer) -> str:
    return writer.segment


def _checked(reader: SegmentReader, head: Head, plan: Plan, filler: Filler, writers: list[Writer]) -> Outcome:
    """What is found in the one segment of these writers."""
    segment = writers[0].segment
    newest = {writer.key: writer for writer in writers}
    checker = Checker(segment, run=plan.run, head=head, filler=filler)
    for piece in reader.read(segment):
        checker.feed(piece)
    here = checker.end(
        {key: writer.acknowledged for key, writer in newest.items()},
        {key: writer.sent for key, writer in newest.items()},
    )
    return joined([_forgotten(segment, [writer for writer in writers if writer is not newest[writer.key]]), here])


def _forgotten(segment: str, writers: list[Writer]) -> Outcome:
    """What was found of those who wrote to another stream of that name: a server that was begun anew counts from 1."""
    lost = [writer for writer in writers if writer.acknowledged]
    findings = [
        f"{Kind.LOST}: segment {printable(segment)}: {events_named(writer.key, 1, writer.acknowledged)}: "
        "the server has forgotten the stream that had them, and gave its name to another"
        for writer in lost
    ]
    return Outcome(
        acknowledged=sum(writer.acknowledged for writer in lost),
        found=len(lost),
        kinds={Kind.LOST: len(lost)} if lost else {},
        findings=findings,
    )
