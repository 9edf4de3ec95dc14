"""A report for a terminal."""

from collections.abc import Iterator

from wiretool.pipeline.report.figures import Column, Figure
from wiretool.pipeline.report.report import Report
from wiretool.pipeline.report.words import damage_of, subtitle_of, title_of, told
from wiretool.sinks.printable import printable
from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.tables import Head, table_text

#: A longer command is not shown.
LEAD_CHARACTERS_MAX = 1_000
_RED = "31"


def report_text(report: Report, *, colour: bool = False, width: int = 0) -> str:
    """A table for each figure that has rows, and below it how the first of them is cut out of the captures."""
    return "\n".join(part for part in _parts(report, Colour(colour), width) if part)


def _parts(report: Report, paint: Colour, width: int) -> Iterator[str]:
    yield f"{paint.bold(printable(subtitle_of(report)))}\n"
    yield "".join(f"{paint.paint(_RED, 'damaged')}  {printable(f'{path}: {why}')}\n" for path, why in damage_of(report))
    for figure in report.figures:
        if figure.rows:
            yield _figure(figure, paint, width)
    empty = [figure.question.title.lower() for figure in report.figures if not figure.rows]
    if empty:
        yield paint.dim(f"nothing of: {', '.join(empty)}") + "\n"


def _figure(figure: Figure, paint: Colour, width: int) -> str:
    columns = figure.question.columns
    rows = [[told(column, row) for column in columns] for row in figure.rows]
    table = table_text(title_of(figure), list(map(_head, columns)), rows, colour=paint.is_on, width=width)
    note = f"{paint.dim(figure.question.note)}\n" if figure.question.note else ""
    return f"{table}{note}{paint.dim(_lead(figure.rows[0]['slice']))}\n"


def _lead(command: str) -> str:
    """How the packets of a row are cut out; a command that would fill a screen is left to the other forms."""
    if len(command) > LEAD_CHARACTERS_MAX:
        return "packets of the first: by a command over many captures, which --html and --json have"
    return f"packets of the first: {printable(command)}"


def _head(column: Column) -> Head:
    return Head(column.head, column.is_number, is_spare=column.is_spare)
