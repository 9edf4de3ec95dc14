"""Records as text for people."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from wiretool.analysis.replies import ReplyTimes
from wiretool.codec.cursor import Span
from wiretool.records import Record
from wiretool.sinks.output import Output
from wiretool.sinks.printable import cut_to, width_of
from wiretool.sinks.sink import Column, Columns, Sink
from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.hexdump import hex_lines
from wiretool.sinks.text.line import KIND_COLOUR, Lines
from wiretool.sinks.text.tree import tree_lines
from wiretool.sinks.text.values import short
from wiretool.sinks.text.wrapping import wrap_lines

#: Connections whose line was shown are remembered up to here; then they are introduced again.
INTRODUCED_MAX = 200_000
#: What chosen columns are wide from the start; they grow with what they show, up to the most.
COLUMN_WIDTHS = {"n": 6, "time": 10, "time_ns": 19, "client": 21, "server": 21, "side": 6, "message": 16, "length": 7}
COLUMN_MAX = 40

Annotate = Callable[[Record], Sequence[Span]]


class TextSink(Sink):
    """One line a record, under a line that introduces its connection; with `columns` only those values.

    `tree` adds every field with its place and meaning, `dump` the bytes; both need `annotate`. `width` is that of
    the terminal, 0 for lines of any length.
    """

    def __init__(
        self,
        output: Output,
        *,
        colour: bool = False,
        width: int = 0,
        columns: Columns | None = None,
        annotate: Annotate | None = None,
        tree: bool = False,
        dump: bool = False,
    ) -> None:
        self._put = output.write
        self._colour = Colour(colour)
        self._width = width
        self._columns = None if columns is None else [_Chosen(column) for column in columns]
        self._annotate = annotate
        self._tree = tree
        self._dump = dump
        self._times = ReplyTimes()
        self._lines = Lines(self._colour, width, self._times)
        self._introduced: set[tuple[int, str]] = set()

    @property
    def notice(self) -> str:
        return self._lines.left_out if self._introduced else ""

    def begin(self) -> None:
        if self._columns is not None:
            self._row([column.fitted(column.name) for column in self._columns], self._colour.bold)

    def skip(self, record: Record) -> None:
        self._times.note(record)

    def write(self, record: Record) -> None:
        self._times.note(record)
        if self._columns is not None:
            paint = (lambda text: text) if record.kind == "frame" else self._painter(KIND_COLOUR[record.kind])
            self._row([column.of(record) for column in self._columns], paint)
        else:
            self._introduce(record)
            self._put(self._lines.of(record) + "\n")
        if self._tree or self._dump:
            self._put("".join(f"{line}\n" for line in self._details(record)))

    def _painter(self, code: str) -> Callable[[str], str]:
        return lambda text: self._colour.paint(code, text)

    def _row(self, cells: Iterable[str], paint: Callable[[str], str]) -> None:
        line = "  ".join(cells).rstrip()
        self._put(paint(cut_to(line, self._width) if self._width else line) + "\n")

    def _introduce(self, record: Record) -> None:
        key = (record.connection, record.protocol)
        if key in self._introduced:
            return
        if len(self._introduced) >= INTRODUCED_MAX:
            self._introduced.clear()
        self._introduced.add(key)
        self._put(wrap_lines([self._lines.connection(record)], self._width))

    def _details(self, record: Record) -> Iterable[str]:
        if not record.raw:
            return
        spans = list(self._annotate(record)) if self._annotate and record.kind == "frame" else []
        if self._tree and spans:
            yield from tree_lines(spans, record.message, record.fields, self._colour, self._width)
        if self._dump:
            yield from hex_lines(record.raw, spans, self._colour)
        yield ""


class _Chosen:
    """A column that grows with what it has to show."""

    def __init__(self, column: Column) -> None:
        self.name = column.name
        self._value_in = column.value_in
        self._width = COLUMN_WIDTHS.get(column.name, 0)

    def of(self, record: Record) -> str:
        value: Any = self._value_in(record)
        return self.fitted("" if value is None else f"{value:.6f}" if isinstance(value, float) else short(value))

    def fitted(self, text: str) -> str:
        width = width_of(text)
        self._width = max(self._width, min(width, COLUMN_MAX))
        return text + " " * max(self._width - width, 0)
