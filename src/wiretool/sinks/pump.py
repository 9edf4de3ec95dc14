"""Records from where they are made to where they are written."""

from collections.abc import Callable, Iterable

from wiretool.records import Record
from wiretool.sinks.sink import Sink


def pump(
    records: Iterable[Record], sink: Sink, *, keep: Callable[[Record], bool] | None = None, count: int | None = None
) -> int:
    """Write the records that `keep` wants (all, without), `count` at most; how many there were.

    What has been written is whole, whatever stops it: the sink is ended in any case.
    """
    shown = 0
    sink.begin()
    try:
        for shown, record in enumerate(records if keep is None else _kept(records, sink, keep), 1):
            sink.write(record)
            if shown == count:
                break
    finally:
        sink.end()
    return shown


def _kept(records: Iterable[Record], sink: Sink, keep: Callable[[Record], bool]) -> Iterable[Record]:
    for record in records:
        if keep(record):
            yield record
        else:
            sink.skip(record)
