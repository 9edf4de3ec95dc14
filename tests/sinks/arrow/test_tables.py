"""The tables hold what the records say: the same from both engines, and nothing is lost on the way."""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import needs_protocol
from tests.helpers.records import a_gap, a_problem, a_record
from wiretool.batches.batch import Batch
from wiretool.batches.rows import batch_of, records_of
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import read, read_hex
from wiretool.errors import CaptureError
from wiretool.ledger import Ledger
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.messages import Hello, KeepAlive
from wiretool.records import Record
from wiretool.sinks.arrow import events, frames
from wiretool.sinks.arrow.events import EventTables
from wiretool.sinks.arrow.folder import Folder
from wiretool.sinks.arrow.frames import frame_table, readers
from wiretool.sinks.arrow.messages import message_tables
from wiretool.sinks.arrow.shapes import shape_of
from wiretool.sinks.arrow.tables import TablesSink

CAPTURES = Path(__file__).parents[3] / "captures"
Tables = dict[str, pa.Table]


def gathered(batches: Iterable[Batch]) -> tuple[Tables, str]:
    """Every table of some batches by its name, and how reading ended."""
    parts: dict[str, list[pa.Table]] = {}
    failure, made = "", EventTables()
    try:
        for batch in batches:
            if not batch.count:
                continue
            parts.setdefault("frames", []).append(frame_table(batch))
            for (protocol, name), table in message_tables(batch):
                parts.setdefault(f"{protocol}.{name}", []).append(table)
            found = made.table(batch)
            if found is not None:
                parts.setdefault("events", []).append(found)
    except CaptureError as err:
        failure = str(err)
    return {name: whole(tables) for name, tables in parts.items()}, failure


