"""`wiretool slice CAPTURE... --where EXPR -o OUT`: the packets behind certain records."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wiretool.commands.options import Engine, PortNames, ProtocolName, ports_from, protocols_like, sources_from, tell
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.batches.batch import Batch


def slice_(
    captures: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CAPTURE...",
            show_default=False,
            readable=False,
            help="pcap or pcapng files, also gzip or zstd; they are read twice, so not stdin",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", show_default=False, help="write there, as pcapng; - is stdout"),
    ] = None,
    where: Annotated[str, typer.Option(metavar="EXPR", help="take the packets of records for which this is true")] = "",
    connection: Annotated[int | None, typer.Option(min=0, help="only of this connection")] = None,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="take whole connections: handshake, acks, both sides, all messages")
    ] = False,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    engine: Annotated[Engine, typer.Option(help="how captures are read; the result is the same")] = Engine.AUTO,
) -> None:
    """Cut the packets of matching messages out of captures, unchanged, into a pcapng file.

    When nothing matches, that file is a sound capture of no packets, stderr says so, and the exit code is 0.
    """
    from wiretool.protocols.registry import server_ports
    from wiretool.sinks.arrow.filter import BatchFilter
    from wiretool.sinks.output import open_output
    from wiretool.sinks.packets import Packets
    from wiretool.sinks.slice import Chosen, cut
    from wiretool.where import Clock, names_for

    check_wishes(where, connection, output)
    paths, ports = files_from(captures), ports_from(port)
    keep = BatchFilter(names_for(protocols_like(protocol)), Clock(), expression=where, connection=connection).keep
    with open_output(output, inputs=paths) as out:
        packets, chosen = Packets(out), Chosen(whole_connections=conversation)
        damage = chosen.add_all(map(keep, batches_from(paths, engine, protocol, ports)))
        damage = cut(paths, chosen, packets, server_ports() | ports.keys()) or damage
        if packets.has_begun:
            tell_found(chosen.records, packets.count)
        if damage is not None:
            raise damage


def check_wishes(where: str, connection: int | None, output: Path | None) -> None:
    """UsageError unless it is said what is wanted, and where to."""
    if not where and connection is None:
        raise UsageError("nothing to look for: give --where EXPR, or --connection N")
    if output is None:
        raise UsageError("nowhere to write to: give -o FILE, or -o - for stdout")


def files_from(captures: Sequence[Path] | None) -> list[Path]:
    """The captures; UsageError for what cannot be read twice."""
    sources_from(captures)
    for path in captures or ():
        if str(path) == "-" or not path.is_file():
            name = "stdin" if str(path) == "-" else path
            raise UsageError(f"{name} cannot be read twice, as slice must: give a file")
    return list(captures or ())


def batches_from(paths: list[Path], engine: Engine, protocol: str, ports: Mapping[int, str]) -> "Iterator[Batch]":
    """The records of the captures in batches."""
    from wiretool.bulk.read import read_batches
    from wiretool.commands.engines import batches_of
    from wiretool.dissect import read

    if engine is Engine.ROWS:
        return batches_of(read(paths, protocol=protocol, ports=ports, notes=tell))
    return read_batches(paths, protocol=protocol, ports=ports, notes=tell)


def tell_found(records: int, packets: int) -> None:
    """What became of it, for who waits for it."""
    if records:
        tell(f"{records:,} matching record{'s' * (records != 1)}, {packets:,} packet{'s' * (packets != 1)} written")
    else:
        tell("nothing matches; a capture of no packets written")
