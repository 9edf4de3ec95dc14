"""The stream of the data source: of captures that grow and rotate each packet comes once, in bounded batches."""

import random
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.captures import pcap_bytes, pcapng_bytes
from tests.helpers.spark import needs_pyspark

needs_pyspark()

from pyspark.sql.streaming.datasource import ReadMaxBytes  # noqa: E402

from tests.dissect.columns.made import Spoken, packets_made  # noqa: E402
from tests.helpers.stream_query import Query, Row, appended, numbers, of_batch, pieces, some_packets  # noqa: E402
from wiretool.errors import CaptureError, UsageError  # noqa: E402
from wiretool.pipeline.spark import stream_source  # noqa: E402
from wiretool.pipeline.spark.source import schema_of  # noqa: E402
from wiretool.pipeline.spark.stream_source import stream_reader_of  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CAPTURES = Path(__file__).parent.parent.parent / "captures"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "captures"
    folder.mkdir()
    return folder


# -- each packet once --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["packets", "segments"])
@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_captures_that_grow_and_rotate(folder: Path, table: str, form: str) -> None:
    """Whatever is written between two batches, and wherever the query is begun again."""
    rng = random.Random(form + table)
    packets = packets_made([Spoken("pravega"), Spoken("foreign", ipv6=True)], frozenset(["fragments"]), 3, 120)
    query = Query(folder, table=table, splitBytes="3000", maxBytesPerTrigger="20000")
    found: list[Row] = []
    for at in range(0, len(packets), 50):
        raw = (pcap_bytes if form == "pcap" else pcapng_bytes)(packets[at : at + 50])
        for piece in pieces(raw, rng, len(raw) // 4):
            appended(folder / f"caps-{at:06d}", piece)
            found += query.batch()
            if rng.random() < 0.3:
                query.begin()
    found += query.batches()
    assert len(list(folder.iterdir())) > 3
    assert Counter(found) == Counter(of_batch(folder, table=table))


def test_a_batch_that_was_not_done_is_read_again(folder: Path) -> None:
    packets = some_packets(300)
    raw = pcap_bytes(packets)
    (folder / "a").write_bytes(raw[:9000])
    query = Query(folder, splitBytes="2000")
    first = query.batch()
    appended(folder / "a", raw[9000:20_000])
    end = query.end()
    rows = query.rows(query.tasks(end))
    appended(folder / "a", raw[20_000:])
    query.begin()
    tasks = query.tasks(end)
    assert len(tasks) > 2
    assert query.rows(tasks) == rows
    query.done(end)
    assert first + rows + query.batches() == of_batch(folder)


def test_files_of_packets_that_wait_are_numbered_for_ever(folder: Path) -> None:
    """As they were met, whatever they are called."""
    packets = packets_made([Spoken("pravega")], frozenset(), 3, 40)
    column = schema_of({"path": "x", "table": "segments"}).fieldNames().index("file")
    query = Query(folder, table="segments")
    places = []
    for name, some in (("m", packets[:15]), ("b", packets[15:30]), ("z", packets[30:])):
        (folder / name).write_bytes(pcap_bytes(some))
        places.append({row[column] for row in query.batch()})
        query.begin()
    assert places == [{0}, {1}, {2}]


# -- rings and what goes away ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_planned", [False, True])
@pytest.mark.parametrize("way", ["gone", "anew"])
def test_what_a_task_was_to_read(folder: Path, is_planned: bool, way: str, caplog: pytest.LogCaptureFixture) -> None:
    for name in "ab":
        (folder / name).write_bytes(pcap_bytes(some_packets()))

    def spoiled(query: Query) -> list[Row]:
        end = query.end()
        tasks = query.tasks(end) if is_planned else []
        if way == "gone":
            (folder / "a").unlink()
        else:
            (folder / "a").write_bytes(pcap_bytes(some_packets(99, start_ns=7)))
        return query.rows(tasks or query.tasks(end))

    assert len(spoiled(Query(folder))) == 60
    assert caplog.messages == [f"{folder}/a {stream_source.GONE}"]
    (folder / "a").write_bytes(pcap_bytes(some_packets()))
    with pytest.raises(CaptureError, match="a: was deleted or rewritten; its unread packets are lost"):
        spoiled(Query(folder, mode="failfast"))


def test_a_capture_that_changes_under_a_task(folder: Path) -> None:
    """What a task gave then is of no use: it fails."""
    (folder / "a").write_bytes(pcap_bytes(some_packets()))
    query = Query(folder)
    rows = query.reader.read(query.tasks(query.end())[0])
    next(rows)
    (folder / "a").write_bytes(pcap_bytes(some_packets(99, start_ns=7)))
    with pytest.raises(CaptureError, match=r"/a: byte \d+: the file changed after it was indexed"):
        list(rows)


# -- what is no capture, or not yet ------------------------------------------------------------------------------------


# -- how much ----------------------------------------------------------------------------------------------------------


def test_a_batch_is_bounded_and_takes_the_oldest(folder: Path) -> None:
    late, early = some_packets(100, start_ns=1_800_000_000_000_000_000), some_packets(100)
    (folder / "a").write_bytes(pcap_bytes(late))
    (folder / "b").write_bytes(pcap_bytes(early))
    query = Query(folder, maxBytesPerTrigger="4000")
    assert query.reader.getDefaultReadLimit() == ReadMaxBytes(4000)
    batches = list(iter(query.batch, []))
    assert 5 < len(batches) < 10
    data = schema_of({"path": "x"}).fieldNames().index("data")
    assert all(sum(16 + len(row[data]) for row in batch) <= 4000 for batch in batches)
    assert [row[1] for batch in batches for row in batch] == [packet.time_ns for packet in early + late]
    assert len(Query(folder, maxBytesPerTrigger="4000").batch(is_all=True)) == 200
    assert len(Query(folder, maxBytesPerTrigger="1").batch()) == 1


def test_what_is_available_now(folder: Path) -> None:
    """Whatever comes while it is read waits for the next time."""
    packets = some_packets(100)
    raw = pcap_bytes(packets)
    ends = accumulate((16 + len(packet.data) for packet in packets), initial=24)
    whole = sum(end <= 7000 for end in ends) - 1
    (folder / "a").write_bytes(raw[:7000])
    query = Query(folder, maxBytesPerTrigger="2000")
    query.reader.prepareForTriggerAvailableNow()
    found: list[Row] = []
    while rows := query.batch():
        found += rows
        (folder / f"b{len(found)}").write_bytes(raw)
        appended(folder / "a", raw[7000:9000] if len(found) == len(rows) else b"")
    assert query.batch() == []
    assert numbers(found) == list(range(1, whole + 1))
    query.begin()
    query.reader.prepareForTriggerAvailableNow()
    assert Counter(found + query.batches()) == Counter(of_batch(folder))
    assert len(list(folder.iterdir())) > 4


# -- errors ------------------------------------------------------------------------------------------------------------


def test_options_that_make_no_sense(folder: Path) -> None:
    schema = schema_of({"path": str(folder)})
    with pytest.raises(UsageError, match=r"the table frames requires whole flows.*`wiretool pipeline stream`"):
        stream_reader_of({"path": str(folder), "table": "frames"}, schema)
    with pytest.raises(UsageError, match="no table frame of wirecap"):
        stream_reader_of({"path": str(folder), "table": "frame"}, schema)
    with pytest.raises(UsageError, match="maxBytesPerTrigger '0': out of range"):
        stream_reader_of({"path": str(folder), "MAXBYTESPERTRIGGER": "0"}, schema)
    with pytest.raises(UsageError, match="no option maxfiles of wirecap"):
        stream_reader_of({"path": str(folder), "maxFiles": "1"}, schema)


# -- with Spark --------------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_a_query_goes_on_from_its_checkpoint(spark: "SparkSession", folder: Path, tmp_path: Path) -> None:
    raw = (CAPTURES / "pravega/read.pcap").read_bytes()
    (folder / "a").write_bytes(raw[: len(raw) // 2])

    def run(**options: str) -> None:
        stream = spark.readStream.format("wirecap").options(**options).load(str(folder))
        writer = stream.select("file", "number", "data").writeStream.foreachBatch(keep).trigger(availableNow=True)
        assert writer.option("checkpointLocation", f"{tmp_path}/checkpoint").start().awaitTermination(60)

    def keep(frame: "DataFrame", number: int) -> None:
        kept[number] = [(row.file, row.number, bytes(row.data)) for row in frame.collect()]

    kept: dict[int, list[Row]] = {}
    run(maxBytesPerTrigger=str(len(raw) // 3))
    first = dict(kept)
    assert len(first) >= 2
    appended(folder / "a", raw[len(raw) // 2 :])
    (folder / "b").write_bytes(raw)
    last = max(first)
    for name in (str(last), f".{last}.crc"):  # as if it had ended there
        (tmp_path / "checkpoint" / "commits" / name).unlink()
    kept.pop(last)
    run()
    assert kept[last] == first[last]
    wanted = of_batch(folder)
    names = schema_of({"path": "x"}).fieldNames()
    file, number, data = map(names.index, ("file", "number", "data"))
    assert Counter(row for rows in kept.values() for row in rows) == Counter(
        (row[file], row[number], row[data]) for row in wanted
    )


@pytest.mark.spark
def test_tables_of_flows_are_refused(spark: "SparkSession", folder: Path) -> None:
    from pyspark.errors import StreamingQueryException

    stream = spark.readStream.format("wirecap").option("table", "frames").load(str(folder))
    with pytest.raises(StreamingQueryException, match=r"requires whole flows.*`wiretool pipeline stream`"):
        stream.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination(60)
