"""The tables of a pipeline in DuckDB: a view for each, to be read and nothing else."""

import itertools
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline import layout
from wiretool.pipeline.damaged_tables import ANEW, check_content, check_tables
from wiretool.pipeline.layout import Manifest, check_counted, message_tables, read_manifest
from wiretool.pipeline.table_copies import copied
from wiretool.sinks.arrow.frames import readers

#: Nothing is fetched from anywhere.
_CONFIG: Mapping[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
#: What is no character of its own in the name of a file.
_PATTERN = re.compile(r"[\[*?]")
#: What asks for the names of tables, or makes them up.
_EVERY = re.compile(r"show|information_schema|duckdb_|pg_catalog|sqlite_master|query|identifier\s*\(")
#: The beginning of a question about names and types alone.
_SHOWS = re.compile(r"\s*(show|describe|desc)\b(?!\s*\(?\s*(select|with|from|values))", re.IGNORECASE)
#: The column that has the name of the file, where it is asked for; none of a message is called that.
_FILE = "__wiretool_file"


@dataclass(frozen=True, slots=True)
class Times:
    """A stretch of time, ns since the epoch: from the first up to, without it, the second; None for no bound."""

    since_ns: int | None = None
    until_ns: int | None = None

    def condition(self, name: str) -> str:
        """What rows of a table have to keep to; a connection is in it where any of its time is."""
        last = "last_ns" if name == layout.LEDGER else "time_ns"
        parts = [] if self.since_ns is None else [f"{last} >= {self.since_ns}"]
        parts += [] if self.until_ns is None else [f"time_ns < {self.until_ns}"]
        return f" WHERE {' AND '.join(parts)}" if parts else ""


ALWAYS = Times()


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables that can be asked: the database, and what belongs to them."""

    database: duckdb.DuckDBPyConnection
    manifest: Manifest
    #: The folder that has the files: `name`, or a copy of it.
    root: Path
    name: Path


@contextmanager
def opened(
    root: Path,
    times: Times = ALWAYS,
    *,
    more: Sequence[str] = (),
    messages: Callable[[str], bool] | None = None,
    others: Callable[[str], bool] | None = None,
    only_schemas: bool = False,
) -> Iterator[Tables]:
    """The tables in a folder, each a view of its name with the rows in those times.

    A message's is both `"pravega.AppendBlock"` and `pravega.AppendBlock`; names that differ only in capitals, which
    SQL does not tell apart, get a number each; only those are there of which `messages` says so. Tables of a
    stream have one more column, the batch that a row came in. `more` are statements that make further views. Then
    nothing can be written, and nothing read but the files of the tables. Of tables in object storage those are copied
    that `messages` and `others` accept; `only_schemas` is that of `copied`. UsageError where these are none,
    CaptureError where a file of theirs is missing or damaged, RemoteError where a store fails.
    """
    check_text("the name of the folder", str(root.absolute()))
    has_message, has_other = messages or _any, others or _any
    with (
        copied(root, lambda name: (has_message if "." in name else has_other)(name), only_schemas=only_schemas) as copy,
        TemporaryDirectory(prefix="wiretool-sql-") as spill,
    ):
        manifest = read_manifest(copy)
        check_counted(copy, manifest)
        database = duckdb.connect(config={**_CONFIG, "temp_directory": spill})
        try:
            database.execute("SET enable_progress_bar = false")  # on a terminal that others write to
            files = {name: [copy / file.path for file in found] for name, found in manifest.tables.items()}
            check_tables(copy, manifest.tables)
            sources = _Sources(database, files, has_batches=bool(manifest.stream))
            _make_views(database, sources, names_of(manifest), times, has_message)
            for statement in more:
                database.execute(statement)
            _lock(database, [path for paths in files.values() for path in paths])
            yield Tables(database, manifest, copy, root)
        finally:
            database.close()


def _any(name: str) -> bool:
    """Accept every table."""
    return True


def check_text(what: str, value: str) -> None:
    """UsageError for what cannot be handed to DuckDB or Arrow: bytes that are no UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError as err:
        shown = os.fsencode(value).decode("utf-8", "backslashreplace")
        raise UsageError(f"{what} {shown} is not UTF-8; expected UTF-8, as SQL and Parquet require") from err


def _make_views(
    database: duckdb.DuckDBPyConnection,
    sources: "_Sources",
    names: Collection[str],
    times: Times,
    messages: Callable[[str], bool],
) -> None:
    schemas: set[str] = set()
    for name, ending in endings(names).items():
        if "." in name and not messages(name):
            continue
        select = f"SELECT * FROM {sources.of(name)}{times.condition(name)}"
        protocol, _, message = name.rpartition(".")
        try:
            database.execute(f"CREATE VIEW {quoted(name + ending)} AS {select}")
        except duckdb.Error as err:
            sources.check_content(name)
            raise CaptureError(name, f"a table that cannot be read; {ANEW}") from err
        if protocol:
            if protocol not in schemas:
                database.execute(f"CREATE SCHEMA {quoted(protocol)}")
                schemas.add(protocol)
            again = f"SELECT * FROM {quoted(name + ending)}"
            database.execute(f"CREATE VIEW {quoted(protocol)}.{quoted(message + ending)} AS {again}")


def named_in(question: str) -> Callable[[str], bool]:
    """Whether a question may be about the table of a message: to make views of all takes a while."""
    said = question.lower()
    if _EVERY.search(said):
        return lambda _: True
    return lambda name: message_of(name).lower() in said


def others_in(question: str) -> Callable[[str], bool]:
    """Return whether a question may be about a table that is not of a message; views of `gold` read all of these."""
    words = question.lower()
    if "gold" in words or _EVERY.search(words):
        return _any
    return lambda name: name in words


def asks_only_names(question: str) -> bool:
    """Return whether a question is about tables and columns, not about rows."""
    return _SHOWS.match(question) is not None


def endings(names: Collection[str]) -> Mapping[str, str]:
    """What has to be behind each of the names, so that none is taken for another where capitals make no difference.

    Mostly nothing; of names that differ only in capitals each one has a number, `_1`, `_2` and so on, so that a
    question that does not say which of them is meant is about none. A name is told apart from those of all messages
    that we know, so that it stays what it is when the other one comes.
    """
    groups: dict[str, list[str]] = {}
    for name in sorted({*names, *message_tables()}):
        groups.setdefault(name.lower(), []).append(name)
    taken = set(groups)
    found = {group[0]: "" for group in groups.values() if len(group) == 1}
    for name in (name for group in groups.values() if len(group) > 1 for name in group):
        ending = next(end for count in itertools.count(1) if (name + (end := f"_{count}")).lower() not in taken)
        taken.add((name + ending).lower())
        found[name] = ending
    return {name: found[name] for name in sorted(names)}


def told_apart(names: Collection[str], missing: str) -> str:
    """What is to be said, behind an error, of those that have such an ending and would have been meant without it.

    `missing` is the name of a table that is not there, as DuckDB or Spark says it.
    """
    said = re.sub('["`]', "", missing).lower()
    called = [
        f"{name} is {name}{ending}"
        for name, ending in endings(names).items()
        if ending and said in (name.lower(), message_of(name).lower())
    ]
    return f"; capitals make no difference in SQL: {', '.join(called)} here" if called else ""


def names_of(manifest: Manifest) -> Collection[str]:
    """Those of all tables, also of those without a row."""
    return {*manifest.tables, *EMPTY}


def message_of(name: str) -> str:
    """What a table is called without its protocol."""
    return name.rpartition(".")[2]


def folder_columns(*, has_batches: bool) -> pa.Schema:
    """The columns that the names of folders say, from the outside in: a row's batch (of a stream), date, protocol."""
    batch = [("batch", pa.int32())] if has_batches else []
    return pa.schema([*batch, ("date", pa.date32()), ("protocol", pa.string())])


class _Sources:
    """What views are made of: the files of each table, with what the last folders of each say."""

    def __init__(
        self, database: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[Path]], *, has_batches: bool
    ) -> None:
        self._database = database
        self._files = files
        #: The columns that folders say, in their order from the outside in, and their types.
        self._said = self._kinds(folder_columns(has_batches=has_batches))

    def of(self, name: str) -> str:
        """SQL: the rows of a table."""
        return self._read(self._files[name]) if self._files.get(name) else self._empty(name)

    def check_content(self, name: str) -> None:
        """Read the files of a table in full; CaptureError names the first that is damaged."""
        check_content((path, select_all(path)) for path in self._files.get(name, ()))

    def _read(self, paths: Sequence[Path]) -> str:
        """Not as Hive has it: other folders of its path may look like these.

        DuckDB leaves out files of which the name does not suit a condition.
        """
        files = ", ".join(text(_escaped(path)) for path in paths)
        folders = "".join(f"/{name}=([^/]*)" for name in self._said)
        said = [
            f"regexp_extract({_FILE}, '{folders}/[^/]*$', {place})::{kind} AS {name}"
            for place, (name, kind) in enumerate(self._said.items(), 1)
        ]
        return f"""(
            SELECT * EXCLUDE ({_FILE}), {", ".join(said)}
            FROM read_parquet([{files}], hive_partitioning = false, filename = {text(_FILE)})
        )"""

    def _empty(self, name: str) -> str:
        """A table without rows, for one of which there are no files."""
        kinds = {**self._kinds(readers(EMPTY[name])), **self._said}
        columns = ", ".join(f"NULL::{kind} AS {quoted(column)}" for column, kind in kinds.items())
        return f"(SELECT {columns} WHERE false)"

    def _kinds(self, schema: pa.Schema) -> dict[str, str]:
        """The names of columns, and the types that DuckDB has for them."""
        columns = self._database.from_arrow(schema.empty_table())
        return dict(zip(columns.columns, map(str, columns.types), strict=True))


