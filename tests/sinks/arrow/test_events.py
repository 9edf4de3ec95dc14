"""The table of events of record batches: out of columns the same as out of records."""

from io import BytesIO
from pathlib import Path

import pytest

from tests.bench.sbp_requests import make_capture
from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.records import a_record
from tests.protocols.sbp_0_1.talk import append, batch, fetch, fetched
from tests.sinks.arrow.test_tables import gathered, in_chunks
from wiretool.batches.rows import batch_of
from wiretool.codec.message import Side
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.dissector import Source, read
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp.messages import Schema
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.sinks.arrow.events import EventTables


def check(source: Source, again: Source, patch: pytest.MonkeyPatch) -> list[int | None]:
    """The numbers of the events in a capture, which both ways tell alike: that of columns without a record of any."""
    batches = list(read_batches(source))
    of_records, _ = gathered(in_chunks(list(read(again)), 700))
    patch.setattr("wiretool.sinks.arrow.events.records_of", None)
    of_columns, _ = gathered(batches)
    assert of_columns["events"].equals(of_records["events"])
    singly = {record.n for each in batches for record in each.records}
    told = of_columns["events"].select(["n", "event_number"]).to_pydict()
    assert len(set(told["n"]) - singly) > len(singly)
    return list(told["event_number"])


def test_events_in_batches_that_are_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sbp.pcap"
    make_capture(path, packets=400)
    assert len(check(path, path, monkeypatch)) == 800


@pytest.mark.parametrize("schema", [S1, S2], ids=["S1", "S2"])
def test_events_in_batches_of_the_older_schemas(schema: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that take more than 64 bits are none."""
    said: list[tuple[Side, bytes]] = []
    for at in range(100):
        some = batch(schema, b"a", b"", b"\xff", base_offset=(2**63 - 2, -(2**63), at)[at % 3])
        said += [append(schema, 2 * at, some, some), fetch(schema, 2 * at + 1), fetched(schema, 2 * at + 1, some)]
    raw = pcap_bytes(tcp_packets(said, server=("10.0.0.2", PROTOCOLS["sbp-0.1"].ports[0])))
    numbers = check(BytesIO(raw), BytesIO(raw), monkeypatch)
    assert numbers[:9] == [2**63 - 2, 2**63 - 1, None] * 3
    assert numbers[9:18] == [-(2**63), 1 - 2**63, 2 - 2**63] * 3
    assert numbers[18:27] == [2, 3, 4] * 3
    assert len(numbers) == 900


def test_a_number_that_no_event_can_have_is_none() -> None:
    """Both parts of it are from the wire."""
    records = [{"offset_delta": delta, "body": "a"} for delta in (-1, 0, 1)]
    batches = [{"base_offset": base, "records": records} for base in (2**63 - 1, -(2**63))]
    fields = {"payload": {"hex": "00", "record_batches": batches}}
    table = EventTables().table(batch_of([a_record(protocol="sbp-0.1", message="APPEND", fields=fields)]))
    assert table is not None
    numbers = [2**63 - 2, 2**63 - 1, None, None, -(2**63), 1 - 2**63]
    assert table["event_number"].to_pylist() == numbers
