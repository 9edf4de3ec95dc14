"""Questions in SQL about the tables of a pipeline, and their answers in several forms."""

import csv
import datetime
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from wiretool.codec.json_text import json_text
from wiretool.codec.jsonform import CLOSE
from wiretool.errors import UsageError
from wiretool.pipeline.gold import GOLD
from wiretool.pipeline.sql_problem import sql_problem
from wiretool.pipeline.views import (
    Tables,
    asks_only_names,
    check_files,
    check_text,
    endings,
    named_in,
    names_of,
    opened,
    others_in,
    quoted,
    told_apart,
)
from wiretool.sinks.arrow.files import refused
from wiretool.sinks.choose import is_coloured, width_of
from wiretool.sinks.csv import without_formula
from wiretool.sinks.output import Output
from wiretool.sinks.partial import part_of
from wiretool.sinks.printable import printable
from wiretool.sinks.text.tables import Head, table_text

#: Rows that are fetched at a time, and those that a person is shown.
ROWS_AT_ONCE = 10_000
ROWS_SHOWN = 1_000
#: Columns of text where there is no terminal: nothing is cut.
_WIDTH_MAX = 100_000
#: Types that Arrow has none of: DuckDB would hand over bytes of its own, and times of day without their zone.
_TOLD_AS_TEXT = ("BIT", "TIME WITH TIME ZONE")
#: Errors about the words of the question, for which no file is read.
_OWN_TEXT = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
#: How DuckDB says that a table is not there.
_NO_TABLE = re.compile(r'Catalog Error: Table with name "?(.+?)"? does not exist')


def write_answer(found: pa.RecordBatchReader, output: Output, form: str = "text") -> None:
    """Write what was found as `text`, `json`, `ndjson` or `csv`. UsageError where something shows to be wrong in it."""
    _WRITERS[form](found, output)


def write_parquet(found: pa.RecordBatchReader, path: Path) -> None:
    """Write it as a Parquet file, which is there when it is whole."""
    check_text("the name", str(path.absolute()))
    with refused(path):
        try:
            with pq.ParquetWriter(part_of(path), found.schema, compression="zstd") as file:
                for batch in _batches(found):
                    file.write_batch(batch)
            part_of(path).replace(path)
        finally:
            part_of(path).unlink(missing_ok=True)


def _check(question: str) -> None:
    """UsageError for all but one statement that reads: others could write over what can be read."""
    check_text("the question", question)
    try:
        statements = duckdb.extract_statements(question)
    except duckdb.Error as err:
        raise UsageError(sql_problem(err)) from err
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError("only a single read-only statement is allowed (SELECT, DESCRIBE, SHOW ALL TABLES, SUMMARIZE)")


@contextmanager
def asked(root: Path, question: str) -> Iterator[pa.RecordBatchReader]:
    """The rows that a SELECT about the tables gives, as long as the block runs. UsageError where it is none."""
    _check(question)
    messages, others, only_schemas = named_in(question), others_in(question), asks_only_names(question)
    with opened(root, more=GOLD, messages=messages, others=others, only_schemas=only_schemas) as tables:
        try:
            found = _for_arrow(tables.database.sql(question)).to_arrow_reader(ROWS_AT_ONCE)
        except duckdb.Error as err:
            if not isinstance(err, _OWN_TEXT):
                check_files(tables.root, tables.manifest)
            raise UsageError(_why(err, tables)) from err
        try:
            yield found
        except UsageError as err:
            if isinstance(err.__cause__, (duckdb.Error, pa.ArrowException)):
                check_files(tables.root, tables.manifest)
            raise


def _why(err: duckdb.Error, tables: Tables) -> str:
    """What is wrong, in a line. Of a table that is not there DuckDB knows less: not all are shown to it."""
    found = _NO_TABLE.match(str(err))
    if found is None:
        return sql_problem(err)
    missing = found[1]
    hint = told_apart(names_of(tables.manifest), missing) or _near(missing, tables)
    return f"there is no table {missing}{hint}; SHOW ALL TABLES names all"


def _near(missing: str, tables: Tables) -> str:
    """The table that is called nearly so, as it is to be written, if there is one."""
    gold = tables.database.execute("SELECT view_name FROM duckdb_views() WHERE schema_name = 'gold'").fetchall()
    every = [name + ending for name, ending in endings(names_of(tables.manifest)).items()]
    known: dict[str, str] = {}
    for name in (*every, *(f"gold.{name}" for (name,) in gold)):
        schema, _, own = name.rpartition(".")
        written = name if not schema or schema.isidentifier() else f"{quoted(schema)}.{own}"
        known |= {own.lower(): written, name.lower(): written}
    close = get_close_matches(missing.lower(), known, n=1, cutoff=CLOSE)
    return f" (did you mean {known[close[0]]}?)" if close else ""


