"""The folder of tables that a pipeline writes: what is where in it, and the manifest that says what belongs to it.

    TABLES/manifest.json
    TABLES/NAME/date=YYYY-MM-DD/protocol=P/part-*.parquet
    TABLES/NAME/batch=N/date=YYYY-MM-DD/protocol=P/part-*.parquet, where a stream writes them

NAME is one of `NAMES`, or PROTOCOL.MESSAGE. The date is that of the row's time in UTC; a row that is of
no protocol of ours is under `none`. These are no columns of the files: who reads the folder gets them from its
names, as in Hive.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from wiretool import __version__
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline import over
from wiretool.sinks.arrow import events, exchanges, frames
from wiretool.sinks.arrow.files import part_of, refused

MANIFEST = "manifest.json"
FRAMES, GAPS, PROBLEMS, EXCHANGES, EVENTS, LEDGER = "frames", "gaps", "problems", "exchanges", "events", "ledger"
#: The tables that there are in any case, apart from `events`, which are asked for.
TABLES = (FRAMES, GAPS, PROBLEMS, EXCHANGES, LEDGER)
#: The folder of what is of no protocol of ours.
NO_PROTOCOL = "none"
#: The version of this layout.
FORMAT = 1
DAY_NS = 86_400 * 1_000_000_000
#: What `frames` has in place of packet numbers over all captures: the file of the first and of the last packet, and
#: their numbers in these, from 1.
_PLACES: tuple[tuple[str, pa.DataType], ...] = (
    ("first_file", pa.dictionary(pa.int32(), pa.string())),
    ("first_packet", pa.int64()),
    ("last_file", pa.dictionary(pa.int32(), pa.string())),
    ("last_packet", pa.int64()),
)


def frames_schema() -> pa.Schema:
    """The columns of `frames`, as they are gathered."""
    fields: list[Any] = []
    for field in frames.SCHEMA:
        if field.name == "first_packet":
            fields += _PLACES
        elif field.name not in ("last_packet", "protocol"):
            fields.append((field.name, field.type))
    return pa.schema(fields)


#: The columns of `gaps` and `problems`: those of `frames` that such a row has.
TROUBLE = (
    "n",
    "time",
    "time_ns",
    "connection",
    "client",
    "server",
    "side",
    "first_file",
    "first_packet",
    "last_file",
    "last_packet",
    "offset",
    "length",
    "error",
    "why",
)


def events_schema() -> pa.Schema:
    """The columns of `events`, as they are gathered: with the time of the frame that they came in."""
    names = [(field.name, field.type) for field in events.SCHEMA]
    return pa.schema([names[0], ("time_ns", pa.int64()), *names[1:]])


def schema_of(name: str) -> pa.Schema:
    """The columns of one of `NAMES`, as they are gathered; KeyError for another."""
    return _SCHEMAS[name]


def _trouble_schema() -> pa.Schema:
    own = frames_schema()
    return pa.schema([own.field(name) for name in TROUBLE])


_SCHEMAS: Mapping[str, pa.Schema] = {
    FRAMES: frames_schema(),
    GAPS: _trouble_schema(),
    PROBLEMS: _trouble_schema(),
    EXCHANGES: pa.schema([field for field in exchanges.SCHEMA if field.name != "protocol"]),
    EVENTS: events_schema(),
    LEDGER: over.SCHEMA,
}
#: All that are of no message.
NAMES = tuple(_SCHEMAS)


def folder_of(name: str, day: int, protocol: str) -> Path:
    """Where rows of a table are, under the root; the day counts from 1970."""
    date = np.datetime64(day, "D")
    return Path(name) / f"date={date}" / f"protocol={protocol or NO_PROTOCOL}"


# -- the manifest ------------------------------------------------------------------------------------------------------


class Input(msgspec.Struct, frozen=True, omit_defaults=True):
    """A capture that was read: its size and when it was changed, its packets, and what was wrong with it."""

    path: str
    size: int
    mtime_ns: int
    packets: int
    first_ns: int = 0
    last_ns: int = 0
    damage: str = ""


class File(msgspec.Struct, frozen=True):
    """A file of a table, by its path under the root."""

    path: str
    rows: int
    bytes: int


class Manifest(msgspec.Struct, frozen=True):
    """What the tables were made of, and the files that they are."""

    inputs: Sequence[Input]
    tables: Mapping[str, Sequence[File]]
    #: What became of every byte, as in the ledger of decode: the sums over all connections.
    total: Mapping[str, int]
    connections: int
    engine: str
    options: Mapping[str, Any]
    wiretool: str = __version__
    format: int = FORMAT
    #: Of a stream: which one it is, how many batches of it are in the tables, and how many flows are open.
    stream: str = ""
    batches: int = 0
    open: int = 0

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return sum(file.rows for file in self.tables.get(name, ()))


def write_manifest(root: Path, manifest: Manifest) -> None:
    """Say what the tables are; from then on they count. UsageError where the system does not take it."""
    path = root / MANIFEST
    with refused(path):
        part_of(path).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        part_of(path).replace(path)


def read_manifest(root: Path) -> Manifest:
    """What the tables in a folder are. UsageError where it has none, CaptureError where they are of another version."""
    path = root / MANIFEST
    try:
        data = path.read_bytes()
    except OSError as err:
        raise UsageError(
            f"{root} holds no tables of wiretool pipeline ({MANIFEST}: {err.strerror}); "
            "make some with `wiretool pipeline run CAPTURES -o TABLES`, or stream"
        ) from err
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.DecodeError as err:
        raise CaptureError(str(path), f"is no manifest of ours: {err}", offset=0) from err
    if manifest.format != FORMAT:
        raise CaptureError(str(path), f"has the format {manifest.format}, this is for {FORMAT}", offset=0)
    return manifest
