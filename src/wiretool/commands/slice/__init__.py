"""`wiretool slice CAPTURE... --where EXPR -o OUT`: write the packets of the records that a filter selects."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import (
    Engine,
    KeyLogFile,
    PortNames,
    ProtocolName,
    capture_from,
    keys_from,
    path_from,
    ports_from,
    sources_from,
    where_from,
)
from wiretool.errors import UsageError
from wiretool.storage.url_path import UrlPath


def slice_(
    captures: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CAPTURE...",
            show_default=False,
            parser=capture_from,
            help="pcap or pcapng files or their URLs, also compressed with gzip or zstd; not stdin: read twice",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            show_default=False,
            parser=path_from,
            help="write this pcapng file; - is stdout",
        ),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="EXPR", parser=where_from, help="extract the packets of records that match")
    ] = None,
    connection: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="extract packets of this connection only")
    ] = None,
    conversation: Annotated[
        bool,
        typer.Option("--conversation", help="extract whole connections: both sides, with handshakes and all messages"),
    ] = False,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    keylog: KeyLogFile = None,
    engine: Annotated[
        Engine, typer.Option(help="decode messages one by one (rows) or in arrays (columns); the result is the same")
    ] = Engine.AUTO,
) -> None:
    """Extract the packets of matching messages.

    Writes them unchanged into a pcapng file. If nothing matches, the file is a valid capture without packets, stderr
    reports it, and the exit code is 1.
    """
    from wiretool.commands.slice.run import Slicing, slice_into

    path = place_from(output, where or "", connection)
    paths, ports = files_from(captures), ports_from(port)
    keys = keys_from(keylog, keeps_new=True)
    keys.take_new()  # the new file gets only the secrets that its captures have in them
    slicing = Slicing(paths, protocol, ports, engine, where or "", connection, conversation, keylog, keys)
    if not slice_into(path, slicing):
        raise typer.Exit(1)


def place_from(output: Path | None, where: str, connection: int | None) -> Path:
    """Where to write to; UsageError unless that is said, and what is wanted."""
    if not where and connection is None:
        raise UsageError("no condition; expected --where EXPR or --connection N")
    if output is None:
        raise UsageError("no output; expected -o FILE, or -o - for stdout")
    return output


def files_from(captures: Sequence[Path] | None) -> list[Path]:
    """The captures; UsageError for what cannot be read twice."""
    given = list(captures or ())
    _check_twice("stdin", is_so=all(str(path) != "-" for path in given))
    sources_from(given, tells_empty=all(map(os.path.isfile, given)))
    for path in given:
        _check_twice(str(path), is_so=os.path.isfile(path) or isinstance(path, UrlPath))
    return given


def _check_twice(name: str, *, is_so: bool) -> None:
    if not is_so:
        raise UsageError(f"{name} cannot be read twice; expected a file")
