"""Records as comma-separated values, for spreadsheets and databases."""

import csv
import io
from typing import Any

from wiretool.codec.json_text import json_text
from wiretool.records import Record
from wiretool.sinks.ndjson import chosen, json_record
from wiretool.sinks.output import Output
from wiretool.sinks.printable import printable
from wiretool.sinks.sink import Columns, Sink

#: What every record may have; nested values stand in their column as JSON.
NAMES = (
    "n",
    "kind",
    "time_ns",
    "connection",
    "client",
    "server",
    "side",
    "protocol",
    "message",
    "fields",
    "first_packet",
    "last_packet",
    "offset",
    "length",
    "reply_to",
    "error",
    "why",
    "append",
    "events",
    "left_over",
)


#: How a cell begins that spreadsheets take for a formula; tabs and line ends are escaped before.
FORMULA_BEGINS = ("=", "+", "-", "@")


class CsvText:
    """Writes records as lines of CSV, with `columns` only those; the line end is not part of one."""

    def __init__(self, columns: Columns | None) -> None:
        self._columns = columns
        self._line = io.StringIO()
        self._csv = csv.writer(self._line, lineterminator="\n")

    def head(self) -> str:
        """The line of names."""
        return self._row(NAMES if self._columns is None else [column.name for column in self._columns])

    def of(self, record: Record) -> str:
        """The line of one record."""
        if self._columns is not None:
            values = chosen(record, self._columns)
            return self._row([_cell(values.get(column.name)) for column in self._columns])
        values = json_record(record)
        values["first_packet"], values["last_packet"] = record.packets
        return self._row([_cell(values.get(name)) for name in NAMES])

    def _row(self, cells: Any) -> str:
        self._csv.writerow(cells)
        line = self._line.getvalue()
        self._line.seek(0)
        self._line.truncate()
        return line.removesuffix("\n")


class CsvSink(Sink):
    """A line of names, then one line a record; with `columns` only those."""

    def __init__(self, output: Output, columns: Columns | None = None) -> None:
        self._output = output
        self._text = CsvText(columns)

    def begin(self) -> None:
        self._output.write(self._text.head() + "\n")

    def write(self, record: Record) -> None:
        self._output.write(self._text.of(record) + "\n")


def without_formula(text: str) -> str:
    """Return text that spreadsheets do not run as a formula, with a quote in front where they would."""
    return "'" + text if text.startswith(FORMULA_BEGINS) else text


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):
        return without_formula(printable(value))
    if isinstance(value, bool | dict | list | tuple):
        return json_text(value)
    return value
