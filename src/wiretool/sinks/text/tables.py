"""Tables, laid out by Rich and written as plain text."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from wiretool.sinks.printable import printable, width_of, wrap_text

#: Width of a table where no terminal says otherwise.
WIDTH_DEFAULT = 160
#: Between columns.
GAP = 2
#: Fewer columns than these are not worth it for a text that is cut, and for one that is folded.
TEXT_MIN = 8
FOLDED_MIN = 20


class Head(NamedTuple):
    """A column: its name, whether it has numbers, may be folded, is hidden first or tells rows apart, and its style."""

    name: str
    is_number: bool = False
    folds: bool = False
    is_spare: bool = False
    is_key: bool = False
    style: str = ""


def table_text(
    title: str, heads: Sequence[Head], rows: Iterable[Sequence[str]], *, colour: bool = False, width: int = 0
) -> str:
    """Return the text of a table; cells are shown as they are, never as markup.

    Empty columns are left out. On a terminal too narrow for the rest, long texts are cut with an ellipsis, numbers
    never; columns for which there is still no room are named below the table.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[printable(cell) for cell in row] for row in rows]
    width = width or WIDTH_DEFAULT
    layout = _lay_out(heads, cells, width)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold" if colour else "")
    for index, columns in layout.widths.items():
        head = heads[index]
        table.add_column(
            Text(head.name),
            justify="right" if head.is_number else "left",
            no_wrap=not head.folds,
            overflow="fold" if head.folds else "ellipsis",
            width=columns,
            style=head.style if colour else "",
        )
    for row in cells:
        table.add_row(*(Text(row[index]) for index in layout.widths))
    out = io.StringIO()
    console = Console(
        file=out,
        # The last column needs its padding too, or Rich takes it from the cells.
        width=max(width, layout.total) + GAP,
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
    text = "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
    return text + _note_hidden([heads[index].name for index in layout.hidden], width)


class _Layout(NamedTuple):
    """The columns that are shown, each with its width, and those for which there is no room."""

    widths: dict[int, int]
    hidden: list[int]

    @property
    def total(self) -> int:
        """Return the width of the table."""
        return sum(self.widths.values()) + GAP * (len(self.widths) - 1)


def _lay_out(heads: Sequence[Head], cells: Sequence[Sequence[str]], width: int) -> _Layout:
    natural = {index: _width(heads[index], cells, index) for index in range(len(heads)) if _is_used(cells, index)}
    least = {index: _width_least(heads[index], columns, width) for index, columns in natural.items()}
    shown = list(natural)
    while len(shown) > 1 and not _fits(least, shown, width):
        # Spare columns first, folded ones last, else those on the right. One without a name could not be told of.
        named = [index for index in shown[1:] if heads[index].name]
        if not named:
            break
        shown.remove(max(named, key=lambda index: (heads[index].is_spare, not heads[index].folds, index)))
    widths = {index: least[index] for index in shown}
    spare = width - sum(widths.values()) - GAP * (len(shown) - 1)
    while spare > 0 and (cut := [index for index in shown if widths[index] < natural[index]]):
        narrowest = min(cut, key=lambda index: widths[index])
        widths[narrowest] += 1
        spare -= 1
    return _Layout(widths, [index for index in natural if index not in widths])


def _is_used(cells: Sequence[Sequence[str]], index: int) -> bool:
    return any(row[index] for row in cells)


def _fits(widths: Mapping[int, int], shown: Sequence[int], width: int) -> bool:
    return sum(widths[index] for index in shown) + GAP * (len(shown) - 1) <= width


def _width(head: Head, cells: Sequence[Sequence[str]], index: int) -> int:
    return max([width_of(head.name), *(width_of(row[index]) for row in cells)])


def _width_least(head: Head, natural: int, width: int) -> int:
    """Return the width below which a column is not worth its place: that of whole numbers, and a part of texts.

    Texts that tell rows apart may have most of the width of the table.
    """
    if head.is_key:
        return min(natural, max(width * 3 // 5, TEXT_MIN))
    return natural if head.is_number else min(natural, FOLDED_MIN if head.folds else TEXT_MIN)


def _note_hidden(names: Sequence[str], width: int) -> str:
    if not names:
        return ""
    return "".join(f"{line}\n" for line in wrap_text(f"(no room for: {', '.join(names)})", width))