#: What tables have that are there in any case.
EMPTY: Mapping[str, pa.Schema] = {name: layout.schema_of(name) for name in layout.TABLES}


def _lock(database: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> None:
    """From here on only these files can be read, and that stays so."""
    names = {name for path in paths for name in (str(path), _escaped(path))}
    database.execute(f"SET allowed_paths = [{', '.join(map(text, sorted(names)))}]")
    database.execute("SET python_enable_replacements = false")  # variables of ours are no tables
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")


def _escaped(path: Path) -> str:
    r"""The name of a file as DuckDB takes it: as a pattern.

    In patterns `\` stands between folders, and there is no way around that; what matches nothing is taken as it is.
    """
    return str(path) if "\\" in str(path) else _PATTERN.sub(r"[\g<0>]", str(path))


def check_files(root: Path, manifest: Manifest) -> None:
    """Read all files in full, after an error; CaptureError names the first that is damaged."""
    paths = [root / file.path for files in manifest.tables.values() for file in files]
    check_content((path, select_all(path)) for path in paths)


def select_all(path: Path) -> str:
    """Return the SQL for all rows of a file."""
    return f"SELECT * FROM read_parquet({text(_escaped(path))}, hive_partitioning = false)"


# -- SQL ---------------------------------------------------------------------------------------------------------------


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"
