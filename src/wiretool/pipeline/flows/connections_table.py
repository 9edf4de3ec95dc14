"""The table of connections: what became of the bytes of each."""

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter

import pyarrow as pa

from wiretool.ledger import Account
from wiretool.pipeline.flows.reading import Over

_COUNTS = tuple(field.name for field in fields(Account))
#: A row for each connection: when its first and its last packet were captured, how many there were, whether its
#: beginning is among them, how it ended (`How` in `capture/tcp/stream_events.py`) and by whom it was reset; and the
#: ledger's counts.
SCHEMA = pa.schema(
    [
        ("connection", pa.int64()),
        ("client", pa.string()),
        ("server", pa.string()),
        ("time", pa.timestamp("us")),
        ("time_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("packets", pa.int64()),
        ("is_opened", pa.bool_()),
        ("closed", pa.string()),
        ("reset_by", pa.string()),
        *((name, pa.int64()) for name in _COUNTS),
    ]
)


def table_of(over: Sequence[Over]) -> pa.Table:
    """The connections as rows, in their order."""
    connections = [each.connection for each in over]
    first_ns = [connection.first_ns for connection in connections]
    columns = [
        [connection.id for connection in connections],
        [connection.client for connection in connections],
        [connection.server for connection in connections],
        [time_ns // 1000 for time_ns in first_ns],
        first_ns,
        [connection.last_ns for connection in connections],
        [connection.packets for connection in connections],
        [connection.opened for connection in connections],
        [connection.closed or None for connection in connections],
        [connection.reset_by or None for connection in connections],
        *([count(each.account.account) for each in over] for count in map(attrgetter, _COUNTS)),
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
