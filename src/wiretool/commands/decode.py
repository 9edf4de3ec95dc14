"""`wiretool decode CAPTURE...`: print every message in captures."""

import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from wiretool.commands.engines import (
    batches_of,
    begun,
    check_workers,
    followed,
    pump_batches,
    records_in,
    strictly,
    takes_columns,
)
from wiretool.commands.options import (
    CaptureFiles,
    DecodeFormat,
    Engine,
    PortNames,
    ProtocolName,
    SideName,
    Workers,
    lines_of,
    ports_from,
    protocols_like,
    sources_from,
    tell,
)
from wiretool.commands.progress import counted, is_file, is_watched, shown
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.batches.batch import Batch
    from wiretool.ledger import Ledger
    from wiretool.records import Record

DecodeOutput = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        show_default=False,
        help="write to a file instead of stdout; tables go into a folder, new, empty or with those of an earlier run",
    ),
]


def decode(
    captures: CaptureFiles = None,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    format_: Annotated[DecodeFormat, typer.Option("--format", help="form of the output")] = DecodeFormat.TEXT,
    tree: Annotated[bool, typer.Option("-v", "--verbose", help="every field: offset, length, meaning")] = False,
    dump: Annotated[bool, typer.Option("-x", "--hex-dump", help="the bytes, coloured by field")] = False,
    where: Annotated[str, typer.Option(metavar="EXPR", help="show only records for which this is true")] = "",
    fields: Annotated[str, typer.Option(metavar="A,B,C", help="show only these: n,message,fields.offset")] = "",
    connection: Annotated[int | None, typer.Option(min=0, help="show only this connection")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="stop after so many records")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="stop at the first problem, exit code 3")] = False,
    output: DecodeOutput = None,
    events: Annotated[bool, typer.Option("--events", help="with tables: also one of every event in appends")] = False,
    engine: Annotated[
        Engine, typer.Option(help="read messages one by one, or many as columns; the output is the same")
    ] = Engine.AUTO,
    workers: Workers = 1,
    ledger: Annotated[Path | None, typer.Option(metavar="FILE", help="write what became of every byte, JSON")] = None,
    hex_: Annotated[str, typer.Option("--hex", metavar="FILE", help="hex instead, a stream a line; - is stdin")] = "",
    side: Annotated[SideName | None, typer.Option(help="who sent the hex bytes")] = None,
    live: Annotated[str, typer.Option(metavar="IFACE", help="capture from an interface instead")] = "",
    bpf: Annotated[str, typer.Option("--filter", metavar="BPF", help="which packets to capture")] = "",
    duration: Annotated[float | None, typer.Option(min=0.001, metavar="S", help="stop capturing then")] = None,
) -> None:
    """Print every message in captures, one line each; or write tables of them into a folder."""
    from wiretool.ledger import Ledger
    from wiretool.sinks.ledger import kept

    check_inputs(captures, hex_, live, side=side, protocol=protocol, packets_only=bool(bpf or duration))
    check_outputs(output, ledger)
    check_tables(format_, output, fields=fields, for_people=tree or dump, events=events)
    is_bulk = takes_columns(
        engine,
        format_,
        captures=captures,
        output=output,
        only_rows="--live" if live else "--hex" if hex_ else "",
        is_for_people=bool(tree or dump or strict or count),
    )
    check_workers(workers, is_bulk=is_bulk)
    how = How(protocol, ports_from(port), strict, Ledger(), workers)
    what = What(format_, tree, dump, where, fields, connection, count, events)
    inputs = [Path(hex_)] if hex_ else captures or ()
    is_told = format_ is DecodeFormat.TEXT or format_.is_tables
    with kept(how.ledger, ledger, tell if is_told else None, inputs=inputs):
        if is_bulk:
            write_columns(how, what, sources_from(captures), output, inputs)
            return
        if side is not None:
            records = from_hex(how, hex_, side)
        else:
            records = from_interface(how, live, bpf, duration) if live else from_captures(how, sources_from(captures))
        with closing(records):
            write_rows(how, what, records, output, inputs, at_once=bool(live))


