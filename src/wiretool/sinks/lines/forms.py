"""The lines of JSON and of CSV: of many frames at once, or of one record.

Both are the text of sinks/ndjson.py and sinks/csv.py; tests/sinks/lines/test_lines_parity.py compares them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import pyarrow.compute as pc

from wiretool.filter.names import spelt
from wiretool.filter.tokens import steps_of
from wiretool.records import Record
from wiretool.sinks.csv import NAMES, CsvText
from wiretool.sinks.lines.cells import object_of
from wiretool.sinks.lines.strings import Piece, joined
from wiretool.sinks.lines.values import Steps, Values
from wiretool.sinks.ndjson import line_writer
from wiretool.sinks.sink import Columns

#: Both packets of a frame have a cell of their own in CSV.
_CSV_STEPS: dict[str, Steps] = {"first_packet": ("packets", 0), "last_packet": ("packets", 1)}
_JSON_NAMES = tuple("packets" if name == "first_packet" else name for name in NAMES if name != "last_packet")


class Form(ABC):
    """One way to write a line; the line end is not part of it."""

    def __init__(self, columns: Columns | None) -> None:
        self.columns = columns

    @abstractmethod
    def lines(self, values: Values) -> Sequence[Piece]:
        """The lines of a part, in pieces; NoFormError where they have to be written record by record."""

    @abstractmethod
    def line(self, record: Record) -> str:
        """The line of one record."""


def is_known(name: str) -> bool:
    """Whether a chosen column may be found in columns: spelt as we do, and not a time that counts from the first."""
    steps = steps_of(name)
    return bool(steps) and spelt(steps) == name and steps[0] != "time"


class JsonForm(Form):
    """An object of what a record has."""

    def __init__(self, columns: Columns | None = None) -> None:
        super().__init__(columns)
        names = _JSON_NAMES if columns is None else tuple(dict.fromkeys(column.name for column in columns))
        self._steps = {name: steps_of(name) for name in names}
        self._line = line_writer(columns)

    def line(self, record: Record) -> str:
        return self._line(record)

    def lines(self, values: Values) -> Sequence[Piece]:
        cells = [(name, values.at(steps)) for name, steps in self._steps.items()]
        return object_of([(name, cell) for name, cell in cells if cell is not None], values.count)


class CsvForm(Form):
    """Cells with commas between them."""

    def __init__(self, columns: Columns | None = None) -> None:
        super().__init__(columns)
        own: list[Steps] = [_CSV_STEPS.get(name, (name,)) for name in NAMES]
        self._steps = own if columns is None else [steps_of(column.name) for column in columns]
        self._text = CsvText(columns)

    def head(self) -> str:
        """The line of names."""
        return self._text.head()

    def line(self, record: Record) -> str:
        return self._text.of(record)

    def lines(self, values: Values) -> Sequence[Piece]:
        pieces: list[Piece] = []
        for steps in self._steps:
            cell = values.at(steps)
            pieces += [",", "" if cell is None else cell.csv(values.count)]
        if len(self._steps) > 1:
            return pieces[1:]
        # A line without any text would be no row.
        lines = joined(pieces[1:], values.count)
        return [pc.if_else(pc.equal(lines, ""), '""', lines)]
