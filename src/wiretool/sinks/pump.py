"""Records from where they are made to where they are written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from wiretool.records import Record
from wiretool.sinks.sink import Sink


@dataclass(slots=True)
class Written:
    """How many records were written so far, for whoever is asked when it is stopped."""

    records: int = 0
    #: Selects them from all records, where not all are written.
    selection: "Counted | None" = None

    def summarize(self) -> str:
        """Return how many of all records were written, as the beginning of a line; nothing where all were."""
        return "" if self.selection is None else f"{self.records:,} of {self.selection.seen:,} records written; "


class Counted(Protocol):
    """A filter that counts the records it was shown."""

    @property
    def seen(self) -> int: ...


def pump(
    records: Iterable[Record],
    sink: Sink,
    *,
    keep: Callable[[Record], bool] | None = None,
    count: int | None = None,
    written: Written | None = None,
) -> int:
    """Write the records that `keep` wants (all, without), `count` at most; how many there were, also in `written`.

    What has been written is whole, whatever stops it: the sink is ended in any case.
    """
    shown = 0
    sink.begin()
    try:
        for record in records if keep is None else _kept(records, sink, keep):
            sink.write(record)
            shown += 1
            if shown == count:
                break
    finally:
        if written is not None:
            written.records = shown
        sink.end()
    return shown


def _kept(records: Iterable[Record], sink: Sink, keep: Callable[[Record], bool]) -> Iterable[Record]:
    for record in records:
        if keep(record):
            yield record
        else:
            sink.skip(record)
