"""Tables of TLS captures on Spark: those of the local engine, with the secrets of a key log or of a pcapng file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.spark import needs_pyspark

needs_pyspark()

from tests.dissect.test_tls import pcapng_with  # noqa: E402
from tests.pipeline.reference import every_row  # noqa: E402
from wiretool.errors import InputError, UsageError  # noqa: E402
from wiretool.pipeline.job import Job  # noqa: E402
from wiretool.pipeline.layout import read_manifest  # noqa: E402
from wiretool.pipeline.local import run_local  # noqa: E402
from wiretool.pipeline.spark.source import reader_of, schema_of  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OFFRAMP = Path(__file__).parents[2] / "captures" / "offramp"
SEALED, CLEAR, KEYS = (OFFRAMP / f"java_tls13{end}" for end in (".pcap", "_clear.pcap", ".keylog.txt"))
pytestmark = needs_protocol("offramp")


def rows_of(capture: Path, table: str, **options: str) -> list[dict[str, Any]]:
    """Return the rows that the data source reads, here and now."""
    given = {"path": str(capture), "table": table, **options}
    reader = reader_of(given, schema_of(given))
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return pa.Table.from_batches(batches).to_pylist() if batches else []


@pytest.mark.parametrize(("table", "count"), [("frames", 292), ("exchanges", 10)])
def test_the_data_source_decrypts(table: str, count: int, tmp_path: Path) -> None:
    def read(capture: Path, **options: str) -> list[list[Any]]:
        names = ("n", "side", "message", "length", "reply_to", "request", "reply")
        rows = [row for row in rows_of(capture, table, **options) if row.get("kind", "frame") == "frame"]
        return [[row.get(name) for name in names] for row in rows]

    expected = read(CLEAR)
    assert len(expected) == count
    assert read(SEALED, keylog=str(KEYS)) == expected
    assert read(pcapng_with(tmp_path, KEYS.read_bytes())) == expected
    assert not read(SEALED)


def test_key_logs_that_cannot_be_used(tmp_path: Path) -> None:
    bad = tmp_path / "keys"
    with pytest.raises(UsageError, match=r"keylog .*keys: no such file"):
        rows_of(SEALED, "frames", keylog=str(bad))
    bad.write_bytes(b"")
    with pytest.raises(InputError, match=r"keylog .*keys: no secrets; expected lines of a label"):
        rows_of(SEALED, "frames", keylog=str(bad))
    bad.write_bytes(b"hello\n")
    with pytest.raises(InputError, match=r"keylog .*keys: line 1: not LABEL RANDOM SECRET"):
        rows_of(SEALED, "frames", keylog=str(bad))
    with pytest.raises(UsageError, match="keylog: the table packets has bytes as they were captured; expected a table"):
        rows_of(SEALED, "packets", keylog=str(KEYS))


@pytest.mark.spark
def test_the_tables_of_the_engine_are_the_local_ones(spark: "SparkSession", tmp_path: Path) -> None:
    from wiretool.pipeline.spark.run import run_spark

    made = {}
    for name, run in (("local", run_local), ("spark", run_spark)):
        job = Job([SEALED], tmp_path / name, secrets=KEYS.read_bytes())
        run(job, lambda text: None, lambda step: None)
        made[name] = every_row(job.root, read_manifest(job.root))
    assert made["spark"] == made["local"]
    assert sum("('kind', 'frame')" in row for row in made["local"]["frames"]) == 292
