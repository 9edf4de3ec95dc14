"""Exchanges over batches are those that a reader of one record after another would note, however batches are cut."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dissect.columns.engines import small_batches, table_packets
from tests.dissect.columns.made import HARMS, Spoken, any_spoken, files_of, packets_made
from tests.helpers.records import START_NS, WRITER, a_gap, a_record
from wiretool import limits
from wiretool.analysis.exchange_rows import ASKS, exchanges_of, role_of
from wiretool.analysis.exchanges import NONE, Exchanged, Exchanging
from wiretool.analysis.subjects import Subjects, mention_of
from wiretool.batches.batch import Batch
from wiretool.batches.rows import batch_of
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import read
from wiretool.errors import CaptureError
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.failures import NoSuchSegment
from wiretool.protocols.pravega.messages import (
    AppendBlockEnd,
    AppendSetup,
    DataAppended,
    Hello,
    KeepAlive,
    ReadSegment,
    SetupAppend,
)
from wiretool.records import Record

CAPTURES = Path(__file__).parents[2] / "captures"
#: One of each kind of talk; the other captures are read by the tests of the tables and of parity.
SOME = (
    "offramp/err_counts.pcap",
    "offramp/err_handshake.pcap",
    "offramp/u2k_drop5.pcap",
    "pravega/java_conditional.pcap",
    "pravega/mgmt.pcap",
    "pravega/reconnect.pcap",
    "pravega/txn.pcap",
    "pravega-draft/blocks.pcap",
    "sbp/pd_malformed.pcap",
    "sbp/rs_append.pcap",
    "sbp-0.1/pm_s2_batch.pcap",
    "sbp-0.1/s1_streams.pcap",
)
Row = dict[str, Any]


def rows_of(told: Exchanged) -> Iterator[Row]:
    """The exchanges, what codes stand for in their place."""
    asked = told.requests
    for at in range(len(told)):
        source = told.sources[asked.source[at]]
        reply = told.reply_source[at]
        yield {
            "connection": int(asked.connection[at]),
            "n": int(asked.n[at]),
            "side": source.side,
            "request": source.message,
            "reply": None if reply == NONE else told.sources[reply].message,
            "reply_n": int(told.reply_n[at]),
            "latency_ns": int(told.latency_ns[at]),
            "bytes": (int(asked.size[at]), int(told.reply_size[at])),
            "events": int(asked.events[at]),
            "subject": told.subjects[told.subject[at]],
            "writer": told.writers[asked.writer[at]],
            "failure": told.failures[told.failure[at]],
        }


def exchanged(batches: Iterable[Batch]) -> list[Row]:
    """The exchanges of batches, in the order of their requests."""
    made, rows = Exchanging(), list[Row]()
    with suppress(CaptureError):
        for batch in batches:
            rows += rows_of(made.take(batch))
    rows += rows_of(made.end())
    assert len({(row["connection"], row["n"]) for row in rows}) == len(rows), "each request once"
    return sorted(rows, key=lambda row: (row["connection"], row["n"]))


def noted(records: Iterable[Record]) -> list[Row]:
    """The same as somebody would note it who looks at one record after another."""
    about, asked, rows = Subjects(), dict[tuple[int, int], Row](), list[Row]()
    for record in records:
        if record.kind != "frame":
            continue
        mention, subjects = mention_of(record), about.of(record)
        subject = subjects[0] if subjects else None
        declared = exchanges_of(record.protocol)
        if record.reply_to is not None:
            for row in _answered(asked, record):
                rows.append(row)
                row |= {
                    "reply": record.message,
                    "reply_n": record.n,
                    "latency_ns": max(record.time_ns - row.pop("time_ns"), 0),
                    "bytes": (row["bytes"], record.length),
                    "subject": row["subject"] or subject,
                    "failure": declared.failure(record.message, record.fields),
                }
                del row["protocol"]
        elif _is_request(record) or (record.message, record.side) in declared.may_ask:
            append = record.append or {}
            events = append.get("event_count", NONE if record.events is None else len(record.events))
            asked[record.connection, record.n] = {
                "connection": record.connection,
                "n": record.n,
                "protocol": record.protocol,
                "side": record.side,
                "request": record.message,
                "time_ns": record.time_ns,
                "bytes": append.get("length", record.length),
                "events": events if record.append else _batched(record.fields),
                "subject": subject,
                "writer": mention.key[1] or None if mention.key else None,
                "is_asked": _is_request(record),
            }
    for row in asked.values():
        if row["is_asked"]:
            none = {"reply": None, "reply_n": NONE, "latency_ns": NONE, "failure": None}
            rows.append(row | none | {"bytes": (row["bytes"], NONE)})
    dropped = ("is_asked", "time_ns", "protocol")
    rows = [{name: value for name, value in row.items() if name not in dropped} for row in rows]
    return sorted(rows, key=lambda row: (row["connection"], row["n"]))


def _answered(asked: dict[tuple[int, int], Row], record: Record) -> list[Row]:
    """The open requests that a record answers."""
    first = asked.get((record.connection, record.reply_to or 0))
    if first is None or record.n - first["n"] >= limits.REQUESTS_OPEN_MAX:
        return []
    names = exchanges_of(record.protocol).settles.get(record.message, frozenset())
    settled = [
        row
        for (connection, n), row in asked.items()
        if connection == record.connection
        and n < first["n"]
        and record.n - n < limits.REQUESTS_OPEN_MAX
        and first["request"] in names
        and row["request"] in names
        and row["writer"] == first["writer"] is not None
    ]
    return [asked.pop((row["connection"], row["n"])) for row in [*settled, first]]


def _is_request(record: Record) -> bool:
    """Whether it waits for an answer, where it is none."""
    declared = exchanges_of(record.protocol)
    fields = record.fields
    unless = fields.get(declared.unless) if isinstance(fields, dict) else getattr(fields, declared.unless or "-", None)
    return (record.message, record.side) in declared.asks and not unless


def _batched(fields: Any) -> int:
    payload = fields.get("payload") if isinstance(fields, dict) else None
    lists = [each for each in (payload or {}).values() if isinstance(each, list)] if isinstance(payload, dict) else []
    return sum(len(batch.get("records", [0])) for each in lists for batch in each) if lists else NONE


def records_in(captures: Any) -> list[Record]:
    """The records up to the damage, if any."""
    found: list[Record] = []
    with suppress(CaptureError):
        found.extend(read(captures))
    return found


def cuts(records: Sequence[Record], size: int) -> Iterator[Batch]:
    """Batches of so many records."""
    return (batch_of(records[start : start + size]) for start in range(0, len(records), size))


@pytest.mark.parametrize("name", SOME)
def test_captures(name: str) -> None:
    records = records_in(CAPTURES / name)
    rows = noted(records)
    assert any(row["reply"] for row in rows)
    with table_packets(97):
        assert exchanged(read_batches(CAPTURES / name)) == rows
    for size in (1 if len(records) < 100 else 5, 61, len(records)):
        assert exchanged(cuts(records, size)) == rows


@settings(max_examples=8)
@given(
    connections=st.lists(any_spoken(each=(2, 9), mtu=(536, 1460), troubles_max=2), min_size=1, max_size=2),
    harms=st.frozensets(st.sampled_from(HARMS), max_size=1),
    size=st.integers(1, 50),
    open_max=st.sampled_from([limits.REQUESTS_OPEN_MAX, 40, 5]),
    seed=st.integers(0, 2**32),
)
def test_made_captures(connections: list[Spoken], harms: frozenset[str], size: int, open_max: int, seed: int) -> None:
    """Columns, records and any cut of them say the same, also where little is remembered."""
    raw = files_of(packets_made(connections, harms, seed), "micro", seed)
    records = records_in([BytesIO(each) for each in raw])
    with small_batches():
        batches: list[Batch] = []
        with suppress(CaptureError):
            batches.extend(read_batches([BytesIO(each) for each in raw]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REQUESTS_OPEN_MAX", open_max)
        rows = noted(records)
        assert exchanged(batches) == rows
        assert exchanged(cuts(records, size)) == rows


# -- one by one --------------------------------------------------------------------------------------------------------


def said(n: int, fields: Any, **changes: Any) -> Record:
    """A Pravega frame, captured `n` ms after the start."""
    declared = fields.declaration
    side = "server" if declared.sender == "server" else "client"
    return a_record(
        **(
            {"n": n, "time_ns": START_NS + n * 10**6, "message": declared.name, "fields": fields, "side": side}
            | changes
        )
    )


def append(n: int, number: int) -> Record:
    fields = AppendBlockEnd(
        writer_id=WRITER, size_of_whole_events=40, data=b"", num_events=3, last_event_number=number, request_id=1
    )
    return said(n, fields, append={"segment": "s/t/0", "writer_id": WRITER, "event_count": 3, "length": 900})


def ack(n: int, number: int, reply_to: int) -> Record:
    fields = DataAppended(
        writer_id=WRITER,
        event_number=number,
        previous_event_number=number - 1,
        request_id=1,
        current_segment_write_offset=0,
    )
    return said(n, fields, reply_to=reply_to)


def of_one(*records: Record) -> list[Row]:
    """Their exchanges, the same in one batch and in one a record."""
    rows = exchanged([batch_of(records)])
    assert rows == exchanged(cuts(records, 1)) == noted(records)
    return rows


def test_an_ack_answers_every_append_up_to_it() -> None:
    rows = of_one(append(1, 1), append(2, 2), append(3, 3), ack(4, 2, reply_to=2), append(5, 4), ack(6, 3, reply_to=3))
    assert [(row["n"], row["reply_n"], row["latency_ns"]) for row in rows] == [
        (1, 4, 3_000_000),
        (2, 4, 2_000_000),
        (3, 6, 3_000_000),
        (5, NONE, NONE),
    ]
    assert {(row["events"], row["bytes"][0], row["writer"]) for row in rows} == {(3, 900, WRITER)}


def test_an_append_waits_for_no_more_than_its_own_writer() -> None:
    other = "11111111-2222-3333-4444-555555555555"
    fields = {**_fields(append(1, 1).fields), "writer_id": other}
    stranger = said(1, AppendBlockEnd(**fields))
    setup = said(2, SetupAppend(request_id=7, writer_id=WRITER, segment="s/t/0", delegation_token=""))
    rows = of_one(stranger, setup, append(3, 1), ack(4, 1, reply_to=3))
    assert [row["reply_n"] for row in rows] == [NONE, NONE, 4]
    assert rows[2]["subject"].name == "s/t/0"


def test_subjects_are_followed_where_keys_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 2)
    writers = [f"{digit}0000000-0000-0000-0000-000000000000" for digit in range(3)]
    setups = [
        said(n, SetupAppend(request_id=n, writer_id=writer, segment=f"s/t/{n}", delegation_token=""))
        for n, writer in enumerate(writers, 1)
    ]
    appends = [
        said(n, AppendBlockEnd(**{**_fields(append(n, 1).fields), "writer_id": writer}))
        for n, writer in enumerate(writers, 4)
    ]
    rows = of_one(*setups, *appends)
    assert [row["subject"] and row["subject"].name for row in rows[3:]] == [None, "s/t/2", "s/t/3"]


def _fields(message: Any) -> dict[str, Any]:
    return {name: getattr(message, name) for name in message.__struct_fields__}


def test_a_failure_has_its_name() -> None:
    asks = said(1, ReadSegment(segment="s/t/0", offset=0, suggested_length=9, delegation_token="", request_id=5))
    fails = said(2, NoSuchSegment(request_id=5, segment="s/t/0"), reply_to=1)
    (row,) = of_one(asks, fails)
    assert (row["reply"], row["failure"]) == ("NoSuchSegment", "NoSuchSegment")


def test_a_clock_that_was_set_back_gives_no_time_below_nothing() -> None:
    hello = Hello(high_version=17, low_version=5)
    (row,) = of_one(said(1, hello), said(2, hello, side="server", reply_to=1, time_ns=START_NS - 10**9))
    assert row["latency_ns"] == 0


def test_the_first_of_several_answers_counts() -> None:
    hello = Hello(high_version=17, low_version=5)
    answers = [said(n, hello, side="server", reply_to=1) for n in (2, 3, 4)]
    (row,) = of_one(said(1, hello), *answers)
    assert row["reply_n"] == 2


def test_what_is_answered_too_late_was_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 3)
    hello = Hello(high_version=17, low_version=5)
    gone = [a_gap(n=n) for n in (2, 3)]
    (row,) = of_one(said(1, hello), gone[0], said(3, hello, side="server", reply_to=1))
    assert row["reply_n"] == 3
    (row,) = of_one(said(1, hello), *gone, said(4, hello, side="server", reply_to=1))
    assert row["reply_n"] == NONE


def test_what_is_open_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 50)
    made = Exchanging()
    for first in range(1, 2_000, 20):
        asks = [said(n, KeepAlive(), connection=n % 2, client=f"10.0.0.1:{n}") for n in range(first, first + 20)]
        made.take(batch_of(asks))
        assert len(made._open) <= 50
        assert len(made._sources) <= 1_024 + 2 * 50 + 20
    assert len(list(rows_of(made.end()))) == 50


def test_connections_are_forgotten_one_by_one() -> None:
    made = Exchanging()
    setup = SetupAppend(request_id=7, writer_id=WRITER, segment="s/t/0", delegation_token="")
    told = made.take(batch_of([said(1, setup), said(1, setup, connection=1), said(2, setup, connection=1)]))
    assert not len(told)
    assert [(row["connection"], row["n"]) for row in rows_of(made.forget([1]))] == [(1, 1), (1, 2)]
    assert list(made._about.known) == [(0, WRITER)]
    setup_back = AppendSetup(request_id=7, segment="s/t/0", writer_id=WRITER, last_event_number=-1)
    late = [said(3, setup_back, connection=1, reply_to=1), said(2, setup_back, reply_to=1)]
    assert [(row["connection"], row["n"]) for row in rows_of(made.take(Batch(2, 2, (), late)))] == [(0, 1)]
    assert not len(made.end())


# -- what protocols say of it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROTOCOLS)
def test_only_messages_that_there_are_are_asked(name: str) -> None:
    protocol = PROTOCOLS[name]
    known = {cls.declaration.name for cls in protocol.messages} | {"Unknown", "SYNC_RANGE", "PING", "GOAWAY", "UNKNOWN"}
    declared = protocol.exchanges
    asked = {message for message, _ in declared.asks | declared.may_ask}
    assert declared.asks
    assert asked | declared.failures | set(declared.settles) <= known
    assert all(role_of(name, message, side) == ASKS for message, side in declared.asks)


STATUS = {"header": {"table": "X", "fields": {"status": {"code": 1200}, "entries": [{"status": {"code": 1462}}]}}}


@pytest.mark.parametrize(
    ("protocol", "message", "fields", "expected"),
    [
        ("sbp", "APPEND", STATUS, "RANGE_NOT_FOUND"),
        ("sbp", "FETCH", {"header": {"fields": {"status": {"code": 1204}}}}, None),
        ("sbp", "FETCH", {"header": {"fields": {"status": {"code": 4711}}}}, "4711"),
        ("sbp", "FETCH", {"header": None}, None),
        ("sbp-0.1", "FETCH", {"header": {"fields": {"results": [{"error_code": 2}]}}}, "Invalid_Request"),
        ("sbp-0.1", "FETCH", {"header": {"fields": {"status": {"code": 1502}}}}, "PM_NO_AVAILABLE_DN"),
        ("sbp-0.1", "FETCH", {"header": {"fields": {"results": [{"error_code": 0}]}}}, None),
        ("offramp", "HandshakeResponse", {"status": 404}, "HTTP 404"),
        ("offramp", "HandshakeResponse", {"status": 101}, None),
        ("offramp", "COMMIT_RESPONSE", {"success": False}, "COMMIT_RESPONSE success=false"),
        ("offramp", "COMMIT_RESPONSE", {"success": True}, None),
        ("offramp", "Close", {"code": 1011}, "Close 1011"),
        ("offramp", "Close", {"code": 1000}, None),
        ("offramp", "Pong", {}, None),
        ("pravega-controller", "createStream", {"status": "STREAM_EXISTS"}, "STREAM_EXISTS"),
        ("pravega-controller", "createStream", {"status": "SUCCESS"}, None),
        ("pravega-controller", "Headers", {"grpc_status": "NOT_FOUND"}, "NOT_FOUND"),
        ("pravega-controller", "Headers", {"grpc_status": "OK"}, None),
        ("pravega-controller", "RstStream", {"error_code": "CANCEL"}, "CANCEL"),
        ("pravega-draft", "SegmentIsSealed", {}, "SegmentIsSealed"),
        ("pravega", "DataAppended", {}, None),
        ("no such protocol", "DataAppended", {}, None),
    ],
)
def test_what_answers_say_went_wrong(protocol: str, message: str, fields: Any, expected: str | None) -> None:
    assert exchanges_of(protocol).failure(message, fields) == expected
