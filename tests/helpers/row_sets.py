"""Whether two folders of tables have the same rows, however often each, whatever their order and their files.

Rows are read in the three ways in which people read them, and counted by DuckDB. Names of folders that say a batch are
left out: the tables of a single run have none.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow.dataset as ds

from wiretool.pipeline.layout import Manifest, read_manifest

#: A column that only folders of batches say.
BATCH = "batch"


class Compared(NamedTuple):
    """A table as one reader has it: its rows, those that it lacks, and those that it has too many."""

    reader: str
    table: str
    rows: int
    lost: int
    more: int

    @property
    def is_exact(self) -> bool:
        """Whether it has the rows that it is to have, each so often."""
        return not (self.lost or self.more)


def compared(wanted: Path, root: Path) -> Iterator[Compared]:
    """Each table under `root` by each reader against that under `wanted`, which is read as its manifest has it."""
    manifests = {folder: read_manifest(folder) for folder in (wanted, root)}
    names = {name for folder, manifest in manifests.items() for name in (*manifest.tables, *_folders(folder))}
    with duckdb.connect() as database:
        for name in sorted(names):
            has_wanted = _view(database, "wanted", _named, wanted, name, manifests[wanted])
            for reader, read in READERS.items():
                has_found = _view(database, "found", read, root, name, manifests[root])
                yield Compared(reader, name, *_counts(database, has_wanted, has_found))


def _folders(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.is_dir() and not path.name.startswith((".", "_"))]


# -- readers -----------------------------------------------------------------------------------------------------------


def _named(root: Path, name: str, manifest: Manifest) -> ds.Dataset | None:
    """The files that the manifest names."""
    paths = [str(root / file.path) for file in manifest.tables.get(name, ())]
    return ds.dataset(paths, format="parquet", partitioning="hive", partition_base_dir=str(root)) if paths else None


def _below(root: Path, name: str, manifest: Manifest) -> ds.Dataset | None:
    """All that is in the folder of the table."""
    folder = root / name
    return ds.dataset(folder, format="parquet", partitioning="hive") if any(folder.rglob("*.parquet")) else None


def _globbed(root: Path, name: str, manifest: Manifest) -> str | None:
    """What a pattern finds."""
    if not any((root / name).rglob("*.parquet")):
        return None
    return f"SELECT * FROM read_parquet('{root / name}/**/*.parquet', hive_partitioning = true)"


READERS: Mapping[str, Callable[[Path, str, Manifest], ds.Dataset | str | None]] = {
    "manifest": _named,
    "pyarrow": _below,
    "duckdb": _globbed,
}


# -- counts ------------------------------------------------------------------------------------------------------------


def _view(
    database: duckdb.DuckDBPyConnection,
    view: str,
    read: Callable[[Path, str, Manifest], ds.Dataset | str | None],
    root: Path,
    name: str,
    manifest: Manifest,
) -> bool:
    """Have a table of the rows that a reader gives, in columns that all readers have alike; False where it has none."""
    source = read(root, name, manifest)
    if source is None:
        return False
    if not isinstance(source, str):
        database.register("source", source.to_table())
        source = "SELECT * FROM source"
    described = database.execute(f"DESCRIBE {source}").fetchall()
    columns = [_alike(column, kind) for column, kind, *_ in sorted(described) if column != BATCH]
    database.execute(f"CREATE OR REPLACE TABLE {view} AS SELECT {', '.join(columns)} FROM ({source})")
    return True


def _alike(column: str, kind: str) -> str:
    """A column of a type that does not hang on who reads it."""
    is_said_otherwise = column == "date" or kind.startswith("ENUM")
    return f'"{column}"::VARCHAR AS "{column}"' if is_said_otherwise else f'"{column}"'


def _counts(database: duckdb.DuckDBPyConnection, has_wanted: bool, has_found: bool) -> tuple[int, int, int]:
    """The rows that were found, and how many are lost, and too many."""
    wanted, found = (
        _count(database, f"FROM {view}") if has_rows else 0
        for view, has_rows in (("wanted", has_wanted), ("found", has_found))
    )
    if not (has_wanted and has_found):
        return found, wanted, found
    columns = [[row[:2] for row in database.execute(f"DESCRIBE {view}").fetchall()] for view in ("wanted", "found")]
    assert columns[0] == columns[1], f"columns {columns[0]} are {columns[1]}"
    lost = _count(database, "(FROM wanted) EXCEPT ALL (FROM found)")
    more = _count(database, "(FROM found) EXCEPT ALL (FROM wanted)")
    return found, lost, more


def _count(database: duckdb.DuckDBPyConnection, rows: str) -> int:
    ((count,),) = database.execute(f"SELECT count(*) FROM ({rows})").fetchall()
    return int(count)
