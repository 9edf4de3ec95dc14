"""`wiretool encode [FILE]`: messages written as JSON become bytes."""

from collections.abc import Set
from enum import StrEnum
from typing import Annotated

import typer

from wiretool.commands.first_lines import FirstLines
from wiretool.commands.options import OutputFile, SideName, check_protocol_name, lines_of
from wiretool.errors import Unmet

#: Lines about records without bytes that are printed; the others are counted.
SKIPPED_MAX = 3


class Form(StrEnum):
    """How frames are written."""

    HEX = "hex"
    RAW = "raw"
    PCAP = "pcap"


def encode(
    script: Annotated[
        str,
        typer.Argument(
            metavar="FILE", show_default=False, help="messages as JSON lines, or records of decode; - is stdin"
        ),
    ] = "-",
    protocol: Annotated[str, typer.Option(metavar="NAME", help="protocol of lines without one")] = "",
    side: Annotated[
        SideName | None,
        typer.Option(show_default="the side that may send the message", help="sender of lines without one"),
    ] = None,
    format_: Annotated[
        Form | None, typer.Option("--format", show_default="hex on a terminal, else raw", help="output format")
    ] = None,
    output: OutputFile = None,
) -> None:
    """Encode messages, one JSON object per line, as bytes.

    A line is {"message": "SetupAppend", "fields": {...}}, or a record as decode --format ndjson writes it.
    """
    from pathlib import Path

    from wiretool.analysis.script import read_script
    from wiretool.sinks.frames import write_frames
    from wiretool.sinks.output import open_whole_output

    check_protocol_name(protocol or "auto")
    name = "stdin" if script == "-" else script
    skipped, kinds = FirstLines(SKIPPED_MAX, "records"), set[str]()

    def skip(number: int, kind: str) -> None:
        kinds.add(kind)
        skipped(f"{name}: line {number}: a record of kind {kind} has no bytes to encode")

    frames = read_script(
        lines_of(script),
        name=name,
        protocol=protocol,
        side=None if side is None else side.value,
        skipped=skip,
    )
    with skipped, open_whole_output(output, inputs=[] if script == "-" else [Path(script)]) as out:
        if not write_frames(frames, out, "" if format_ is None else format_.value):
            raise Unmet(f"{name}: nothing was encoded: {no_messages(kinds)}")


def no_messages(kinds: Set[str]) -> str:
    """Return why input without a message is not enough; `kinds` are those of its records."""
    if not kinds:
        return "no messages; expected one JSON object a line"
    return f"only records of kind {' and '.join(sorted(kinds))}; expected records of kind frame"
