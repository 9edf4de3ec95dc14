"""Tables, laid out by Rich and written as plain text."""

import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wiretool.sinks.printable import printable, width_of

#: Width of a table where no terminal says otherwise.
WIDTH_DEFAULT = 160
#: Between columns.
GAP = 2


class Head(NamedTuple):
    """A column: its name, whether it holds numbers, whether it may be folded or left out, and its style."""

    name: str
    is_number: bool = False
    folds: bool = False
    is_spare: bool = False
    style: str = ""


def table_text(
    title: str, heads: Sequence[Head], rows: Iterable[Sequence[str]], *, colour: bool = False, width: int = 0
) -> str:
    """The text of a table; what is in it is shown as it is, never as markup.

    Empty columns are left out; on a terminal too narrow for all, spare ones too, and long names are cut. Numbers never.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[printable(cell) for cell in row] for row in rows]
    width = width or WIDTH_DEFAULT
    shown = _columns_shown(heads, cells, width)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold" if colour else "")
    for index in shown:
        head = heads[index]
        table.add_column(
            Text(head.name),
            justify="right" if head.is_number else "left",
            no_wrap=not head.folds,
            overflow="fold" if head.folds else "ellipsis",
            min_width=_width(head, cells, index) if head.is_number else None,
            style=head.style if colour else "",
        )
    for row in cells:
        table.add_row(*(Text(row[index]) for index in shown))
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        legacy_windows=False,
    )
    if title:
        console.print(Text(title, style="bold" if colour else ""))
    console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _columns_shown(heads: Sequence[Head], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    shown = [index for index, _ in enumerate(heads) if any(row[index] for row in cells)]
    for index in reversed(shown):
        if sum(_width(heads[each], cells, each) + GAP for each in shown) - GAP <= width:
            break
        if heads[index].is_spare:
            shown = [each for each in shown if each != index]
    return shown


def _width(head: Head, cells: Sequence[Sequence[str]], index: int) -> int:
    return max([width_of(head.name), *(width_of(row[index]) for row in cells)])
