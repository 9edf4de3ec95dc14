"""The folder of tables that a pipeline writes: what is where in it, and the manifest that says what belongs to it.

    TABLES/manifest.json
    TABLES/NAME/date=YYYY-MM-DD/protocol=P/part-*.parquet
    TABLES/NAME/batch=N/date=YYYY-MM-DD/protocol=P/part-*.parquet, where a stream writes them
    TABLES/.wiretool-manifest/N.json, what the manifest of a stream of many batches does not name itself any more

NAME is one of `NAMES`, or PROTOCOL.MESSAGE. The date is that of the row's time in UTC; a row that is of
no protocol of ours is under `none`. These are no columns of the files: who reads the folder gets them from its
names, as in Hive.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from wiretool import __version__
from wiretool.errors import CaptureError, UsageError, why_unreadable
from wiretool.expectations import json_problem
from wiretool.pipeline.flows import connections_table as over
from wiretool.pipeline.private import paths_outside
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.arrow import events, exchanges, frames
from wiretool.sinks.arrow.files import reason, refused
from wiretool.sinks.partial import part_of

T = TypeVar("T")
MANIFEST = "manifest.json"
#: The folder of what belongs to a manifest and is not in it; hidden, as it is none of a table.
SEALED = ".wiretool-manifest"
FRAMES, GAPS, PROBLEMS, EXCHANGES, EVENTS, LEDGER = "frames", "gaps", "problems", "exchanges", "events", "ledger"
#: The tables that there are in any case, apart from `events`, which are asked for.
TABLES = (FRAMES, GAPS, PROBLEMS, EXCHANGES, LEDGER)
#: The folder of what is of no protocol of ours.
NO_PROTOCOL = "none"
#: The version of this layout; and of one with sealed files: who knows nothing of these must not take it for the whole.
FORMAT, FORMAT_SEALED = 1, 2
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


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
TimeNs = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Input(msgspec.Struct, frozen=True, omit_defaults=True):
    """A capture that was read: its size and when it was changed, its packets, and what was wrong with it."""

    path: str
    size: Count
    mtime_ns: TimeNs
    packets: Count
    first_ns: TimeNs = 0
    last_ns: TimeNs = 0
    damage: str = ""


class File(msgspec.Struct, frozen=True):
    """A file of a table, by its path under the root."""

    path: str
    rows: Count
    bytes: Count


class Manifest(msgspec.Struct, frozen=True):
    """What the tables were made of, and the files that they are."""

    inputs: Sequence[Input]
    tables: Mapping[str, Sequence[File]]
    #: What became of every byte, as in the ledger of decode: the sums over all connections.
    total: Mapping[str, Count]
    connections: Count
    engine: str
    options: Mapping[str, Any]
    wiretool: str = __version__
    format: int = FORMAT
    #: Of a stream: which one it is, how many batches of it are in the tables, and how many flows are open.
    stream: str = ""
    batches: Count = 0
    open: Count = 0

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return sum(file.rows for file in self.tables.get(name, ()))


class Head(Manifest, frozen=True):
    """A manifest as its file has it: what the first batches of a stream brought may be in others, `Sealed`."""

    #: How many of those there are.
    sealed: Count = 0
    #: The first inputs are in place of those that have these places among the sealed ones; the others follow them.
    places: Sequence[int] = ()


class Sealed(msgspec.Struct, frozen=True):
    """What some batches of a stream have brought, since the sealed file before it: in a file that nobody changes."""

    stream: str
    #: How many batches of the stream there were with these.
    batches: int
    tables: Mapping[str, Sequence[File]]
    #: As in `Head`.
    inputs: Sequence[Input]
    places: Sequence[int]


def write_manifest(root: Path, manifest: Manifest) -> None:
    """Say what the tables are; from then on they count. UsageError where the system does not take it."""
    write_whole(root / MANIFEST, manifest_bytes(manifest))


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return a manifest as its file has it."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1)


def write_sealed(root: Path, number: int, sealed: Sealed) -> None:
    """Write a sealed file, which counts once a manifest names it. UsageError where the system does not take it."""
    path = sealed_path(root, number)
    with refused(path):
        path.parent.mkdir(exist_ok=True)
    write_whole(path, msgspec.json.encode(sealed))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that has its name once it is whole. UsageError where the system does not take it."""
    with refused(path):
        part_of(path).write_bytes(data)
        part_of(path).replace(path)


def sealed_path(root: Path, number: int) -> Path:
    """Where a sealed file is; they are numbered from 0."""
    return root / SEALED / f"{number:06d}.json"


def read_manifest(root: Path) -> Manifest:
    """What the tables in a folder are, with all that is sealed. Errors as those of `read_head` and `sealed_of`."""
    return whole(root, read_head(root))


def check_counted(root: Path, manifest: Manifest) -> None:
    """Check that a manifest that counts frames names their table; CaptureError otherwise."""
    count = manifest.total.get(FRAMES, 0)
    if count and FRAMES not in manifest.tables:
        why = f"names no table {FRAMES}, though it counts {count:,} of its rows; make the tables again"
        raise CaptureError(str(root / MANIFEST), why)


