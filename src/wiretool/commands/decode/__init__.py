"""`wiretool decode CAPTURE...`: print every message in captures."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import (
    CaptureFiles,
    DecodeFormat,
    Engine,
    KeyLogFile,
    PortNames,
    ProtocolName,
    ServingSeconds,
    SideName,
    Workers,
    format_from,
    keys_from,
    path_from,
    ports_from,
    where_from,
)
from wiretool.commands.target_options import text_parser

DecodeOutput = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        show_default=False,
        parser=path_from,
        help="write to this file; tables go to a folder, which must be new, empty or from an earlier run",
    ),
]


def decode(
    captures: CaptureFiles = None,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    keylog: KeyLogFile = None,
    format_: Annotated[
        DecodeFormat | None,
        typer.Option("--format", show_default="by the ending of -o, else text", help="output format"),
    ] = None,
    tree: Annotated[
        bool, typer.Option("-v", "--verbose", help="show every field with offset, length and meaning")
    ] = False,
    dump: Annotated[bool, typer.Option("-x", "--hex-dump", help="show the bytes, coloured by field")] = False,
    where: Annotated[
        str | None, typer.Option(metavar="EXPR", parser=where_from, help="show only records that match")
    ] = None,
    fields: Annotated[
        str, typer.Option(metavar="A,B,C", help="show only these fields, such as n,message,fields.offset")
    ] = "",
    connection: Annotated[int | None, typer.Option(min=0, metavar="N", help="show only this connection")] = None,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="stop after this number of records")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="stop at the first problem with exit code 3")] = False,
    output: DecodeOutput = None,
    events: Annotated[
        bool, typer.Option("--events", help="with tables: also write a table of the events in appends")
    ] = False,
    engine: Annotated[
        Engine, typer.Option(help="decode messages one by one (rows) or in arrays (columns); the output is the same")
    ] = Engine.AUTO,
    workers: Workers = 1,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", parser=path_from, help="write a ledger of all payload bytes as JSON")
    ] = None,
    hex_: Annotated[
        str, typer.Option("--hex", metavar="FILE", help="read hex instead of captures, one flow per line; - is stdin")
    ] = "",
    side: Annotated[SideName | None, typer.Option(help="sender of the hex bytes")] = None,
    live: Annotated[
        str | None,
        typer.Option(
            parser=text_parser("--live", "the name of an interface"),
            metavar="IFACE",
            show_default=False,
            help="read packets from this network interface instead of captures",
        ),
    ] = None,
    bpf: Annotated[str, typer.Option("--filter", metavar="BPF", help="capture filter (BPF)")] = "",
    duration: ServingSeconds = None,
) -> None:
    """Print every message in captures, or write tables of them."""
    from wiretool.commands.decode.options import Given, How, What
    from wiretool.commands.decode.run import decode_all

    given = Given(captures or (), hex_, side, live or "", bpf, duration)
    keys = keys_from(keylog, is_live=not given.is_of_files)
    how = How(protocol, ports_from(port), strict, engine, workers, keylog, keys)
    what = What(
        format_ or format_from(output, DecodeFormat), tree, dump, where or "", fields, connection, count, events
    )
    decode_all(given, how, what, output=output, ledger=ledger)
