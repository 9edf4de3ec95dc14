"""The way of `wiretool decode`: records of what is given, by rows or columns, into lines or tables."""

import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from stat import S_ISFIFO
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from wiretool.commands.decode.options import Given, How, What, check_files, check_input, check_tables
from wiretool.commands.engines import (
    batches_of,
    begun,
    check_workers,
    followed,
    is_on_terminal,
    pump_batches,
    records_in,
    strictly,
    takes_columns,
)
from wiretool.commands.interrupts import ended_by_ctrl_c, load, stoppable, told_when_stopped
from wiretool.commands.options import (
    SideName,
    check_any_captured,
    check_protocol_name,
    is_stdout,
    lines_of,
    protocols_like,
    report_keys,
    report_unread,
    sources_from,
    tell,
)
from wiretool.commands.progress import counted, is_watched, shown
from wiretool.errors import Unmet, UsageError
from wiretool.processes import held_interrupts
from wiretool.sinks.ledger import kept, no_connection
from wiretool.sinks.pump import Counted, Written, pump

if TYPE_CHECKING:
    from wiretool.batches.batch import Batch
    from wiretool.records import Record
    from wiretool.sinks.arrow.filter import BatchFilter
    from wiretool.sinks.choose import Pairs
    from wiretool.sinks.lines.sink import LinesSink
    from wiretool.sinks.output import Output
    from wiretool.sinks.sink import Sink
    from wiretool.sinks.tally import Tally

T = TypeVar("T", bound=Counted)


@dataclass(slots=True)
class Display:
    """Where records are written, to be brought up to date while a pipe has no more of them."""

    sink: "Sink | None" = None
    output: "Output | None" = None

    def flush(self) -> None:
        """Write out all records that were given to the sink."""
        if self.sink is not None and self.output is not None:
            self.sink.flush()
            self.output.flush()


@dataclass(frozen=True, slots=True)
class Job:
    """All that one run is asked for, and what it counts."""

    given: Given
    how: How
    what: What
    output: Path | None
    tally: "Tally"
    written: Written = field(default_factory=Written)
    display: Display = field(default_factory=Display)

    @property
    def may_wait(self) -> bool:
        """Whether more input is always there, as from files, so that Ctrl-C may wait for what is being read."""
        return self.given.is_of_files

    @property
    def may_be_on_screen(self) -> bool:
        """Return whether lines may appear on the terminal, and a bar would overwrite them; those of a pipe may, too."""
        if not is_stdout(self.output) or sys.stdout is None:
            return False
        return sys.stdout.isatty() or S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)

    def so_far(self) -> str:
        """What was written, for who has stopped it."""
        if not self.written.records:
            return "no records so far"
        count = f"{self.written.records:,} record{'s' * (self.written.records != 1)} so far"
        if self.what.form.is_tables:
            return f"the tables in {self.output} are whole, {count}"
        return count if is_stdout(self.output) else f"{self.output} is whole, {count}"


def decode_all(given: Given, how: How, what: What, *, output: Path | None, ledger: Path | None) -> None:
    """Write the records of what is given, and what became of every byte; UsageError where that makes no sense.

    A connection that the captures do not have is a UsageError after all that was written.
    """
    from wiretool.sinks.tally import Tally

    check_protocol_name(how.protocol)
    check_choice(what, how.protocol)
    check_input(given, how.protocol)
    if given.hex_ and how.keylog is not None:
        raise UsageError("--keylog: not allowed with --hex; expected captures or --live")
    check_files(output, ledger)
    check_tables(what, output, ledger)
    is_bulk = takes_columns(
        how.engine,
        what.form,
        captures=given.captures,
        output=output,
        only_rows=given.only_rows,
        is_for_people=bool(what.is_annotated or how.strict or what.count),
        workers=how.workers,
    )
    check_workers(how.workers, is_bulk=is_bulk)
    sources = [] if given.only_rows else sources_from(given.captures)
    # What is read by the table, or written by the batch, is ahead of what was written where Ctrl-C stops it.
    tally = Tally(may_stop=is_bulk or what.form.is_tables or how.strict or what.count is not None)
    job = Job(given, how, what, output, tally)
    with (
        stoppable(*needed(job, is_bulk=is_bulk)),
        kept(
            job.tally.shown, ledger, tell if what.has_totals else None, inputs=given.paths, prefix=job.written.summarize
        ),
        told_when_stopped(job.so_far),
    ):
        (from_columns if is_bulk else from_rows)(job, sources)
        if given.interface:
            check_any_captured(job.tally.shown, given.interface)
        report_unread(job.tally.shown, given.captures)
        report_keys(how.keylog, job.tally.reading)
        if what.connection is not None and (nothing := no_connection(what.connection, job.tally.shown)):
            raise UsageError(nothing)