def whole(root: Path, head: Head) -> Manifest:
    """Return a manifest with all its sealed parts. Errors as those of `sealed_of`."""
    values = {name: getattr(head, name) for name in Manifest.__struct_fields__}
    if not head.sealed:
        return Manifest(**values)
    tables: dict[str, list[File]] = {}
    inputs: list[Input] = []
    parts: Iterable[Sealed | Head] = chain(sealed_of(root, head), [head])
    for each in parts:
        for name, files in each.tables.items():
            tables.setdefault(name, []).extend(files)
        if not fits(len(inputs), each.places, each.inputs):
            raise _no_part(root / MANIFEST, "is in place of captures that there are none of")
        put(inputs, each.places, each.inputs)
    return Manifest(**{**values, "tables": dict(sorted(tables.items())), "inputs": inputs, "format": FORMAT})


def read_head(root: Path) -> Head:
    """What the manifest in a folder says itself, without what is sealed.

    UsageError where there is none, CaptureError where it is damaged or of another version.
    """
    path = root / MANIFEST
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as err:
        raise UsageError(
            f"{root} holds no tables of wiretool pipeline: it has no {MANIFEST}; "
            "make some with `wiretool pipeline run CAPTURES -o TABLES`, or stream"
        ) from err
    except OSError as err:
        raise UsageError(f"{path}: {why_unreadable(err)}; expected a file that you may read") from err
    head = head_in(data, str(path))
    _check_tables(root, path, head.tables)
    return head


def head_in(data: bytes, name: str) -> Head:
    """Return the manifest in a file of that name; CaptureError where it is damaged or of another version."""
    try:
        head = msgspec.json.decode(data, type=Head)
    except (msgspec.DecodeError, RecursionError) as err:
        raise CaptureError(name, f"is not a manifest of wiretool: {json_problem(err)}; make the tables again") from err
    expected = FORMAT_SEALED if head.sealed else FORMAT
    if head.format != expected:
        raise CaptureError(name, f"format {head.format}; expected {expected}; make the tables again")
    return head


@cache
def message_tables() -> frozenset[str]:
    """Return the names of all tables of messages, also of operations that are known by name alone."""
    return frozenset(f"{protocol.name}.{name}" for protocol in PROTOCOLS.values() for name in protocol.message_names)


def _check_tables(root: Path, manifest: Path, tables: Mapping[str, Sequence[File]]) -> None:
    """Check the names in a manifest.

    CaptureError for a table that wiretool does not write, or a file outside the folder, by its path or through a link.
    """
    for name in sorted(tables.keys() - message_tables() - set(NAMES)):
        why = f"names a table that wiretool does not write: {name!a}; make the tables again"
        raise CaptureError(str(manifest), why)
    for wrong in paths_outside(root, (file.path for file in chain.from_iterable(tables.values()))):
        raise CaptureError(str(manifest), f"names a file outside {root}: {wrong!a}; make the tables again")


def sealed_of(root: Path, head: Head) -> Iterator[Sealed]:
    """Return the sealed parts of a manifest, in its order. CaptureError where a file is missing or damaged."""
    inputs = 0
    for number in range(head.sealed):
        path = sealed_path(root, number)
        try:
            sealed = msgspec.json.decode(path.read_bytes(), type=Sealed)
        except (FileNotFoundError, NotADirectoryError) as err:
            why = f"no such file, though {MANIFEST} names it"
            raise CaptureError(str(path), f"{why}; copy tables with their hidden files, or make them again") from err
        except OSError as err:
            raise UsageError(
                f"{path} cannot be read, and {MANIFEST} has a part there: {reason(err)}; "
                "copy tables with their hidden files, or make them again"
            ) from err
        except (msgspec.DecodeError, RecursionError) as err:
            raise _no_part(path, f"is damaged: {json_problem(err)}") from err
        _check_tables(root, path, sealed.tables)
        if sealed.stream != head.stream:
            raise _no_part(path, f"is of the stream {sealed.stream}, not of {head.stream}")
        if not fits(inputs, sealed.places, sealed.inputs):
            raise _no_part(path, "is in place of captures that there are none of")
        inputs += len(sealed.inputs) - len(sealed.places)
        yield sealed


def _no_part(path: Path, why: str) -> CaptureError:
    return CaptureError(
        str(path), f"the part of {MANIFEST} {why}; take it from a copy of the tables, or make them again"
    )


# -- lists of which only what has changed is written -------------------------------------------------------------------


def changed(before: Sequence[T], now: Sequence[T]) -> tuple[list[int], list[T]]:
    """The places of what is another one in a list that has grown since, and all that is new: those, then the others."""
    places = [place for place, (was, each) in enumerate(zip(before, now, strict=False)) if was != each]
    return places, [*(now[place] for place in places), *now[len(before) :]]


def fits(count: int, places: Sequence[int], new: Sequence[T]) -> bool:
    """Whether `put` has a place for all that is new in a list of so many."""
    return len(places) <= len(new) and all(0 <= place < count for place in places)


def put(before: list[T], places: Sequence[int], new: Sequence[T]) -> None:
    """Have in a list what `changed` has found."""
    for place, each in zip(places, new, strict=False):
        before[place] = each
    before.extend(new[len(places) :])
