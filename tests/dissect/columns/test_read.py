"""Captures in, batches out: their numbers, notes and damage, and what of others' traffic must not matter."""

from io import BytesIO
from pathlib import Path

import pytest

from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, table_packets
from tests.dissect.columns.made import Spoken, files_of, packets_made
from tests.helpers.captures import pcap_bytes
from wiretool.dissect.columns.read import read_batches
from wiretool.errors import CaptureError

CAPTURES = Path(__file__).parents[3] / "captures"


def test_a_capture_of_nothing() -> None:
    assert [batch.count for batch in read_batches(BytesIO(pcap_bytes([])))] == [0]


def test_damage_comes_after_what_is_before_it() -> None:
    raw = files_of(packets_made([Spoken("pravega")], frozenset(), 1), "pcap", 1)[0]
    counts = []
    with pytest.raises(CaptureError, match="ends early"):
        counts += [batch.count for batch in read_batches(BytesIO(raw[:-9]))]
    rows = by_rows(BytesIO(raw[:-9]))
    assert rows.failure is not None
    assert by_columns(BytesIO(raw[:-9])) == rows


def test_notes_come_in_the_order_of_the_packets() -> None:
    """Connections to one server, some of which do not fit its protocol: each of them is noted."""
    raw = (CAPTURES / "sbp" / "pd_malformed.pcap").read_bytes()
    rows = by_rows(BytesIO(raw))
    assert len(rows.notes) > 1
    for count in (65_536, 61):
        with table_packets(count):
            assert_equal(by_columns(BytesIO(raw)), rows)


def test_bytes_that_come_again_are_compared_as_long_as_rows_compare_them() -> None:
    """A thousand items of another connection between two copies, in one table: the first copy is forgotten."""
    other = Spoken("pravega", mtu=60)
    for seed in range(4):
        mine = Spoken("sbp", troubles=frozenset(["other bytes", "doubled"]), each=9)
        raw = files_of(packets_made([mine, other, other], frozenset(), seed, 600), "pcap", seed)
        assert_equal(by_columns(BytesIO(raw[0])), by_rows(BytesIO(raw[0])))
