"""Sinks of batches that write lines."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from wiretool.batches.batch import Batch
from wiretool.codec.columns import Bytes, Integers
from wiretool.records import Record
from wiretool.sinks.batch_sink import BatchSink
from wiretool.sinks.lines.cells import Columns, NoFormError
from wiretool.sinks.lines.forms import CsvForm, Form, JsonForm, is_known
from wiretool.sinks.lines.parts import Stretch, stretches_of, with_rows
from wiretool.sinks.lines.strings import bytes_of, joined
from wiretool.sinks.lines.values import Values
from wiretool.sinks.ndjson import LINES_MAX
from wiretool.sinks.output import Output
from wiretool.sinks.sink import Column


class LinesSink(BatchSink):
    """Writes each record of the batches as one line of a form, in order."""

    def __init__(self, output: Output, form: Form, *, before: str = "", behind: str = "\n") -> None:
        """`before` and `behind` stand around every line."""
        self._output = output
        self._form = form
        self._before, self._behind = before, behind

    def write(self, batch: Batch) -> None:
        for text in self._texts_of(batch) if batch.text is None else (part.data for part in batch.text):
            self._put(text)

    def render(self, batch: Batch) -> Batch:
        """Return a batch with its text, for a sink of the same form in another process."""
        text = [_bytes_in(each) for each in self._texts_of(batch)]
        return replace(batch, runs=[run.without_fields() for run in batch.runs], text=text)

    def _texts_of(self, batch: Batch) -> Iterator[str | memoryview]:
        # The data of each run, which is made into hex once.
        columns: dict[int, Columns] = {}
        for stretch in stretches_of(batch):
            yield from self._texts(stretch, columns)

    def _put(self, text: str | memoryview) -> None:
        if isinstance(text, str):
            self._output.write(text)
        else:
            self._output.write_utf8(text)

    def _texts(self, stretch: Stretch, columns: dict[int, Columns]) -> Iterator[str | memoryview]:
        lines, numbers, slow = [], [], []
        for part in stretch.parts:
            made = columns.setdefault(id(part.run), Columns(part.run))
            try:
                found = self._form.lines(Values(part, made))
            except NoFormError:
                slow.append(part)
                continue
            lines.append(joined([self._before, *found, self._behind], len(part.numbers)))
            numbers.append(part.numbers)
        records = with_rows(stretch.records, slow)
        if not lines:
            for at in range(0, len(records), LINES_MAX):
                yield "".join(map(self._line, records[at : at + LINES_MAX]))
            return
        if records:
            lines.append(pa.array([self._line(record) for record in records], pa.string()))
            numbers.append(np.array([record.n for record in records], np.int64))
        yield bytes_of(_in_order(lines, numbers)).data

    def _line(self, record: Record) -> str:
        return f"{self._before}{self._form.line(record)}{self._behind}"


def _bytes_in(text: str | memoryview) -> Bytes:
    raw = text.encode(errors="backslashreplace") if isinstance(text, str) else text
    return np.frombuffer(raw, np.uint8)


def _in_order(lines: Sequence[pa.Array], numbers: Sequence[Integers]) -> pa.Array:
    if len(lines) == 1:
        return lines[0]
    order = np.argsort(np.concatenate(numbers), kind="stable")
    return pa.concat_arrays(lines).take(pa.array(order))


class JsonLines(LinesSink):
    """One JSON array of the objects, in batches the same as `JsonSink`."""

    def __init__(self, output: Output, form: JsonForm) -> None:
        super().__init__(output, form, before=",\n", behind="")
        self._is_first = True

    def _put(self, text: str | memoryview) -> None:
        if text and self._is_first:
            self._output.write("[")
            text, self._is_first = text[1:], False
        super()._put(text)

    def end(self) -> None:
        self._output.write("[]\n" if self._is_first else "\n]\n")


class CsvLines(LinesSink):
    """A line of names, then one line a record, in batches the same as `CsvSink`."""

    def __init__(self, output: Output, form: CsvForm) -> None:
        super().__init__(output, form)
        self._head = form.head()

    def begin(self) -> None:
        self._output.write(self._head + "\n")


def lines_sink_for(form: str, output: Output, columns: Sequence[Column] | None) -> BatchSink | None:
    """The sink of batches that writes `ndjson`, `json` or `csv`; nothing where records have to be looked at in turn."""
    if columns is not None and any(not is_known(column.name) for column in columns):
        return None
    if form == "ndjson":
        return LinesSink(output, JsonForm(columns))
    return JsonLines(output, JsonForm(columns)) if form == "json" else CsvLines(output, CsvForm(columns))
