"""The sink for a form of output."""

import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from wiretool.errors import UsageError
from wiretool.records import Record
from wiretool.sinks.csv import CsvSink
from wiretool.sinks.ndjson import JsonSink, NdjsonSink
from wiretool.sinks.output import Output
from wiretool.sinks.sink import Column, Sink
from wiretool.sinks.text import TextSink
from wiretool.sinks.text.sink import Annotate

Pairs = Sequence[tuple[str, Callable[[Record], Any]]]


def sink_for(
    form: str, output: Output, *, columns: Pairs | None, annotate: Annotate, tree: bool = False, dump: bool = False
) -> Sink:
    """The sink that writes `form`; UsageError where trees or dumps are wanted in one that has none."""
    chosen = None if columns is None else [Column(name, value_in) for name, value_in in columns]
    if form == "text":
        return TextSink(
            output,
            colour=is_coloured(output),
            width=width_of(output),
            columns=chosen,
            annotate=annotate,
            tree=tree,
            dump=dump,
        )
    if tree or dump:
        raise UsageError(f"-v and -x: not allowed with --format {form}, which has every field")
    sinks: dict[str, Callable[..., Sink]] = {"ndjson": NdjsonSink, "json": JsonSink, "csv": CsvSink}
    return sinks[form](output, chosen)


def is_coloured(output: Output) -> bool:
    """Whether to paint: on a terminal, unless NO_COLOR says no or FORCE_COLOR says yes anywhere."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return output.is_terminal and os.environ.get("TERM") != "dumb"


def width_of(output: Output) -> int:
    """Columns of the terminal, 0 where there is none."""
    return shutil.get_terminal_size().columns if output.is_terminal else 0
