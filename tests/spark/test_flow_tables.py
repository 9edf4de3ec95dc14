"""Tables of flows as a data source: the rows that a pipeline writes, however many tasks make them."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.spark import needs_pyspark

needs_pyspark()

from pyspark.sql.datasource import EqualTo, GreaterThan  # noqa: E402

from wiretool.errors import UsageError  # noqa: E402
from wiretool.pipeline.job import Job  # noqa: E402
from wiretool.pipeline.local import run_local  # noqa: E402
from wiretool.pipeline.spark.flow_tables import flow_table  # noqa: E402
from wiretool.pipeline.spark.pushdown import condition_of  # noqa: E402
from wiretool.pipeline.spark.source import reader_of, schema_of  # noqa: E402
from wiretool.pipeline.spark.source_options import source_options_of  # noqa: E402

CAPTURES = Path(__file__).parent.parent.parent / "captures"
CHOSEN = ["pravega/read.pcap", "offramp/u2k_drop5.pcap", "sbp/rs_append.pcap"]
NAMES = ["frames", "gaps", "problems", "exchanges", "events", "ledger", "pravega.ReadSegment", "sbp.APPEND"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    for name in CHOSEN:
        shutil.copy(CAPTURES / name, folder)
    return folder


@pytest.fixture(scope="module")
def tables(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a pipeline makes of them."""
    root = tmp_path_factory.mktemp("made") / "tables"
    run_local(Job([folder], root, has_events=True), lambda text: None, lambda step: None)
    return root


def read(folder: Path, table: str, **options: str) -> pa.Table:
    given = {"path": str(folder), "table": table, **options}
    schema = schema_of(given)
    reader = reader_of(given, schema)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return pa.Table.from_batches(batches, flow_table(table).schema)


def rows_in_order(table: pa.Table) -> list[dict[str, Any]]:
    """All rows, by their keys."""
    found: list[dict[str, Any]] = table.to_pylist()
    return sorted(found, key=lambda row: (row["connection"], row.get("n", 0), row.get("event_number") or 0, repr(row)))


@needs_protocol("offramp")
@pytest.mark.parametrize("name", NAMES)
def test_they_are_those_of_a_pipeline(folder: Path, tables: Path, name: str) -> None:
    found = read(folder, name, splits="2")
    assert found.equals(read(folder, name, splits="2"))
    if not (tables / name).exists():
        assert found.num_rows == 0
        return
    kinds = pa.schema([("date", pa.date32()), ("protocol", pa.string())])
    made = ds.dataset(tables / name, partitioning=ds.partitioning(kinds, flavor="hive")).to_table()
    made = made.select(found.column_names).cast(found.schema)
    assert made.num_rows > 0
    assert rows_in_order(found) == rows_in_order(made)


@needs_protocol("offramp")
@pytest.mark.parametrize("splits", ["1", "5"])
def test_however_many_tasks_there_are(folder: Path, splits: str) -> None:
    assert rows_in_order(read(folder, "frames", splits=splits)) == rows_in_order(read(folder, "frames"))


@needs_protocol("offramp")
def test_conditions_leave_out_rows_and_no_packets(folder: Path) -> None:
    table = flow_table("frames")
    whole = read(folder, "frames").to_pylist()
    middle = sorted(row["time_ns"] for row in whole if row["protocol"] == "pravega")[9]
    filters = [EqualTo(("protocol",), "pravega"), GreaterThan(("time_ns",), middle)]
    conditions = [found for each in filters if (found := condition_of(each, table.schema)) is not None]
    assert len(conditions) == 2
    (share,) = table.shares(source_options_of({"path": str(folder)}), conditions)
    batches = table.read(share, ["connection", "n", "message"], conditions)
    found = pa.Table.from_batches(batches).to_pylist()
    wanted = [row for row in whole if row["protocol"] == "pravega" and row["time_ns"] > middle]
    assert wanted
    assert found == [{name: row[name] for name in ("connection", "n", "message")} for row in wanted]


def test_names_that_there_are_not() -> None:
    said = r"no table {} of wirecap: it has packets, segments, frames, gaps, .*, ledger, and PROTOCOL\.MESSAGE"
    for name in ("frame", "pravega.Apend", "http.GET", ""):
        with pytest.raises(UsageError, match=said.format(name)):
            flow_table(name)