def whole(tables: list[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables).unify_dictionaries()
    return table.cast(readers(table.schema)).combine_chunks()


def rows_in(path: Path) -> tuple[list[Record], str]:
    records: list[Record] = []
    try:
        for record in read(path):
            records.append(record)  # noqa: PERF402  (what is in it when the error comes is wanted)
    except CaptureError as err:
        return records, str(err)
    return records, ""


def in_chunks(records: list[Record], size: int) -> Iterator[Batch]:
    for at in range(0, len(records), size):
        yield batch_of(records[at : at + size])


def test_both_engines_make_the_same_tables(own_capture: tuple[Path, Path]) -> None:
    path, _ = own_capture
    records, failure = rows_in(path)
    by_rows, _ = gathered(in_chunks(records, 700))
    by_columns, told = gathered(read_batches(path))
    assert told == failure
    assert by_columns.keys() == by_rows.keys()
    for name, table in by_rows.items():
        assert by_columns[name].equals(table), name
    assert_nothing_is_lost(records, by_rows)


# -- nothing is lost -------------------------------------------------------------------------------------------------


def assert_nothing_is_lost(records: list[Record], tables: Tables) -> None:
    found = {
        row["n"]: row for name, table in tables.items() if name not in ("frames", "events") for row in table.to_pylist()
    }
    framed = [record for record in records if record.kind == "frame"]
    assert sorted(found) == [record.n for record in framed]
    for record in framed:
        row = found[record.n]
        assert (row["time_ns"], row["connection"], row["side"]) == (record.time_ns, record.connection, record.side)
        form = json_form(record.fields) if isinstance(record.fields, Message) else record.fields
        assert form is not None
        rest = json.loads(row["rest"] or "{}")
        for name, value in form.items():
            assert holds(row.get(name), value, rest.get(name)), (record, name, row)


def holds(held: Any, form: Any, rest: Any) -> bool:
    """Whether a JSON value is in the column, or beside it."""
    if held is None:
        return form is None or bool(json.loads(json.dumps(form)) == rest)
    if isinstance(rest, Mapping) and isinstance(form, Mapping):  # a part of it is beside
        form = {name: value for name, value in form.items() if name not in rest}
    if isinstance(form, Mapping) and isinstance(held, Mapping):
        members = {"table": form["table"], **form["fields"]} if form.keys() == {"table", "fields"} else form
        return all(holds(held.get(name), value, None) for name, value in members.items())
    if isinstance(form, list | tuple):
        listed = json.loads(held) if isinstance(held, str) else held
        return len(listed) == len(form) and all(map(holds, listed, form, [None] * len(form)))
    if isinstance(held, bytes):
        return form in (held.hex(), {"hex": held.hex()}, held.decode("utf-8", "replace"))
    if isinstance(held, str):
        return held in (form, str(form)) or bool(json.loads(held) == form)
    return bool(held == form)


@given(st.lists(st.binary(max_size=120), max_size=4), st.sampled_from(list(PROTOCOLS)), st.booleans())
def test_any_bytes_have_their_place(lines: list[bytes], protocol: str, is_server: bool) -> None:
    side: Side = "server" if is_server else "client"
    records = list(read_hex([line.hex() for line in lines], protocol=protocol, side=side))
    for n, record in enumerate(records, 1):
        assert record.n == n
    tables, _ = gathered(in_chunks(records, 3))
    assert_nothing_is_lost(records, tables)
    if records:
        assert tables["frames"]["n"].to_pylist() == [record.n for record in records]


# -- columns ---------------------------------------------------------------------------------------------------------


def every_schema() -> Iterator[pa.Schema]:
    yield frames.SCHEMA
    yield events.SCHEMA
    for protocol in PROTOCOLS.values():
        for name in ("Unknown", *(cls.declaration.name for cls in protocol.messages)):
            yield shape_of(protocol.name, name).schema


def types_in(kind: pa.DataType) -> Iterator[pa.DataType]:
    yield kind
    for index in range(kind.num_fields):
        yield from types_in(kind.field(index).type)


def test_readers_find_only_types_that_everybody_has() -> None:
    plain = {pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.binary(), pa.timestamp("us")}
    for schema in every_schema():
        for field in readers(schema):
            for kind in types_in(field.type):
                assert kind in plain or pa.types.is_struct(kind) or pa.types.is_list(kind), (field, kind)
                assert not pa.types.is_struct(kind) or kind.num_fields


@needs_protocol("offramp")
def test_columns_are_known_before_the_first_message() -> None:
    names = shape_of("pravega", "AppendBlockEnd").schema.names
    assert names[:4] == ["n", "time_ns", "connection", "side"]
    assert names[4:] == [
        *("writer_id", "size_of_whole_events", "data", "num_events", "last_event_number", "request_id"),
        "rest",
    ]
    kind = readers(shape_of("pravega", "UpdateTableEntries").schema).field("table_entries").type
    assert "list<" in str(kind)
    assert str(kind).count("struct<") == 4
    assert readers(shape_of("offramp", "MESSAGE").schema).field("payload").type == pa.string()


def test_a_request_and_its_reply_share_a_table() -> None:
    names = shape_of("pravega-controller", "createStream").schema.names
    assert len(names) == len(set(names))
    header = shape_of("sbp", "APPEND").schema.field("header").type
    assert {header.field(index).name for index in range(header.num_fields)} >= {"table", "timeout_ms", "entries"}


@needs_protocol("offramp")
def test_what_nothing_declares_is_all_rest() -> None:
    assert shape_of("offramp", "Fragment").schema.names == ["n", "time_ns", "connection", "side", "rest"]
    assert shape_of("nobody", "Anything").schema.names[-1] == "rest"


def one(record: Record) -> dict[str, Any]:
    """The row of a frame in the table of its message."""
    ((_, table),) = message_tables(batch_of([record]))
    row: dict[str, Any] = table.to_pylist()[0]
    return row


def test_a_value_that_does_not_fit_its_column_is_kept_beside_it() -> None:
    row = one(a_record(message="Hello", fields={"high_version": "17", "low_version": 5, "more": [1]}))
    assert (row["high_version"], row["low_version"]) == (None, 5)
    assert json.loads(row["rest"]) == {"high_version": "17", "more": [1]}
    row = one(a_record(message="Hello", fields=Hello(high_version=2**70, low_version=5)))
    assert (row["high_version"], json.loads(row["rest"])) == (None, {"high_version": 2**70})
    row = one(a_record(message="Hello", fields=KeepAlive()))
    assert (row["high_version"], row["rest"]) == (None, None)


@needs_protocol("offramp")
def test_half_a_surrogate_pair_is_kept_beside_its_column() -> None:
    row = one(a_record(protocol="offramp", message="ERROR", fields={"type": "ERROR", "reason": "\ud800"}))
    assert row["reason"] is None
    assert json.loads(row["rest"]) == {"reason": "\ud800"}


def test_frames_have_all_that_records_have() -> None:
    append = {"segment": "s", "writer_id": None, "event_number": 2**70, "length": 4, "odd": [1]}
    given = [
        a_record(n=1, reply_to=7, left_over=b"\1", append=append, error="e", why="w"),
        a_gap(n=2),
        a_problem(n=3, why="half \ud800"),
        a_record(n=4, kind="other", protocol="", message="", fields=None),
    ]
    rows = frame_table(batch_of(given)).to_pylist()
    assert [row["kind"] for row in rows] == ["frame", "gap", "problem", "other"]
    assert [row["protocol"] for row in rows][3] is None
    first = rows[0]
    assert (first["first_packet"], first["last_packet"], first["reply_to"], first["left_over"]) == (3, 4, 7, b"\1")
    assert (first["append_segment"], first["append_writer_id"], first["append_length"]) == ("s", None, 4)
    assert json.loads(first["append_rest"]) == {"event_number": 2**70, "odd": [1]}
    assert (first["error"], first["why"]) == ("e", "w")
    assert first["time"].microsecond == first["time_ns"] // 1000 % 10**6
    assert rows[1]["append_rest"] is None
    assert rows[2]["why"] == "half \\ud800"


# -- events ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["pravega/py_inflight.pcap.gz", "pravega/java_conditional.pcap", "pravega/java_mtu1500.pcap.gz"]
)
def test_events_lead_back_to_their_bytes(name: str) -> None:
    records = {record.n: record for record in read(CAPTURES / name)}
    tables, _ = gathered(read_batches(CAPTURES / name))
    rows = tables["events"].to_pylist()
    wanted = [(n, event) for n, record in records.items() for event in record.events or ()]
    assert len(rows) == len(wanted) > 0
    for row, (n, event) in zip(rows, wanted, strict=True):
        body = bytes.fromhex(event["data"])
        assert (row["n"], row["length"], row["crc32"]) == (n, len(body), zlib.crc32(body))
        assert row["event_number"] == event.get("event_number")
        assert row["writer"] == (records[n].append or {})["writer_id"]
        if row["offset"] is not None:
            assert said(records[n], row["offset"], len(body), records) == body
    placed = [row for row in rows if row["offset"] is not None]
    assert len(placed) > len(rows) * 0.8


