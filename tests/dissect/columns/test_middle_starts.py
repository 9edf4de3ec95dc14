"""Captures that begin in the middle of their connections have the records of rows, whatever table they begin in."""

import random
from contextlib import ExitStack
from io import BytesIO

import pytest

from tests.dissect.columns.damaged import check_seed
from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, small_batches, table_packets
from tests.dissect.columns.made import Spoken, files_of, packets_made
from tests.dissect.columns.test_owners import owners_changed
from tests.helpers.examples import needs_protocol

PROTOCOLS = ("pravega", "pravega", "pravega", "pravega", "sbp", "offramp", "foreign", "pravega-draft")


def check_middle(seed: int) -> None:
    """AssertionError where columns and rows of the capture of this seed differ."""
    luck = random.Random(seed)
    connections = [
        Spoken(
            luck.choice(PROTOCOLS),
            each=luck.choice((1, 3, 9, 70)),
            mtu=luck.choice((60, 536, 1460, 30_000)),
            acks=luck.random() < 0.4,
            wraps=luck.random() < 0.2,
            end=luck.choice(("fin", "rst", "")),
            troubles=frozenset(("lost",) if luck.random() < 0.05 else ()),
        )
        for _ in range(luck.choice((2, 9, 40)))
    ]
    packets = packets_made(connections, frozenset(), seed, luck.choice((40, 160)))
    packets = packets[luck.randrange(len(packets)) :]
    raw = files_of(packets, "pcap", seed)[0]
    rows = by_rows(BytesIO(raw))
    with ExitStack() as stack:
        if luck.random() < 0.6:
            stack.enter_context(owners_changed(luck, luck.choice((0.0, 0.1))))
        stack.enter_context(table_packets(luck.choice((7, 40, 300, 2_000))))
        if luck.random() < 0.4:
            stack.enter_context(small_batches())
        assert_equal(by_columns(BytesIO(raw)), rows)


@needs_protocol("offramp")
@needs_protocol("sbp-0.1")
@pytest.mark.parametrize("seed", range(12))
def test_captures_that_begin_anywhere_have_the_records_of_rows(seed: int) -> None:
    check_middle(seed)


def test_bytes_that_are_acknowledged_before_they_are_captured() -> None:
    """A flow without its beginning starts with a later payload then, if that is what is acknowledged."""
    check_seed(820_007)
