"""Tables made by hand in a database, as the views of a pipeline have them."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from wiretool.pipeline.gold import GOLD
from wiretool.pipeline.views import EMPTY
from wiretool.sinks.arrow.frames import readers

START_NS = 1_700_000_000_000_000_000
Rows = Sequence[Mapping[str, Any]]
#: What of a row matters to none of the questions.
_USUAL: Mapping[str, Mapping[str, Any]] = {
    "frames": {"kind": "frame", "connection": 1, "side": "client", "message": "Hello", "length": 10, "n": 1},
    "exchanges": {
        "n": 1,
        "connection": 1,
        "client": "10.0.0.1:40000",
        "server": "10.0.0.2:12345",
        "side": "client",
        "request": "Hello",
        "reply": "Hello",
        "request_bytes": 10,
    },
    "ledger": {
        "connection": 1,
        "client": "10.0.0.1:40000",
        "server": "10.0.0.2:12345",
        "is_opened": True,
        "frames": 1,
        "packets": 9,
    },
}
_FIELDS = {
    name: pa.schema([*readers(schema), ("date", pa.date32()), ("protocol", pa.string())])
    for name, schema in EMPTY.items()
}


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all tests of a run: to make the views takes longest."""
    database = duckdb.connect()
    for name, fields in _FIELDS.items():
        database.register("none", fields.empty_table())
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM none")
    for statement in GOLD:
        database.execute(statement)
    return database


def asked(**tables: Rows) -> duckdb.DuckDBPyConnection:
    """A database with tables of these rows, the others without any, and the gold tables over them."""
    database = _database()
    for name, fields in _FIELDS.items():
        usual = {"time_ns": START_NS, "protocol": "pravega", **_USUAL.get(name, {})}
        database.execute(f"DELETE FROM {name}")
        if tables.get(name):
            database.register("rows", pa.Table.from_pylist([{**usual, **row} for row in tables[name]], fields))
            database.execute(f"INSERT INTO {name} SELECT * FROM rows")
            database.unregister("rows")
    return database


def rows_of(database: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """The rows of a query."""
    found: list[dict[str, Any]] = database.sql(query).to_arrow_table().to_pylist()
    return found
