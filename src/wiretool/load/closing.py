"""Reads back, after a load, all that it wrote, and checks it."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby

from wiretool.load.checking import Checker
from wiretool.load.events import Filler, Head
from wiretool.load.findings import NOTHING, Outcome, joined
from wiretool.load.intervals import Writer
from wiretool.load.link import Link
from wiretool.load.plan import Plan
from wiretool.load.wire.choose import DIALECTS, Reader


def read_back(plan: Plan, writers: Iterable[Writer]) -> Outcome:
    """What is found in the segments of these writers. PeerError where they cannot be read, Unmet where not whole."""
    if plan.protocol not in DIALECTS:
        return NOTHING
    dialect = DIALECTS[plan.protocol]
    filler = Filler(plan.seed)
    with closing(Link(plan.host, plan.port)) as link:
        reader = dialect.reader(link)
        return joined([_checked(reader, dialect.head, plan, filler, list(some)) for some in _by_segment(writers)])


def _by_segment(writers: Iterable[Writer]) -> Iterator[Iterator[Writer]]:
    return (some for _, some in groupby(sorted(writers, key=_segment_of), _segment_of))


def _segment_of(writer: Writer) -> str:
    return writer.segment


def _checked(reader: Reader, head: Head, plan: Plan, filler: Filler, writers: list[Writer]) -> Outcome:
    """What is found in the one segment of these writers."""
    checker = Checker(writers[0].segment, run=plan.run, head=head, filler=filler)
    for piece in reader.read(writers[0].segment):
        checker.feed(piece)
    return checker.end(
        {writer.key: writer.acknowledged for writer in writers}, {writer.key: writer.sent for writer in writers}
    )
