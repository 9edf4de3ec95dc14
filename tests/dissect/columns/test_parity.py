"""Columns say what rows say: every record, the ledger, the notes and the damage, on whatever can be captured."""

from collections.abc import Sequence
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, small_batches, table_packets
from tests.dissect.columns.made import FORMS, HARMS, SPOKEN, TROUBLES, Spoken, any_spoken, files_of, packets_made
from tests.dissect.columns.vectors import capture_of
from tests.helpers.vectors import Vector

#: Packets of a table: one whole capture, and so few that each has several; enough for runs in both.
MANY, FEW = 65_536, 61


def check(raw: Sequence[bytes], count: int, protocol: str = "auto") -> None:
    """AssertionError where the two ways through the files differ, with tables of `count` packets."""
    rows = by_rows([BytesIO(each) for each in raw], protocol=protocol)
    with table_packets(count):
        assert_equal(by_columns([BytesIO(each) for each in raw], protocol=protocol), rows)


def test_captures(capture: tuple[Path, Path | None]) -> None:
    rows = by_rows(capture[0])
    for count in (MANY, FEW):
        with table_packets(count):
            assert_equal(by_columns(capture[0]), rows)


def test_vectors(vector: Vector) -> None:
    """The bytes of each vector, said by either side in the midst of a conversation in good order."""
    protocol, raw = capture_of(vector)
    check([raw], MANY, protocol)


@given(
    connections=st.lists(any_spoken(each=(1, 2, 9, 40), mtu=(60, 536, 1460, 30_000)), min_size=1, max_size=4),
    harms=st.frozensets(st.sampled_from(HARMS), max_size=2),
    form=st.sampled_from(FORMS),
    count=st.sampled_from([MANY, FEW, 16]),
    is_small=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_made_captures(
    connections: list[Spoken], harms: frozenset[str], form: str, count: int, is_small: bool, seed: int
) -> None:
    """Any connections, harmed in any way, in any form of file, in tables of `count` packets and batches of any size."""
    with small_batches() if is_small else nullcontext():
        check(files_of(packets_made(connections, harms, seed), form, seed), count)


@pytest.mark.parametrize("protocol", SPOKEN)
@pytest.mark.parametrize("trouble", ["", *TROUBLES])
@pytest.mark.parametrize("each", [1, 12])
def test_each_trouble(protocol: str, trouble: str, each: int) -> None:
    """Every protocol with every trouble, alone on its wire: long runs between the places where something is wrong."""
    spoken = Spoken(protocol, each=each, acks=each > 1, troubles=frozenset([trouble] if trouble else []))
    for seed in range(2):
        raw = files_of(packets_made([spoken], frozenset(), seed, 120), "nano", seed)
        with nullcontext() if seed else small_batches():
            check(raw, FEW if seed else MANY)