def said(frame: Record, offset: int, length: int, records: Mapping[int, Record]) -> bytes:
    """Bytes of the stream that a frame is of, out of the frame that has them."""
    for record in records.values():
        if record.kind == "frame" and (record.connection, record.side) == (frame.connection, frame.side):
            at = offset - record.offset
            if at >= 0 and at + length <= record.length:
                return record.raw[at : at + length]
    raise AssertionError(f"no frame has the bytes at {offset}")


def test_a_block_may_end_in_a_later_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    records = list(read(CAPTURES / "pravega/java_conditional.pcap"))
    together, _ = gathered([batch_of(records)])
    apart, _ = gathered(in_chunks(records, 1))
    assert apart["events"].equals(together["events"])
    monkeypatch.setattr("wiretool.sinks.arrow.events.OPEN_BYTES_MAX", 0)
    forgotten, _ = gathered(in_chunks(records, 1))
    assert forgotten["events"]["offset"].null_count > apart["events"]["offset"].null_count


def test_record_batches_are_events() -> None:
    tables, _ = gathered(read_batches(CAPTURES / "sbp/sdk_main.pcap"))
    rows = tables["events"].to_pylist()
    assert rows[0]["event_number"] == 0
    assert rows[0]["crc32"] == zlib.crc32(b"Hello World 00000000!")


@needs_protocol("sbp-0.1")
def test_records_in_batches_of_the_older_schemas_are_numbered() -> None:
    batches = [
        {"base_offset": 7, "records": [{"offset_delta": 0, "body": "a"}, {"offset_delta": 1, "body": {"hex": "ff"}}]}
    ]
    fields = {"payload": {"hex": "00", "record_batches": batches}}
    table = EventTables().table(batch_of([a_record(protocol="sbp-0.1", message="APPEND", fields=fields)]))
    assert table is not None
    assert table["event_number"].to_pylist() == [7, 8]
    assert table["crc32"].to_pylist() == [zlib.crc32(b"a"), zlib.crc32(b"\xff")]
    assert EventTables().table(batch_of([a_record()])) is None


