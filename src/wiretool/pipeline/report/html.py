"""A report as one page for the browser, which needs no network."""

from collections.abc import Iterator, Sequence

from wiretool.pipeline.report.figures import Column, Figure, Row
from wiretool.pipeline.report.plots import plots_of
from wiretool.pipeline.report.report import Report
from wiretool.pipeline.report.words import damage_of, subtitle_of, title_of, told
from wiretool.sinks.page.html import card, number, page_lines, safe, side_by_side, table

_WHOLE = '<td class="whole">'
#: Columns whose values may be folded, and those in which anything is bad.
_LONG = ("subject", "writer", "error")
_BAD = ("errors", "gaps", "gap_bytes", "problems", "problem_bytes")


def report_html(report: Report) -> str:
    """The page: what was captured, how it went over time, and all figures, with the command behind each row."""
    return "".join(f"{line}\n" for line in page_lines("wiretool pipeline report", _lines(report)))


def _lines(report: Report) -> Iterator[str]:
    yield f"<header><h1>wiretool pipeline report</h1><p>{safe(subtitle_of(report))}</p></header>"
    damaged = [f'<td class="bad">{safe(path)}<td>{safe(why)}' for path, why in damage_of(report)]
    if damaged:
        yield card("Damaged captures", table(["capture", "damage"], damaged))
    first, *others = report.figures
    yield _card(first)
    yield from side_by_side(*(card(title, plot) for title, plot in plots_of(report.course)))
    yield from map(_card, others)


def _card(figure: Figure) -> str:
    """A table; what only says where a row is from stands with the command."""
    columns = [column for column in figure.question.columns if any(told(column, row) for row in figure.rows)]
    shown = [column for column in columns if not column.is_spare]
    heads = [f"#{column.head}" if column.is_number else column.head for column in shown]
    rows = [f"{''.join(_cell(column, row) for column in shown)}<td>{_lead(columns, row)}" for row in figure.rows]
    note = f'<p class="none">{safe(figure.question.note)}</p>' if figure.question.note else ""
    return card(title_of(figure), table([*heads, ""] if rows else [], rows) + note)


def _cell(column: Column, row: Row) -> str:
    value = told(column, row)
    if column.is_number:
        return number(value, "bad" if column.key in _BAD and row.get(column.key) else "")
    return f"{'<td>' if column.key in _LONG else _WHOLE}{safe(value)}"


def _lead(columns: Sequence[Column], row: Row) -> str:
    pairs = [f"{column.head} {text}" for column in columns if column.is_spare and (text := told(column, row))]
    where = f"<p>{safe(', '.join(pairs))}</p>" if pairs else ""
    return f"<details><summary>packets</summary>{where}<code>{safe(row['slice'])}</code></details>"
