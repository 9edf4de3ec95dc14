"""The data source in Spark itself: found without being registered, and the same rows however it is read."""

import re
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pyarrow as pa
import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.spark import needs_pyspark

needs_pyspark()

from pyspark.sql.datasource import InputPartition  # noqa: E402

from wiretool.capture.index.build import index_of  # noqa: E402
from wiretool.capture.index.ranges import read_span  # noqa: E402
from wiretool.errors import UsageError  # noqa: E402
from wiretool.pipeline import packets  # noqa: E402
from wiretool.pipeline.flows import rows  # noqa: E402
from wiretool.pipeline.spark.source import FilteringReader, reader_of, schema_of  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAPTURES = Path(__file__).parent.parent.parent / "captures"
CHOSEN = ["pravega/read.pcap", "pravega/java_large.pcap.gz", "offramp/plain_dumpcap.pcapng", "sbp/mixed_noise.pcap"]
SUMS = ["count(*)", "sum(length)", "sum(crc32(data))", "sum(seq)", "sum(src_port)", "sum(number)"]
Read = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few captures of ours, where an index may be written beside them."""
    folder = tmp_path_factory.mktemp("captures")
    for name in CHOSEN:
        shutil.copy(CAPTURES / name, folder)
    return folder


@pytest.fixture
def read(spark: "SparkSession", folder: Path) -> Read:
    return lambda **options: spark.read.format("wirecap").options(**options).load(str(folder))


def own_table(options: dict[str, str]) -> pa.Table:
    """What the reader gives, without Spark."""
    reader = reader_of(options, schema_of(options))
    return pa.Table.from_batches(batch for part in reader.partitions() for batch in reader.read(part))


def own_rows(options: dict[str, str]) -> list[dict[str, Any]]:
    """The same, row by row."""
    found: list[dict[str, Any]] = own_table(options).to_pylist()
    return found


# -- without a session -------------------------------------------------------------------------------------------------


@needs_protocol("offramp")
def test_however_it_is_split_the_packets_are_the_same(folder: Path) -> None:
    whole = own_table({"path": str(folder)})
    assert len(whole) > 2000
    for split in (2000, 50_000):
        assert own_table({"path": str(folder), "splitBytes": str(split)}).equals(whole)


@needs_protocol("offramp")
def test_however_it_is_split_the_segments_are_the_same(folder: Path) -> None:
    whole = own_table({"path": str(folder), "table": "segments"})
    expected = pa.Table.from_batches(
        rows.rows_of(segments, place)
        for place, path in enumerate(sorted(folder.glob("[!.]*")))
        for segments in read_span(path, index_of(path).span())
    )
    assert whole.equals(expected)
    assert own_table({"path": str(folder), "table": "segments", "splitBytes": "3000"}).equals(whole)


@needs_protocol("offramp")
def test_batches_have_the_very_types_that_spark_wants(folder: Path) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    for table, wanted in (("packets", packets.SCHEMA), ("segments", rows.SCHEMA)):
        options = {"path": str(folder), "table": table}
        schema = schema_of(options)
        batch = next(iter(reader_of(options, schema).read(reader_of(options, schema).partitions()[0])))
        assert batch.schema.equals(to_arrow_schema(schema, timezone="UTC"))
        assert batch.schema.names == wanted.names
        assert [field.type for field in batch.schema] == [field.type for field in wanted]


@needs_protocol("offramp")
def test_columns_that_there_are_not(folder: Path) -> None:
    from pyspark.sql.types import IntegerType, LongType, StructType

    options = {"path": str(folder)}
    with pytest.raises(UsageError, match="no column seqence in the table packets of wirecap: it has time, time_ns"):
        reader_of(options, StructType().add("seqence", LongType()))
    with pytest.raises(UsageError, match="the column seq of the table packets is bigint, not int"):
        reader_of(options, StructType().add("seq", IntegerType()))


@needs_protocol("offramp")
def test_no_filters_are_taken_where_spark_has_not_asked(folder: Path) -> None:
    options = {"path": str(folder)}
    assert not isinstance(reader_of(options, schema_of(options)), FilteringReader)


@needs_protocol("offramp")
def test_a_task_may_have_nothing_to_do(folder: Path) -> None:
    options = {"path": str(folder)}
    assert list(reader_of(options, schema_of(options)).read(InputPartition(None))) == []


# -- with one ----------------------------------------------------------------------------------------------------------


@needs_protocol("offramp")
@pytest.mark.spark
def test_spark_reads_what_we_read(read: Read, folder: Path) -> None:
    own = own_rows({"path": str(folder)})
    expected = [
        len(own),
        sum(row["length"] for row in own),
        sum(crc32(row["data"]) for row in own),
        sum(row["seq"] or 0 for row in own),
        sum(row["src_port"] or 0 for row in own),
        sum(row["number"] for row in own),
    ]
    assert list(read().selectExpr(*SUMS).first()) == expected
    assert list(read(splitBytes="100000").selectExpr(*SUMS).first()) == expected


@needs_protocol("offramp")
@pytest.mark.spark
def test_sql_and_segments(spark: "SparkSession", folder: Path) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING wirecap OPTIONS (path '{folder}', table 'segments')")
    (found,) = spark.sql("SELECT count(*) AS n, sum(length) AS bytes, count(DISTINCT flow) AS flows FROM v").collect()
    own = own_rows({"path": str(folder), "table": "segments"})
    wanted = (len(own), sum(row["length"] for row in own), len({row["flow"] for row in own}))
    assert tuple(found) == wanted


@needs_protocol("offramp")
@pytest.mark.spark
def test_tables_of_flows(read: Read, folder: Path) -> None:
    own = own_rows({"path": str(folder), "table": "exchanges", "splits": "2"})
    requests = {(row["request"], row["protocol"], str(row["date"])) for row in own}
    found = read(table="exchanges", splits="2").selectExpr("request", "protocol", "string(date)").distinct().collect()
    assert {tuple(row) for row in found} == requests
    (median,) = read(table="exchanges").selectExpr("approx_percentile(latency_ns, 0.5)").first()
    latencies = sorted(row["latency_ns"] for row in own if row["latency_ns"] is not None)
    assert latencies[0] < median < latencies[-1]


@needs_protocol("offramp")
@pytest.mark.spark
def test_a_schema_of_ones_own_reads_only_that(spark: "SparkSession", folder: Path) -> None:
    frame = spark.read.format("wirecap").schema("number bigint, time timestamp").load(f"{folder}/read.pcap")
    first = frame.orderBy("number").first()
    (own,) = [row for row in own_rows({"path": f"{folder}/read.pcap"}) if row["number"] == 1]
    assert tuple(first) == (1, own["time"])
    assert frame.columns == ["number", "time"]


@needs_protocol("offramp")
@pytest.mark.spark
@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_filters_leave_the_same_wherever_they_are_done(spark: "SparkSession", folder: Path, is_on: bool) -> None:
    own = own_rows({"path": str(folder)})
    middle: datetime = sorted(row["time"] for row in own)[len(own) // 2]
    wanted = {
        (row["file"], row["number"])
        for row in own
        if row["dst_port"] in (12345, 12378) and row["time"] > middle and row["src"] is not None
    }
    assert wanted
    before = spark.conf.get("spark.sql.python.filterPushdown.enabled")
    spark.conf.set("spark.sql.python.filterPushdown.enabled", str(is_on).lower())
    try:
        frame = spark.read.format("wirecap").load(str(folder))
        left = frame.where(f"dst_port in (12345, 12378) and time > timestamp_ntz'{middle}' and src is not null")
        plan = left._jdf.queryExecution().executedPlan().toString()
        assert bool(re.search(r"\bFilter\b", plan)) is not is_on
        assert {(row.file, row.number) for row in left.select("file", "number").collect()} == wanted
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", str(before))


@pytest.mark.spark
def test_errors_say_what_is_wrong(spark: "SparkSession", tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="UsageError: no table frame of wirecap"):
        spark.read.format("wirecap").option("table", "frame").load(str(tmp_path))
    (tmp_path / "a.pcap").write_bytes((CAPTURES / CHOSEN[0]).read_bytes()[:-3])
    frame = spark.read.format("wirecap").option("mode", "failfast").load(str(tmp_path / "a.pcap"))
    with pytest.raises(
        AnalysisException, match=r"CaptureError: .*a\.pcap: byte \d+: the record of packet \d+ ends early"
    ):
        frame.count()