# -- the sink --------------------------------------------------------------------------------------------------------


def written(folder: Path, form: str, batches: Iterable[Batch], *, has_events: bool = True) -> Ledger:
    ledger = Ledger()
    sink = TablesSink(Folder(folder), form, ledger, has_events=has_events)
    sink.begin()
    for batch in batches:
        sink.write(batch)
    sink.start()
    sink.end()
    return ledger


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_files_hold_the_tables(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wiretool.sinks.arrow.files.GROUP_ROWS", 50)
    path = CAPTURES / "pravega/write.pcap"
    records = list(read(path))
    tables, _ = gathered(in_chunks(records, 40))
    written(tmp_path / "out", form, in_chunks(records, 40))
    found = sorted(each.relative_to(tmp_path / "out") for each in (tmp_path / "out").rglob("*.*") if each.is_file())
    messages = {Path("messages") / f"{name}.{form}" for name in tables if "." in name}
    assert set(found) == {Path(f"frames.{form}"), Path(f"events.{form}"), Path("ledger.json"), *messages}
    for each in found[:-1] if found[-1].suffix == ".json" else [each for each in found if each.suffix != ".json"]:
        table = read_back(tmp_path / "out" / each)
        assert table.schema.equals(tables[each.stem].schema) or each.stem in ("frames", "events")
        assert table.to_pylist() == tables[each.stem].to_pylist()
    if form == "parquet":
        assert pq.ParquetFile(tmp_path / "out/frames.parquet").num_row_groups > 10


def read_back(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.read_all()


def test_much_that_waits_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wiretool.sinks.arrow.open_tables.WAITING_BYTES_MAX", 20_000)
    written(tmp_path / "out", "parquet", in_chunks(list(read(CAPTURES / "pravega/write.pcap")), 100))
    assert pq.ParquetFile(tmp_path / "out/frames.parquet").num_row_groups > 3


def test_many_records_are_made_into_tables_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = list(read(CAPTURES / "pravega/write.pcap"))
    written(tmp_path / "whole", "parquet", [batch_of(records)])
    monkeypatch.setattr("wiretool.sinks.arrow.tables.RECORDS_AT_ONCE", 7)
    written(tmp_path / "parts", "parquet", [batch_of(records)])
    names = [path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*.parquet")]
    assert len(names) > 5
    for name in names:
        assert pq.read_table(tmp_path / "parts" / name).equals(pq.read_table(tmp_path / "whole" / name)), name


@needs_protocol("offramp")
def test_the_ledger_lies_beside_the_tables(tmp_path: Path) -> None:
    ledger = Ledger()
    sink = TablesSink(Folder(tmp_path / "out"), "parquet", ledger)
    for batch in read_batches(CAPTURES / "offramp/plain.pcap", ledger=ledger):
        sink.write(batch)
    sink.end()
    assert json.loads((tmp_path / "out/ledger.json").read_text()) == ledger.as_json()


def test_no_records_make_empty_tables(tmp_path: Path) -> None:
    written(tmp_path / "out", "parquet", [])
    assert pq.read_table(tmp_path / "out/frames.parquet").num_rows == 0
    assert pq.read_schema(tmp_path / "out/events.parquet").names == events.SCHEMA.names


def test_records_of_a_filtered_batch(tmp_path: Path) -> None:
    """Groups need not have all the frames of their run."""
    for batch in read_batches(CAPTURES / "pravega/py_inflight.pcap.gz"):
        for run in batch.runs:
            kept = [group.take(group.rows % 2 == 0) for group in run.groups]
            some = Batch(batch.first_n, sum(len(group.rows) for group in kept), [_with(run, kept)], ())
            if some.count:
                assert frame_table(some)["n"].to_pylist() == [record.n for record in records_of(some)]


def _with(run: Any, groups: Any) -> Any:
    from dataclasses import replace

    return replace(run, groups=groups)
