"""A part of the flows on its way to tables: what one task does, here or on an executor of Spark."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from wiretool.ledger import Account
from wiretool.pipeline.flows.reading import FlowReader, Over
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import File, Input, Manifest
from wiretool.pipeline.tables import FlowTables

#: Notes of one part that are kept; the others are counted. And what is told of each of those.
NOTES_MAX = 100
LEFT_OUT = "another note, of which there were too many to be kept"


class Done(msgspec.Struct):
    """What a part has come to: the files of its tables, the sums over its connections, and what was uncertain."""

    tables: Mapping[str, Sequence[File]] = {}
    total: Account = msgspec.field(default_factory=Account)
    connections: int = 0
    notes: list[str] = []
    notes_left_out: int = 0

    def note(self, text: str) -> None:
        """Take in a note, as long as there are few."""
        if len(self.notes) < NOTES_MAX:
            self.notes.append(text)
        else:
            self.notes_left_out += 1

    def tell_notes(self, tell: Callable[[str], None]) -> None:
        """Tell what was uncertain, each note once: those that were not kept by what they are, for who counts them."""
        for note in self.notes:
            tell(note)
        for _ in range(self.notes_left_out):
            tell(LEFT_OUT)

    def count(self, over: Iterable[Over]) -> None:
        """Take in connections that are over."""
        for each in over:
            self.connections += 1
            self.total.add(each.account.account)


class Files(msgspec.Struct, frozen=True):
    """The inputs by their places: where each is read, and how it is called."""

    paths: Sequence[str]
    names: Sequence[str]


def read_part(job: Job, files: Files, rows: Iterable[pa.RecordBatch], root: Path, part: str) -> Done:
    """Make tables under `root`, in files called `part`, of segment rows that are sorted by `rows.ORDER`.

    CaptureError where a capture cannot be read again, UsageError where the system does not take a table.
    """
    done = Done()
    reader = FlowReader([Path(path) for path in files.paths], notes=done.note, **job.options)
    sink = FlowTables(root, part, files.names, has_events=job.has_events)
    for told in reader.read(rows):
        sink.write(told)
        done.count(told.over)
    done.tables = sink.close()
    return done


def manifest_of(job: Job, engine: str, inputs: Sequence[Input], parts: Iterable[Done]) -> Manifest:
    """All parts as one set of tables."""
    tables: dict[str, list[File]] = {}
    total, connections = Account(), 0
    for part in parts:
        total.add(part.total)
        connections += part.connections
        for name, files in part.tables.items():
            tables.setdefault(name, []).extend(files)
    return Manifest(
        inputs=inputs,
        tables={name: sorted(files, key=lambda file: file.path) for name, files in sorted(tables.items())},
        total=msgspec.to_builtins(total),
        connections=connections,
        engine=engine,
        options=options_of(job),
    )


def options_of(job: Job) -> dict[str, Any]:
    """What a manifest says of how captures were read."""
    return {"protocol": job.protocol, "ports": port_names(job)}


def port_names(job: Job) -> dict[str, str]:
    """The protocols that were given for ports, as JSON has them."""
    return {str(port): name for port, name in job.ports.items()}
