"""Tables of what flows say: frames, exchanges and the like, and one for each message.

A flow is read as a whole, by one task; each task looks for its flows in all captures. That is for a look at some
captures: for many `wiretool pipeline run --engine spark` visits each packet once.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa

from wiretool.capture.index.ranges import read_span
from wiretool.capture.tls.keylog import KeyLog
from wiretool.errors import UsageError
from wiretool.pipeline import layout
from wiretool.pipeline.flows.reading import FlowReader
from wiretool.pipeline.flows.rows import rows_of
from wiretool.pipeline.secrets import collect_secrets, read_keylog
from wiretool.pipeline.shuffle import Shuffle, partition_of
from wiretool.pipeline.spark.planning import Part, planned
from wiretool.pipeline.spark.pushdown import Condition, chosen
from wiretool.pipeline.spark.source_options import SourceOptions
from wiretool.pipeline.tables import FlowRows, Placed
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.arrow.frames import readers
from wiretool.sinks.arrow.shapes import shape_of

#: Packets whose flows one task takes; it sorts them in memory, at some 250 bytes each.
SHARE_PACKETS = 1_000_000
#: What the names of folders tell in the tables of a pipeline.
PLACE = (("date", pa.date32()), ("protocol", pa.string()))


class Share(NamedTuple):
    """The flows of which `partition_of` is `number`, of so many `tasks`, in all captures."""

    number: int
    tasks: int
    parts: Sequence[Part]
    #: All captures as they were given, and by paths that hold everywhere.
    names: Sequence[str]
    files: Sequence[Path]
    #: The lines of a key log.
    secrets: bytes


class FlowTable:
    """One of them, with the date and the protocol of each row as columns."""

    def __init__(self, name: str, schema: pa.Schema) -> None:
        """`schema` as the columns are gathered."""
        self.name = name
        own = readers(schema)
        self.schema = pa.schema([*own, *(pa.field(*each) for each in PLACE if each[0] not in own.names)])

    def shares(self, options: SourceOptions, conditions: Sequence[Condition]) -> list[Share]:
        """All captures in each, as no flow may be cut: no condition leaves any out."""
        paths, optional = options.captures()
        tasks = planned(paths, options.split_bytes, is_strict=options.is_strict, optional=optional)
        parts = [part for task in tasks for part in task]
        packets = sum(part.span.next_number - part.span.since.number for part in parts)
        count = options.splits or -(-packets // SHARE_PACKETS)
        names, files = [str(path) for path in paths], [path.absolute() for path in paths]
        secrets = collect_secrets(paths, read_keylog(Path(options.keylog)) if options.keylog else KeyLog())
        return [Share(number, count, parts, names, files, secrets) for number in range(count if parts else 0)]

    def read(self, share: Share, names: Sequence[str], conditions: Sequence[Condition]) -> Iterator[pa.RecordBatch]:
        """The rows of its flows, flow by flow."""
        with TemporaryDirectory(prefix="wiretool-flows-") as folder, Shuffle(Path(folder), 1) as shuffle:
            for part in share.parts:
                for segments in read_span(part.file, part.span):
                    shuffle.add(_own(rows_of(segments, part.place), share))
            rows = FlowRows(share.names, has_events=self.name == layout.EVENTS)
            for told in FlowReader(share.files, keys=KeyLog.of(share.secrets)).read(shuffle.sorted(0)):
                for placed in rows.placed(told):
                    for batch in self._batches(placed):
                        yield chosen(batch, names, conditions)

    def _batches(self, placed: Placed) -> Iterator[pa.RecordBatch]:
        """The rows, if they are of this table, with what their folder says."""
        (name, day, protocol), rows = placed.folder.parts, placed.rows
        if name != self.name:
            return
        values = {"date": date.fromisoformat(day.partition("=")[2]), "protocol": protocol.partition("=")[2]}
        columns = [
            rows.column(field.name) if field.name in rows.column_names else pa.repeat(values[field.name], len(rows))
            for field in self.schema
        ]
        whole = pa.Table.from_arrays(
            [column.cast(field.type) for column, field in zip(columns, self.schema, strict=True)], schema=self.schema
        )
        yield from whole.combine_chunks().to_batches()


def _own(batch: pa.RecordBatch, share: Share) -> pa.RecordBatch:
    """The rows of the flows of a share."""
    if share.tasks == 1:
        return batch
    flows = batch.column("flow").dictionary_encode()
    is_own = [partition_of(flow, share.tasks) == share.number for flow in flows.dictionary.to_pylist()]
    return batch.filter(pa.array(is_own, pa.bool_()).take(flows.indices))


# -- names -------------------------------------------------------------------------------------------------------------


def flow_table(name: str) -> FlowTable:
    """The table that has that name: as in the folder of a pipeline; UsageError where none has."""
    if name in layout.NAMES:
        return FlowTable(name, layout.schema_of(name))
    protocol, _, message = name.rpartition(".")
    declared = PROTOCOLS.get(protocol)
    if declared is None or message not in {cls.declaration.name for cls in declared.messages}:
        names = ", ".join(["packets", "segments", *layout.NAMES])
        raise UsageError(f"no table {name} of wirecap: it has {names}, and PROTOCOL.MESSAGE for each message")
    return FlowTable(name, shape_of(protocol, message).schema)
