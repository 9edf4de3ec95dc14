"""Damage of tables: files that are missing or damaged, or that have other rows than their manifest says."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from stat import S_ISREG

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline.layout import MANIFEST, File
from wiretool.sinks.arrow.files import reason

#: The remedy for all damage of tables.
ANEW = "make the tables again"


def check_tables(root: Path, tables: Mapping[str, Sequence[File]]) -> None:
    """Check that each file is there and has the rows that the manifest says; only the ends of files are read.

    CaptureError for the first one that is missing, damaged or different. UsageError where it may not be read.
    """
    files = [file for found in tables.values() for file in found]
    gone = [root / file.path for file in files if not _is_file(root / file.path)]
    if gone:
        others = f" (and {len(gone) - 1:,} more)" if len(gone) > 1 else ""
        raise CaptureError(str(gone[0]), f"no such file, though {MANIFEST} names it{others}; {ANEW}")
    for file in files:
        _check_rows(root / file.path, file.rows)


def _is_file(path: Path) -> bool:
    """Return whether it is there, and a file; UsageError where the system does not let us look."""
    try:
        return S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a name with a null byte
        return False
    except OSError as err:
        raise _unreadable(path, err) from err


def _unreadable(path: Path, err: OSError) -> UsageError:
    why = f"{path} cannot be read, and {MANIFEST} names it: {reason(err)}"
    return UsageError(f"{why}; make it readable, or {ANEW}")


def _check_rows(path: Path, rows: int) -> None:
    try:
        with path.open("rb") as file:
            found = pq.read_metadata(file).num_rows
    except pa.ArrowException as err:
        raise damaged(path) from err
    except OSError as err:
        if err.errno is None:  # Arrow's own, about the content
            raise damaged(path) from err
        raise _unreadable(path, err) from err
    if found != rows:
        raise CaptureError(str(path), f"has {found:,} rows; {MANIFEST} has {rows:,}; {ANEW}")


def damaged(path: Path) -> CaptureError:
    """Return the error for a file that is not a whole table."""
    return CaptureError(str(path), f"a damaged file; expected a whole Parquet file; {ANEW}")


def check_content(selects: Iterable[tuple[Path, str]]) -> None:
    """Read files in full, each by its SELECT; CaptureError names the first that DuckDB cannot read."""
    with duckdb.connect() as database:
        for path, select in selects:
            try:
                for _ in database.sql(select).to_arrow_reader(10_000):
                    pass
            except (duckdb.Error, pa.ArrowException, OSError) as err:
                raise damaged(path) from err