def check_inputs(
    captures: Sequence[Path] | None, hex_: str, live: str, *, side: SideName | None, protocol: str, packets_only: bool
) -> None:
    """UsageError unless there is exactly one kind of input, and no option of another."""
    if sum(map(bool, (captures, hex_, live))) > 1:
        raise UsageError("captures, --hex and --live exclude each other")
    if packets_only and not live:
        raise UsageError("--filter and --duration go with --live")
    if hex_ and (side is None or protocol == "auto"):
        raise UsageError("--hex wants --protocol and --side: bytes alone do not say who sent them")
    if side is not None and not hex_:
        raise UsageError("--side goes with --hex: a capture says who sent what")


def check_outputs(output: Path | None, ledger: Path | None) -> None:
    """UsageError where the records and the ledger would be written into one file, there already or not."""
    if output is None or ledger is None or str(ledger) == "-":
        return
    is_linked = os.path.exists(output) and os.path.exists(ledger) and os.path.samefile(output, ledger)
    if is_linked or os.path.realpath(output) == os.path.realpath(ledger):
        raise UsageError(f"-o and --ledger name the same file, {ledger}")


def check_tables(form: DecodeFormat, output: Path | None, *, fields: str, for_people: bool, events: bool) -> None:
    """UsageError for an option that tables do not go with, or that goes with tables only."""
    if not form.is_tables:
        if events:
            raise UsageError("--events goes with --format parquet or arrow: lines have the events of each append")
        return
    if output is None or str(output) == "-":
        raise UsageError(f"--format {form} wants -o FOLDER: it writes many files")
    if fields:
        raise UsageError(f"--fields goes with lines; --format {form} has every field in a column of its own")
    if for_people:
        raise UsageError(f"-v and -x are for people; --format {form} has every field anyway")


@dataclass(frozen=True, slots=True)
class How:
    """What reading takes, wherever the bytes are from."""

    protocol: str
    ports: Mapping[int, str]
    strict: bool
    ledger: "Ledger"
    workers: int = 1


@dataclass(frozen=True, slots=True)
class What:
    """Which of the records are written, and as what."""

    form: DecodeFormat
    tree: bool = False
    dump: bool = False
    where: str = ""
    fields: str = ""
    connection: int | None = None
    count: int | None = None
    events: bool = False

    @property
    def is_choosy(self) -> bool:
        """Whether some records are left out."""
        return bool(self.where) or self.connection is not None

    @property
    def is_for_people(self) -> bool:
        """Whether each line is made by itself."""
        return self.form is DecodeFormat.TEXT or self.tree or self.dump


# -- reading ---------------------------------------------------------------------------------------------------------


def from_captures(how: How, sources: "list[Path | BinaryIO]") -> "Generator[Record]":
    """The records of files."""
    from wiretool.dissect import read

    yield from read(sources, protocol=how.protocol, ports=how.ports, strict=how.strict, ledger=how.ledger, notes=tell)


def from_hex(how: How, path: str, side: SideName) -> "Generator[Record]":
    """The records of pasted bytes."""
    from wiretool.dissect import read_hex

    lines = lines_of(path)
    yield from read_hex(lines, protocol=how.protocol, side=side.value, strict=how.strict, ledger=how.ledger)


def from_interface(how: How, interface: str, bpf: str, duration_s: float | None) -> "Generator[Record]":
    """The records of packets as they come."""
    from wiretool.capture.live import sniff
    from wiretool.dissect import read_from

    packets = sniff(interface, bpf=bpf, duration_s=duration_s or 0.0)
    yield from read_from(
        packets, protocol=how.protocol, ports=how.ports, strict=how.strict, ledger=how.ledger, notes=tell
    )