def check_choice(what: What, protocol: str) -> None:
    """Raise UsageError, before any file is opened, if the filter or a field makes no sense."""
    if what.is_choosy or what.fields:
        from wiretool.filter import History, Selection, columns_of, names_for

        names = names_for(protocols_like(protocol))
        columns_of(what.fields, names, History())
        Selection(names, History(), expression=what.where, connection=what.connection)


def needed(job: Job, *, is_bulk: bool) -> list[str]:
    """The larger modules that a run loads; with several processes the others begin before what writes is loaded."""
    if job.how.workers > 1:
        return ["wiretool.dissect.columns.workers"]
    return [
        "wiretool.dissect.columns.workers" if is_bulk else "wiretool.dissect.dissector",
        *needed_to_write(job, is_bulk=is_bulk),
    ]


def needed_to_write(job: Job, *, is_bulk: bool) -> list[str]:
    """The larger modules that choose records and write them."""
    if job.what.form.is_tables:
        writing = "wiretool.sinks.arrow.tables"
    else:
        writing = "wiretool.sinks.lines.choose" if is_bulk and not job.what.is_for_people else "wiretool.sinks.choose"
    return ["wiretool.filter", writing]


# -- reading -----------------------------------------------------------------------------------------------------------


def from_rows(job: Job, sources: "Sequence[Path | BinaryIO]") -> None:
    """Write records that are read one by one."""
    if job.given.side is not None:
        records = of_hex(job, job.given.side)
    else:
        records = of_interface(job) if job.given.interface else of_captures(job, sources)
    with closing(records):
        (write_records_as_tables if job.what.form.is_tables else write_records)(job, records)


def from_columns(job: Job, sources: "Sequence[Path | BinaryIO]") -> None:
    """Write records that are read many at once."""
    with in_batches(job, sources) as batches:
        if job.what.form.is_tables:
            write_tables(job, batches)
        elif job.what.is_for_people:
            write_records(job, records_in(batches))
        else:
            write_lines(job, batches)


def of_captures(job: Job, sources: "Sequence[Path | BinaryIO]") -> "Generator[Record]":
    """The records of files, or of pipes as they grow: whoever watches sees all of them before more are awaited."""
    from wiretool.commands.decode.growing import growing_packets
    from wiretool.dissect.dissector import read_from

    with growing_packets(sources, job.display.flush, job.how.keys) as packets:
        yield from read_from(packets, strict=job.how.strict, ledger=job.tally.reading, notes=tell, **job.how.options)


def of_hex(job: Job, side: SideName) -> "Generator[Record]":
    """The records of pasted bytes."""
    from wiretool.dissect.dissector import read_hex

    lines, how = lines_of(job.given.hex_), job.how
    yield from read_hex(lines, protocol=how.protocol, side=side.value, strict=how.strict, ledger=job.tally.reading)
    if not job.tally.reading.connections:
        name = "stdin" if job.given.hex_ == "-" else job.given.hex_
        raise Unmet(f"{name}: nothing was read: no bytes; expected lines of hex")


def of_interface(job: Job) -> "Generator[Record]":
    """Yield the records of packets as they arrive, until Ctrl-C, the usual end of a live capture."""
    from wiretool.capture.files.live import sniff_with_ticks
    from wiretool.dissect.dissector import read_from

    given, how, book = job.given, job.how, job.tally.reading
    with ended_by_ctrl_c() as is_over:
        packets = sniff_with_ticks(given.interface, bpf=given.bpf, duration_s=given.duration_s or 0.0, is_over=is_over)
        yield from read_from(packets, strict=how.strict, ledger=book, notes=tell, **how.options)


@contextmanager
def in_batches(job: Job, sources: "Sequence[Path | BinaryIO]") -> "Iterator[Iterator[Batch]]":
    """The records of files as columns, with a bar where somebody sees it and no lines are beside it."""
    from wiretool.dissect.columns.workers import read_batches_by

    with counted(sources) as (opened, files):
        finish = Renderer(job).render if may_render_apart(job) else None
        options = {"ledger": job.tally.reading, "notes": tell, "finish": finish, **job.how.options}
        read = read_batches_by(job.how.workers, opened, **options)
        with closing(strictly(read) if job.how.strict else read) as reading:
            batches: Iterator[Batch] = reading
            if job.how.workers > 1:
                batches = begun(reading)
                with held_interrupts():
                    load(*needed_to_write(job, is_bulk=True))
            if not files or not is_watched() or job.may_be_on_screen:
                yield batches
                return
            with closing(shown(batches, files)) as steps:
                yield steps


# -- writing -----------------------------------------------------------------------------------------------------------


def may_render_apart(job: Job) -> bool:
    """Return whether lines can be made before their records are counted: all are written, and not one by one."""
    what = job.what
    is_whole = not (what.is_choosy or what.count is not None or job.how.strict)
    return is_whole and not (what.is_for_people or what.form.is_tables or is_on_terminal(job.output))


