"""`wiretool stats CAPTURE...`: numbers over captures."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from wiretool.commands.engines import check_workers, suits_columns
from wiretool.commands.interrupts import for_each, stoppable, told_when_stopped
from wiretool.commands.options import (
    CaptureFiles,
    Engine,
    KeyLogFile,
    OutputFile,
    PortNames,
    ProtocolName,
    Workers,
    check_protocol_name,
    format_from,
    keys_from,
    ports_from,
    report_keys,
    report_unread,
    sources_from,
    tell,
)
from wiretool.commands.progress import counted, is_file, is_watched, shown
from wiretool.errors import CaptureError

if TYPE_CHECKING:
    from wiretool.analysis.stats import Stats
    from wiretool.ledger import Ledger
    from wiretool.sinks.output import Output


class StatsFormat(StrEnum):
    """How numbers are written."""

    TEXT = "text"
    JSON = "json"


def stats(
    captures: CaptureFiles = None,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    keylog: KeyLogFile = None,
    format_: Annotated[StatsFormat | None, typer.Option("--format", help="output format")] = None,
    output: OutputFile = None,
    engine: Annotated[
        Engine, typer.Option(help="decode messages one by one (rows) or in arrays (columns); the numbers are the same")
    ] = Engine.AUTO,
    workers: Workers = 1,
) -> None:
    """Count messages and bytes, and measure latencies.

    There is a table each of messages, connections, segments, streams and roads.
    """
    from wiretool.analysis.stats import Stats
    from wiretool.ledger import Ledger
    from wiretool.sinks.output import open_output

    check_protocol_name(protocol)
    form = format_ or format_from(output, StatsFormat)
    sources, ledger = sources_from(captures), Ledger()
    how = {"protocol": protocol, "ports": ports_from(port), "notes": tell, "ledger": ledger, "keys": keys_from(keylog)}
    are_files = all(map(is_file, captures or ()))
    is_chosen = engine is Engine.AUTO and are_files and (workers > 1 or suits_columns(captures or ()))
    is_bulk = engine is Engine.COLUMNS or is_chosen
    check_workers(workers, is_bulk=is_bulk)
    numbers = Stats()
    with (
        stoppable("wiretool.dissect.columns.workers" if is_bulk else "wiretool.dissect.dissector"),
        told_when_stopped(lambda: so_far(numbers)),
        open_output(output, inputs=captures or ()) as out,
        written_at_last(numbers, ledger, out, form),
    ):
        if is_bulk:
            count_columns(numbers, sources, how, workers, may_wait=are_files)
        else:
            count_rows(numbers, sources, how)
        report_unread(ledger, captures or ())
        report_keys(keylog, ledger)


@contextmanager
def written_at_last(numbers: "Stats", ledger: "Ledger", out: "Output", form: StatsFormat) -> Iterator[None]:
    """Write the numbers however the block ends; not where what it reads is no capture: what `out` held is kept."""
    from wiretool.sinks.stats import write_stats

    is_wanted = True
    try:
        yield
    except CaptureError:
        is_wanted = bool(numbers.connections)
        raise
    finally:
        if is_wanted:
            numbers.note_tls(ledger)
            write_stats(numbers, out, form.value)


def so_far(numbers: "Stats") -> str:
    """What was counted, for who has stopped it."""
    return f"the numbers cover {numbers.total.frames:,} frame{'s' * (numbers.total.frames != 1)} so far"


def count_rows(numbers: "Stats", sources: Sequence[Path | BinaryIO], how: dict[str, Any]) -> None:
    """Count the records of captures one by one."""
    from wiretool.dissect.dissector import read

    numbers.add_all(read(sources, **how))


def count_columns(
    numbers: "Stats", sources: Sequence[Path | BinaryIO], how: dict[str, Any], workers: int, *, may_wait: bool
) -> None:
    """Count the records of captures in batches; Ctrl-C stops as in `for_each`."""
    from wiretool.analysis.stats_bulk import BatchCounter
    from wiretool.dissect.columns.workers import read_batches_by

    counter = BatchCounter(numbers)
    with counted(sources) as (opened, files), closing(read_batches_by(workers, opened, **how)) as batches:
        try:
            if not files or not is_watched():
                for_each(batches, counter.add, may_wait=may_wait)
                return
            with closing(shown(batches, files)) as steps:  # the bar is gone when the numbers are shown
                for_each(steps, counter.add, may_wait=may_wait)
        finally:
            counter.flush()
