"""Rows dealt out and put in order, against Python's own sorting; from memory and from the disk."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.errors import UsageError
from wiretool.pipeline import shuffle
from wiretool.pipeline.flows.rows import ORDER, SCHEMA

FLOWS = [b"one", b"two", b"three"]


def row(flow: bytes, turn: int, file: int, number: int) -> dict[str, Any]:
    """A row whose other columns say which one it is."""
    others = {"time_ns": turn + 1, "seq": number * 7, "length": 3, "at": -1, "data": f"{flow!r} {number}".encode()}
    return {"flow": flow, "turn_ns": turn, "file": file, "number": number, **others}


@st.composite
def many_rows(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """Batches of rows, no two of the same file and number."""
    keys = st.tuples(st.integers(0, 2), st.integers(1, 99))
    places = draw(st.lists(keys, unique=True, max_size=40))
    rows = [row(draw(st.sampled_from(FLOWS)), draw(st.integers(0, 5)), *place) for place in places]
    if draw(st.booleans()):
        rows.sort(key=in_order)
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    return [rows[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def in_order(one: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(one[name] for name in ORDER)


def shuffled(folder: Path, batches: Sequence[Sequence[dict[str, Any]]], partitions: int) -> list[list[dict[str, Any]]]:
    """What comes out of each partition."""
    with shuffle.Shuffle(folder, partitions) as whole:
        for rows in batches:
            whole.add(pa.RecordBatch.from_pylist(rows, SCHEMA))
        return [
            [one for batch in whole.sorted(partition) for one in batch.to_pylist()] for partition in whole.partitions
        ]


@pytest.mark.parametrize("waiting_bytes", [0, 500, 1 << 30])
@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
@given(batches=many_rows(), partitions=st.integers(1, 4))
def test_each_partition_has_its_flows_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    waiting_bytes: int,
    batch_rows: int,
    batches: list[list[dict[str, Any]]],
    partitions: int,
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shuffle, "WAITING_BYTES_MAX", waiting_bytes)
        patched.setattr(shuffle, "BATCH_ROWS", batch_rows)
        parts = shuffled(folder, batches, partitions)
    given_rows = [one for rows in batches for one in rows]
    for number, part in enumerate(parts):
        flows = [flow for flow, _ in groupby(part, lambda one: one["flow"])]
        assert len(flows) == len(set(flows))
        assert {shuffle.partition_of(flow, partitions) for flow in flows} <= {number}
    for flow in FLOWS:
        got = [one for part in parts for one in part if one["flow"] == flow]
        wanted = sorted((one for one in given_rows if one["flow"] == flow), key=in_order)
        assert [{name: one[name] for name in wanted[0]} for one in got] == wanted if wanted else not got
    assert not list(folder.iterdir())


def test_rows_of_one_flow_that_are_in_order_come_as_large_batches(tmp_path: Path) -> None:
    """They are not put together in memory, but neither are they as small as they came."""
    with pytest.MonkeyPatch.context() as patched, shuffle.Shuffle(tmp_path, 1) as whole:
        patched.setattr(shuffle, "WAITING_BYTES_MAX", 2_000)
        patched.setattr(shuffle, "BATCH_ROWS", 10)
        for number in range(25):
            whole.add(pa.RecordBatch.from_pylist([row(b"one", number, 0, number + 1)], SCHEMA))
        sizes = [batch.num_rows for batch in whole.sorted(0)]
    assert sizes == [10, 10, 5]


def test_a_folder_that_takes_nothing_is_told(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched, shuffle.Shuffle(tmp_path / "none", 1) as whole:
        patched.setattr(shuffle, "WAITING_BYTES_MAX", 0)
        with pytest.raises(UsageError, match="none"):
            whole.add(pa.RecordBatch.from_pylist([row(b"one", 0, 0, 1)], SCHEMA))


def test_rows_that_are_put_in_order_are_in_memory_once(tmp_path: Path) -> None:
    before = pa.total_allocated_bytes()
    with shuffle.Shuffle(tmp_path, 1) as whole:
        for number in range(20):
            one = {**row(b"one", 99 - number, 0, number), "data": bytes(1_000_000)}
            whole.add(pa.RecordBatch.from_pylist([one, {**one, "flow": b"two"}], SCHEMA))
        size = pa.total_allocated_bytes() - before
        batches = whole.sorted(0)
        assert next(batches).num_rows == 40
        assert pa.total_allocated_bytes() - before < 2.5 * size  # all rows, and those of the batch
