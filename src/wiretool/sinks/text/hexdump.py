"""The bytes of a frame, each in the colour of its field, and a legend."""

from collections.abc import Iterator, Sequence

from wiretool.codec.cursor import Span
from wiretool.sinks.printable import cut_to, printable
from wiretool.sinks.text.colour import Colour, cycle
from wiretool.sinks.text.tree import value_of

ROW = 16
LABEL_MAX = 60


def hex_lines(raw: bytes, spans: Sequence[Span], colour: Colour) -> Iterator[str]:
    """The dump, then what each stretch of it is."""
    codes = codes_of(len(raw), spans)
    for at in range(0, len(raw), ROW):
        yield _row(raw, at, codes, colour)
    if spans:
        yield from _legend(spans, colour)


def codes_of(length: int, spans: Sequence[Span]) -> list[str]:
    """For every byte the colour of the span that it is in, empty where it is in none."""
    codes = [""] * length
    for index, span in enumerate(spans):
        start, end = max(span.offset, 0), min(span.offset + span.length, length)
        if start < end:
            codes[start:end] = [cycle(index)] * (end - start)
    return codes


def _row(raw: bytes, at: int, codes: Sequence[str], colour: Colour) -> str:
    row = raw[at : at + ROW]
    cells: list[str] = []
    text: list[str] = []
    for start, end in _runs(codes[at : at + ROW]):
        code = codes[at + start] or "0"
        cells.append(colour.paint(code, " ".join(f"{byte:02x}" for byte in row[start:end])))
        text.append(colour.paint(code, "".join(chr(byte) if 0x20 <= byte < 0x7F else "·" for byte in row[start:end])))
    padding = " " * (3 * (ROW - len(row)))
    return f"{colour.dim(f'{at:>12}')}  {' '.join(cells)}{padding}  {''.join(text)}"


def _runs(codes: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where stretches of one colour begin and end."""
    start = 0
    for at in range(1, len(codes) + 1):
        if at == len(codes) or codes[at] != codes[start]:
            yield start, at
            start = at


def _legend(spans: Sequence[Span], colour: Colour) -> Iterator[str]:
    for index, span in enumerate(spans):
        if not span.length:
            continue
        last = span.offset + span.length - 1
        place = f"{span.offset}" if span.length == 1 else f"{span.offset}..{last}"
        name = cut_to(printable(span.path), LABEL_MAX)
        mark = colour.paint(cycle(index), "■ " if colour.is_on else "")
        yield f"{colour.dim(f'{place:>12}')}  {mark}{name} {colour.dim('=')} {value_of(span)}"
