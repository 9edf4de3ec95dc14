"""The table of exchanges: its columns as readers see them, out of columns the same as out of records."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.dissect.columns.engines import table_packets
from tests.helpers.examples import needs_protocol
from tests.helpers.records import START_NS, a_record, an_other
from wiretool.batches.rows import batch_of
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import read
from wiretool.protocols.pravega.messages import Hello
from wiretool.sinks.arrow.exchanges import SCHEMA, ExchangeTables
from wiretool.sinks.arrow.frames import readers

CAPTURES = Path(__file__).parents[3] / "captures"


def whole(tables: list[pa.Table | None]) -> list[dict[str, Any]]:
    """The rows of all tables, as readers see them, by the request."""
    found = [table for table in tables if table is not None]
    assert all(table.schema == SCHEMA for table in found)
    rows: list[dict[str, Any]] = pa.concat_tables(found).cast(readers(SCHEMA)).to_pylist()
    return sorted(rows, key=lambda row: (row["connection"], row["n"]))


def test_columns_and_records_make_the_same_rows() -> None:
    path = CAPTURES / "pravega" / "py_bytestream.pcap"
    columns, records = ExchangeTables(), ExchangeTables()
    with table_packets(50):
        of_columns = whole([*(columns.table(batch) for batch in read_batches(path)), columns.end()])
    of_records = whole([records.table(batch_of(list(read(path)))), records.end()])
    assert of_columns == of_records
    assert {row["error"] for row in of_columns} >= {None, "NoSuchSegment", "SegmentIsTruncated"}


def test_a_row() -> None:
    made = ExchangeTables()
    hello = {"message": "Hello", "fields": Hello(high_version=17, low_version=5)}
    asks = a_record(n=4, time_ns=START_NS + 1_999, length=16, **hello)
    answers = a_record(n=5, time_ns=START_NS + 2_500, length=17, side="server", reply_to=4, **hello)
    (row,) = whole([made.table(batch_of([asks, answers, an_other(n=6)]))])
    assert row.pop("time").microsecond == 1
    assert row == {
        "n": 4,
        "connection": 0,
        "client": "10.0.0.1:40000",
        "server": "10.0.0.2:12345",
        "side": "client",
        "protocol": "pravega",
        "time_ns": START_NS + 1_999,
        "request": "Hello",
        "reply": "Hello",
        "reply_n": 5,
        "latency_ns": 501,
        "subject_kind": None,
        "subject": None,
        "writer": None,
        "request_bytes": 16,
        "reply_bytes": 17,
        "events": None,
        "error": None,
    }
    assert made.end() is None


def test_what_was_not_answered_comes_at_the_end_of_its_connection() -> None:
    made = ExchangeTables()
    hello = {"message": "Hello", "fields": Hello(high_version=17, low_version=5)}
    assert made.table(batch_of([a_record(n=1, connection=place, **hello) for place in (3, 9)])) is None
    assert made.forget(4) is None
    (row,) = whole([made.forget(9, 4)])
    assert [row[name] for name in ("connection", "reply", "reply_n", "latency_ns", "reply_bytes")] == [9] + [None] * 4
    assert [row["connection"] for row in whole([made.end()])] == [3]
    assert made.table(batch_of([an_other()])) is None


@needs_protocol("offramp")
def test_text_that_has_no_utf8_is_escaped() -> None:
    made = ExchangeTables()
    names = {"protocol": "offramp", "message": "HandshakeRequest"}
    made.table(batch_of([a_record(fields={"road": "half \ud800"}, **names)]))
    (row,) = whole([made.end()])
    assert (row["subject_kind"], row["subject"]) == ("road", "half \\ud800")