def _for_arrow(found: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    kinds = list(map(str, found.types))
    if not set(_TOLD_AS_TEXT).intersection(kinds):
        return found
    columns = [f"#{number}{'::VARCHAR' if kind in _TOLD_AS_TEXT else ''}" for number, kind in enumerate(kinds, 1)]
    return found.project(
        ", ".join(f"{column} AS {quoted(name)}" for column, name in zip(columns, found.columns, strict=True))
    )


def _batches(found: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The rows in pieces; what is wrong may show only where it is reached."""
    try:
        yield from found
    except (duckdb.Error, pa.ArrowException, OSError) as err:
        raise UsageError(sql_problem(err)) from err


def _rows(found: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    for batch in _batches(found):
        yield from zip(*map(_values, batch.columns), strict=True)


def _names(found: pa.RecordBatchReader) -> list[str]:
    """The names of the columns, of which later ones get a number where one came before."""
    names: list[str] = []
    for name in found.schema.names:
        count = 1
        while (named := name if count == 1 else f"{name}_{count}") in names:
            count += 1
        names.append(named)
    return names


# -- values ------------------------------------------------------------------------------------------------------------


def _values(column: pa.Array) -> list[Any]:
    """The values of a column as JSON has them; times that Python has none of, as DuckDB tells them."""
    try:
        return _plain_all(column.to_pylist())
    except (OverflowError, ValueError):
        pass
    if pa.types.is_nested(column.type):
        return [_nested(value) if value.is_valid else None for value in column]
    return [_plain_or(text, value) for text, value in zip(_texts(column), column, strict=True)]


def _nested(value: Any) -> Any:
    """A struct, a list or a map of such times."""
    if isinstance(value, pa.StructScalar):
        return {name: _values(pa.array([each], each.type))[0] for name, each in value.items()}
    pairs = _values(value.values)
    return [list(pair.values()) for pair in pairs] if isinstance(value, pa.MapScalar) else pairs


def _texts(column: pa.Array) -> list[str]:
    table = duckdb.from_arrow(pa.table({"value": column}))  # in a database of no files, apart from that of the tables
    return [text for (text,) in table.project("value::VARCHAR").fetchall()]


def _plain_or(text: str, value: Any) -> Any:
    try:
        return _plain(value.as_py())
    except (OverflowError, ValueError):
        return text


def _plain_all(values: Iterable[Any]) -> list[Any]:
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """A value as JSON has it: bytes in hex, times as ISO 8601, nothing for what is no number."""
    match value:
        case bytes():
            return value.hex()
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case datetime.timedelta() | datetime.datetime() | datetime.date() | datetime.time():
            return str(value) if isinstance(value, datetime.timedelta) else value.isoformat()
        case pa.MonthDayNano():
            return f"P{value.months}M{value.days}DT{value.nanoseconds / 10**9:.9g}S"
        case list() | tuple():  # a map is pairs
            return _plain_all(value)
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case None | bool() | int() | str():
            return value
    return str(value)


def _told(value: Any) -> str:
    """A value for a person, or in a cell: text as the CSV of decode has it."""
    return printable(value) if isinstance(value, str) else json_text(value)


# -- forms -------------------------------------------------------------------------------------------------------------


def _write_text(found: pa.RecordBatchReader, output: Output) -> None:
    """A table; of very many rows the first."""
    rows = _rows(found)
    shown = list(islice(rows, ROWS_SHOWN))
    is_number = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in found.schema]
    heads = [Head(printable(name), number) for name, number in zip(_names(found), is_number, strict=True)]
    cells = [["null" if value is None else _told(value) for value in row] for row in shown]
    output.write(table_text("", heads, cells, colour=is_coloured(output), width=width_of(output) or _WIDTH_MAX))
    if len(shown) == ROWS_SHOWN and next(rows, None) is not None:
        output.write(f"these are the first {ROWS_SHOWN:,} rows: --format csv or ndjson gives all\n")


def _cell(value: Any) -> str:
    """Return a value as a cell that spreadsheets do not run as a formula."""
    if value is None:
        return ""
    return without_formula(printable(value)) if isinstance(value, str) else json_text(value)


def _write_csv(found: pa.RecordBatchReader, output: Output) -> None:
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    writer.writerow(without_formula(printable(name)) for name in _names(found))
    for row in _rows(found):
        writer.writerow(map(_cell, row))
        if line.tell() >= ROWS_AT_ONCE:
            output.write(line.getvalue())
            line.seek(0)
            line.truncate()
    output.write(line.getvalue())


def _write_ndjson(found: pa.RecordBatchReader, output: Output) -> None:
    names = _names(found)
    for row in _rows(found):
        output.write(f"{json_text(dict(zip(names, row, strict=True)))}\n")


def _write_json(found: pa.RecordBatchReader, output: Output) -> None:
    names, before = _names(found), "["
    for row in _rows(found):
        output.write(f"{before}\n{json_text(dict(zip(names, row, strict=True)))}")
        before = ","
    output.write("[]\n" if before == "[" else "\n]\n")


_WRITERS: Mapping[str, Callable[[pa.RecordBatchReader, Output], None]] = {
    "text": _write_text,
    "csv": _write_csv,
    "ndjson": _write_ndjson,
    "json": _write_json,
}
