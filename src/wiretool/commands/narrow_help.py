"""Pages of help on narrow terminals: each description is below its option, not beside it."""

import re
import shutil
from collections.abc import Sequence
from typing import Any

import typer

#: Below this width, a column of options leaves descriptions less room than their longest words need.
COLUMNS_MIN = 60
#: The right margin that Typer keeps, and the width below which pages do not shrink.
MARGIN, WIDTH_MIN = 2, 20
#: Longer options have their description below them, indented a little further.
BESIDE_MAX = 4
#: No description of a command is so long.
DESCRIPTION_MAX = 10_000


class NarrowContext(typer.Context):
    """The context of a command whose help fits narrow terminals: Typer writes 50 columns or more, and cuts words."""

    def make_formatter(self) -> Any:
        """Return the formatter of a page of help."""
        formatter: Any = super().make_formatter()
        columns = shutil.get_terminal_size().columns
        write_list = formatter.write_dl
        if columns >= COLUMNS_MIN:
            formatter.write_dl = lambda rows: write_list([(label, shown_text(text)) for label, text in rows])
            return formatter
        width = formatter.width = max(columns - MARGIN, WIDTH_MIN)

        def write_stacked(rows: Sequence[tuple[str, str]]) -> None:
            stacked = [(break_choices(label, width), shown_text(text)) for label, text in rows]
            write_list(stacked, col_max=BESIDE_MAX)

        formatter.write_dl = write_stacked
        return formatter


def shown_text(text: str) -> str:
    """Return the help of a parameter as it is shown, with the protocols that are installed."""
    text = re.sub(r"\{(first )?with (\w+)\}", _protocols, text)
    return bare_default(re.sub(r"\{as (\w+)\}", _exportable, text))


def _protocols(place: re.Match[str]) -> str:
    """Return the protocols that have a part, or the first of them, for `{with PART}` or `{first with PART}`."""
    from wiretool.protocols.base.registry import protocols_with

    names = protocols_with(place[2])
    return ", ".join(names[:1] if place[1] else names)


def _exportable(place: re.Match[str]) -> str:
    """Return the protocols that can be exported in a format, for `{as FORMAT}`."""
    from wiretool.commands.export.formats import protocols_as

    return ", ".join(protocols_as(place[1]))


def bare_default(text: str) -> str:
    """Return the help of an option with its default as `[default: 5s]`; Typer puts some of them in parentheses."""
    return re.sub(r"\[default: \((.*?)\)(?=[;\]])", r"[default: \1", text)


def break_choices(label: str, width: int) -> str:
    """Break an option with its choices, as in `--format <text|json>`, into lines that fit the width."""
    lines = [""]
    for part in re.findall(r"\S*?[| ]|\S+", label):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width - BESIDE_MAX:
            lines.append(" " * 2 * BESIDE_MAX)
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def fit_help(command: Any) -> None:
    """Let the help of a command, and of those under it, fit narrow terminals; lists describe each command in full."""
    command.context_class = NarrowContext
    command.short_help = command.get_short_help_str(DESCRIPTION_MAX)
    for each in getattr(command, "commands", {}).values():
        fit_help(each)