class Renderer:
    """Makes the lines of batches in the process that reads them. Its modules are loaded there, by its first batch."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def render(self, batch: "Batch") -> "Batch":
        """Return a batch with the text of its lines; unchanged where records are looked at in turn."""
        return self._sink.render(batch) if self._sink is not None else batch

    @cached_property
    def _sink(self) -> "LinesSink | None":
        load(*needed_to_write(self._job, is_bulk=True))
        from wiretool.dissect.dissector import annotate
        from wiretool.sinks.lines.choose import batch_sink_for
        from wiretool.sinks.lines.sink import LinesSink
        from wiretool.sinks.output import Output

        keep, columns = chosen_by(_filter_of_batches, self._job)
        sink = batch_sink_for(self._job.what.form, Output(BytesIO()), columns=columns, annotate=annotate)
        return sink if keep is None and isinstance(sink, LinesSink) else None


def chosen_by(kind: Callable[..., T], job: Job) -> "tuple[T | None, Pairs | None]":
    """What says which records are wanted, of this kind, and the columns that are; None for all of them."""
    from wiretool.filter import History, columns_of, names_for

    what, history = job.what, History()
    names = names_for(protocols_like(job.how.protocol) if what.is_choosy or what.fields else ())
    columns = columns_of(what.fields, names, history)
    is_needed = what.is_choosy or bool(history.requests)  # columns of requests need a history of all records
    keep = kind(names, history, expression=what.where, connection=what.connection) if is_needed else None
    if what.is_choosy:
        job.written.selection = keep if what.count is None else job.tally
    return keep, columns


def write_records(job: Job, records: "Iterator[Record]") -> None:
    """Write records as lines one by one."""
    from wiretool.dissect.dissector import annotate
    from wiretool.filter import Selection
    from wiretool.sinks.choose import sink_for
    from wiretool.sinks.output import open_output

    what = job.what
    keep, columns = chosen_by(Selection, job)
    with open_output(job.output, at_once=bool(job.given.interface), inputs=job.given.paths) as out:
        sink = sink_for(what.form, out, columns=columns, annotate=annotate, tree=what.tree, dump=what.dump)
        job.display.sink, job.display.output = sink, out
        try:
            pump(job.tally.records(records), sink, keep=keep, count=what.count, written=job.written)
        finally:
            if sink.notice:
                tell(sink.notice)


def write_records_as_tables(job: Job, records: "Iterator[Record]") -> None:
    """Write records that are read one by one as tables."""
    from wiretool.filter import Selection

    keep, _ = chosen_by(Selection, job)
    wanted = filter(keep, job.tally.records(records)) if keep else job.tally.records(records)
    put_into_tables(job, batches_of(islice(wanted, job.what.count)), may_wait=job.may_wait)


def write_lines(job: Job, batches: "Iterator[Batch]") -> None:
    """Write batches as lines for programs."""
    from wiretool.dissect.dissector import annotate
    from wiretool.sinks.lines.choose import batch_sink_for
    from wiretool.sinks.output import open_output

    wanted, columns = wanted_of(job, batches)
    with open_output(job.output, inputs=job.given.paths) as out:
        sink = batch_sink_for(job.what.form, out, columns=columns, annotate=annotate)
        pump_batches(wanted, sink, written=job.written, may_wait=job.may_wait)


def write_tables(job: Job, batches: "Iterator[Batch]") -> None:
    """Write batches as tables."""
    wanted, _ = wanted_of(job, batches)
    put_into_tables(job, wanted, may_wait=job.may_wait)


def wanted_of(job: Job, batches: "Iterator[Batch]") -> "tuple[Iterator[Batch], Pairs | None]":
    """What is wanted of the batches, and the columns that are; None for all of them."""
    chosen, columns = chosen_by(_filter_of_batches, job)
    keep = None if chosen is None else chosen.keep
    return job.tally.batches(batches, keep=keep, count=job.what.count), columns


def _filter_of_batches(*names: Any, **wanted: Any) -> "BatchFilter":
    from wiretool.sinks.arrow.filter import BatchFilter

    return BatchFilter(*names, **wanted)


def put_into_tables(job: Job, batches: "Iterator[Batch]", *, may_wait: bool = False) -> None:
    """Write all that is in the batches as tables into the folder."""
    from wiretool.sinks.arrow.folder import Folder
    from wiretool.sinks.arrow.tables import TablesSink

    assert job.output is not None, "looked at by check_tables"
    sink = TablesSink(Folder(job.output, job.given.paths), job.what.form, job.tally.shown, has_events=job.what.events)
    pump_batches(followed(batches, sink.start), sink, written=job.written, may_wait=may_wait)
