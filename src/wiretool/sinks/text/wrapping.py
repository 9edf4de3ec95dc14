"""Lines of a report that fit on a terminal."""

import re
from collections.abc import Iterable

from wiretool.sinks.printable import wrap_text

#: Columns by which the rest of a line is indented more than its beginning.
HANGING_INDENT = 2
#: Fewer columns than this are too few for wrapped text: a large indent is reduced.
TEXT_MIN = 24
#: A change of colour, which takes no room, or a character.
_TOKEN = re.compile(r"(\x1b\[[0-9;]*m)|(.)", re.DOTALL)


def wrap_lines(lines: Iterable[str], columns: int) -> str:
    """Return the lines, each wrapped as by `wrap_line`, with newlines."""
    return "".join(f"{part}\n" for line in lines for part in wrap_line(line, columns))


def wrap_line(line: str, columns: int, *, indent: int | None = None) -> list[str]:
    """Return `line`, which may be coloured, in lines of at most `columns`; a single one if `columns` is 0.

    Lines after the first have the given indent, by default the first one's and `HANGING_INDENT`.
    """
    plain = _TOKEN.sub(lambda token: token[2] or "", line)
    text = plain.lstrip(" ")
    begin = len(plain) - len(text)
    if not columns or not text:
        return [line]
    rest = min(begin + HANGING_INDENT if indent is None else indent, max(columns - TEXT_MIN, 0))
    first = max(columns - begin, 1)
    parts = wrap_text(text, max(columns - rest, 1), first=first)
    wrapped = [" " * begin + parts[0], *(" " * rest + part for part in parts[1:])]
    return [line] if len(wrapped) == 1 else _coloured(line, wrapped)


def _coloured(line: str, wrapped: list[str]) -> list[str]:
    """Return the wrapped lines with the colours of the line; only spaces differ between them."""
    tokens = [match.group() for match in _TOKEN.finditer(line)]
    at, out = 0, []
    for part in wrapped:
        text = part.lstrip(" ")
        made = [part[: len(part) - len(text)]]
        left = text
        while left:
            token = tokens[at]
            at += 1
            if token[0] == "\x1b":
                made.append(token)
            elif token == left[0]:
                made.append(token)
                left = left[1:]
        out.append("".join(made))
    out[-1] += "".join(token for token in tokens[at:] if token[0] == "\x1b")
    return out
