"""`wiretool decode CAPTURE...`: print every message in captures."""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from wiretool.commands.options import (
    CaptureFiles,
    Format,
    OutputFile,
    PortNames,
    ProtocolName,
    SideName,
    lines_of,
    ports_from,
    protocols_like,
    sources_from,
    tell,
)
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.ledger import Ledger
    from wiretool.records import Record


def decode(
    captures: CaptureFiles = None,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    format_: Annotated[Format, typer.Option("--format", help="form of the output")] = Format.TEXT,
    tree: Annotated[bool, typer.Option("-v", "--verbose", help="every field: offset, length, meaning")] = False,
    dump: Annotated[bool, typer.Option("-x", "--hex-dump", help="the bytes, coloured by field")] = False,
    where: Annotated[str, typer.Option(metavar="EXPR", help="show only records for which this is true")] = "",
    fields: Annotated[str, typer.Option(metavar="A,B,C", help="show only these: n,message,fields.offset")] = "",
    connection: Annotated[int | None, typer.Option(min=0, help="show only this connection")] = None,
    count: Annotated[int | None, typer.Option(min=1, help="stop after so many records")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="stop at the first problem, exit code 3")] = False,
    output: OutputFile = None,
    ledger: Annotated[Path | None, typer.Option(metavar="FILE", help="write what became of every byte, JSON")] = None,
    hex_: Annotated[str, typer.Option("--hex", metavar="FILE", help="hex instead, a stream a line; - is stdin")] = "",
    side: Annotated[SideName | None, typer.Option(help="who sent the hex bytes")] = None,
    live: Annotated[str, typer.Option(metavar="IFACE", help="capture from an interface instead")] = "",
    bpf: Annotated[str, typer.Option("--filter", metavar="BPF", help="which packets to capture")] = "",
    duration: Annotated[float | None, typer.Option(min=0.001, metavar="S", help="stop capturing then")] = None,
) -> None:
    """Print every message in captures, one line each."""
    from wiretool.dissect import annotate
    from wiretool.ledger import Ledger
    from wiretool.sinks.choose import sink_for
    from wiretool.sinks.ledger import kept
    from wiretool.sinks.output import open_output
    from wiretool.sinks.pump import pump
    from wiretool.where import Clock, Selection, columns_of, names_for

    check_inputs(captures, hex_, live, side=side, protocol=protocol, packets_only=bool(bpf or duration))
    check_outputs(output, ledger)
    book, clock = Ledger(), Clock()
    how = How(protocol, ports_from(port), strict, book)
    is_choosy = bool(where or fields) or connection is not None
    names = names_for(protocols_like(protocol) if is_choosy else ())
    keep = Selection(names, clock, expression=where, connection=connection) if is_choosy else None
    columns = columns_of(fields, names, clock)
    if side is not None:
        records = from_hex(how, hex_, side)
    else:
        records = from_interface(how, live, bpf, duration) if live else from_captures(how, sources_from(captures))
    inputs = [Path(hex_)] if hex_ else captures or ()
    with (
        closing(records),
        kept(book, ledger, tell if format_ is Format.TEXT else None, inputs=inputs),
        open_output(output, at_once=bool(live), inputs=inputs) as out,
    ):
        sink = sink_for(format_, out, columns=columns, annotate=annotate, tree=tree, dump=dump)
        pump(records, sink, keep=keep, count=count)


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


@dataclass(frozen=True, slots=True)
class How:
    """What reading takes, wherever the bytes are from."""

    protocol: str
    ports: Mapping[int, str]
    strict: bool
    ledger: "Ledger"


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