def in_batches(how: How, sources: "Sequence[Path | BinaryIO]") -> "Generator[Batch]":
    """The records of files as columns."""
    from wiretool.bulk.workers import read_batches_by

    batches = read_batches_by(
        how.workers, sources, protocol=how.protocol, ports=how.ports, ledger=how.ledger, notes=tell
    )
    return strictly(batches) if how.strict else batches


# -- writing ---------------------------------------------------------------------------------------------------------


def write_rows(
    how: How,
    what: What,
    records: "Iterator[Record]",
    output: Path | None,
    inputs: Sequence[Path],
    *,
    at_once: bool = False,
) -> None:
    """Write records one by one."""
    from wiretool.dissect import annotate
    from wiretool.sinks.choose import sink_for
    from wiretool.sinks.output import open_output
    from wiretool.sinks.pump import pump
    from wiretool.where import Clock, Selection, columns_of, names_for

    clock = Clock()
    names = names_for(protocols_like(how.protocol) if what.is_choosy or what.fields else ())
    keep = Selection(names, clock, expression=what.where, connection=what.connection) if what.is_choosy else None
    columns = columns_of(what.fields, names, clock)
    if what.form.is_tables:
        wanted = records if keep is None else (record for record in records if keep(record))
        write_tables(how, what, batches_of(islice(wanted, what.count)), output)
        return
    with open_output(output, at_once=at_once, inputs=inputs) as out:
        sink = sink_for(what.form, out, columns=columns, annotate=annotate, tree=what.tree, dump=what.dump)
        pump(records, sink, keep=keep, count=what.count)


def write_columns(
    how: How, what: What, sources: "Sequence[Path | BinaryIO]", output: Path | None, inputs: Sequence[Path]
) -> None:
    """Write the records of files that are read as columns."""
    from wiretool.dissect import annotate
    from wiretool.sinks.arrow.filter import BatchFilter
    from wiretool.sinks.lines.choose import batch_sink_for
    from wiretool.sinks.output import open_output
    from wiretool.where import Clock, columns_of, names_for

    with counted(sources) as (opened, files), ExitStack() as stack:
        is_bar = bool(files) and is_watched() and not (output is None and sys.stdout.isatty())
        reading = stack.enter_context(closing(in_batches(how, opened)))
        batches = begun(reading)
        batches = shown(batches, files) if is_bar else batches
        if what.is_for_people and not what.form.is_tables:
            write_rows(how, what, records_in(batches), output, inputs)
            return
        clock = Clock()
        names = names_for(protocols_like(how.protocol) if what.is_choosy or what.fields else ())
        keep = None
        if what.is_choosy:
            keep = BatchFilter(names, clock, expression=what.where, connection=what.connection).keep
        may_wait = len(files) == len(sources) and all(map(is_file, inputs))
        if what.form.is_tables:
            write_tables(how, what, batches, output, keep=keep, may_wait=may_wait)
            return
        columns = columns_of(what.fields, names, clock)
        out = stack.enter_context(open_output(output, inputs=inputs))
        sink = batch_sink_for(what.form, out, columns=columns, annotate=annotate)
        pump_batches(batches, sink, keep=keep, count=what.count, may_wait=may_wait)


def write_tables(
    how: How,
    what: What,
    batches: "Iterator[Batch]",
    output: Path | None,
    *,
    keep: "Callable[[Batch], Batch] | None" = None,
    may_wait: bool = False,
) -> None:
    """Write batches as tables into a folder."""
    from wiretool.sinks.arrow.folder import Folder
    from wiretool.sinks.arrow.tables import TablesSink

    assert output is not None, "looked at by check_tables"
    sink = TablesSink(Folder(output), what.form, how.ledger, has_events=what.events)
    told = followed(batches, sink.start)
    try:
        pump_batches(told, sink, keep=keep, count=what.count, may_wait=may_wait)
    except KeyboardInterrupt:
        tell(f"stopped by Ctrl-C: the tables in {output} are whole, {sink.records:,} records so far")
        raise
