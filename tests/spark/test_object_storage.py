"""Spark with captures and tables in an S3 server: the rows of local files, and nothing of a run that fails."""

from collections.abc import Iterator
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.object_store import ENVIRONMENT, Fault, FaultProxy, faulty, put, s3_server
from tests.helpers.spark import needs_pyspark
from tests.pipeline.reference import every_row
from tests.spark.test_engine import captures

needs_pyspark()

from tests.spark.test_source import own_rows  # noqa: E402
from wiretool import limits  # noqa: E402
from wiretool.errors import (  # noqa: E402
    CaptureError,
    OutputError,
    RemoteError,
    UnopenedError,
    UsageError,
    WiretoolError,
)
from wiretool.pipeline.job import Job  # noqa: E402
from wiretool.pipeline.layout import MANIFEST, Manifest, read_manifest  # noqa: E402
from wiretool.pipeline.local import run_local  # noqa: E402
from wiretool.pipeline.publishing import uploaded  # noqa: E402
from wiretool.pipeline.spark.run import handed_over, handing_over, run_spark  # noqa: E402
from wiretool.pipeline.spark.stream_source import stream_reader_of  # noqa: E402
from wiretool.pipeline.table_copies import copied  # noqa: E402
from wiretool.storage.folder import StoreFolder  # noqa: E402
from wiretool.storage.url_path import UrlPath  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "s3://sparks/in"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A rolling capture, one file of it packed, and one with other connections; also in the store."""
    files = captures(tmp_path_factory.mktemp("captures"))
    store, _ = s3_server()
    store.create_dir("sparks")
    for file in files:
        put(store, f"sparks/in/{file.name}", file.read_bytes())
    put(store, "sparks/in/notes.txt", b"no capture")
    return files


@pytest.fixture
def proxy(files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    monkeypatch.setattr(limits, "REMOTE_ATTEMPTS_MAX", 2)
    with faulty(s3_server()[1]) as proxy:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": proxy.url, "XDG_CACHE_HOME": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        yield proxy


@pytest.mark.spark
@needs_protocol("sbp-0.1")
@needs_protocol("offramp")
def test_the_tables_are_those_of_local_files(
    proxy: FaultProxy, files: list[Path], spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": proxy.url}.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)  # of workers that start from now on
    monkeypatch.setattr("wiretool.pipeline.spark.run.SPLIT_BYTES", 16384)
    run_local(Job(files, tmp_path / "local", has_events=True), lambda text: None, lambda step: None)
    notes: list[str] = []
    job = Job([UrlPath(FOLDER)], UrlPath("s3://sparks/lake"), has_events=True, splits=2)
    made = run_spark(job, notes.append, lambda step: None)
    assert "s3://sparks/in/notes.txt skipped: not a capture" in notes
    assert [each.path for each in made.inputs] == [f"{FOLDER}/{file.name}" for file in files]
    with copied(job.root, lambda name: True) as copy:
        assert comparable(copy, FOLDER) == comparable(tmp_path / "local", str(files[0].parent))
    paths = {file.path for parts in made.tables.values() for file in parts}
    assert set(StoreFolder(UrlPath("s3://sparks/lake")).sizes()) == {MANIFEST, *paths}

    proxy.faults = [Fault(status=403)] * 100
    proxy.is_meant = lambda method, path: method == "PUT" and "frames" in path
    with pytest.raises(UsageError, match=r"^cannot write s3://sparks/lake/frames/.*: access denied"):
        run_spark(job, lambda text: None, lambda step: None)
    assert set(StoreFolder(UrlPath("s3://sparks/lake")).sizes()) == {MANIFEST, *paths}


def comparable(root: Path, folder: str) -> dict[str, list[str]]:
    """Return all rows of all tables, with the captures by their names in a folder."""
    rows = every_row(root, read_manifest(root))
    return {name: sorted(row.replace(f"{folder}/", "") for row in found) for name, found in rows.items()}


def test_the_data_source_reads_objects(proxy: FaultProxy, files: list[Path]) -> None:
    local = own_rows({"path": str(files[0].parent)})
    assert len(local) > 200
    rows = own_rows({"path": f"{FOLDER}/*.pcap", "splitBytes": "64k"})
    assert {row.pop("file") for row in rows} == {f"{FOLDER}/{file.name}" for file in files}
    assert rows == [{name: value for name, value in row.items() if name != "file"} for row in local]
    exchanges = [own_rows({"path": path, "table": "exchanges"}) for path in (FOLDER, str(files[0].parent))]
    assert exchanges[0] == exchanges[1]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("s3://sparks/none", "s3://sparks/none: no such object or folder"),
        ("s3://sparks/in/*.none", r"s3://sparks/in/\*\.none: no object matches this pattern"),
        ("s3://*/in", r"s3://\*/in: a pattern in the name of a bucket"),
    ],
)
def test_refusals(path: str, why: str, proxy: FaultProxy) -> None:
    with pytest.raises(UsageError, match=f"^{why}"):
        own_rows({"path": path})


def test_a_stream_of_objects_is_refused() -> None:
    from wiretool.pipeline.spark.source import schema_of

    with pytest.raises(UsageError, match=r"^s3://sparks/in: readStream reads files; expected mounted storage"):
        stream_reader_of({"path": FOLDER}, schema_of({"path": FOLDER}))


@pytest.mark.parametrize("name", ["0[01]0*", "???.pcap", "0[!1-9]0*.pcap", "**/000*", "**"])
def test_patterns(name: str, proxy: FaultProxy, files: list[Path]) -> None:
    from wiretool.pipeline.fetching import objects_like

    found = glob(str(files[0].parent / name), recursive=True)
    expected = sorted(Path(each).name for each in found if Path(each).is_file())
    assert expected
    names = (path.name for path in objects_like(UrlPath(f"{FOLDER}/{name}")))
    assert sorted(each for each in names if each.endswith(".pcap")) == expected  # there are other objects, too


def test_an_unfinished_upload_leaves_nothing_and_a_finished_one_no_other_attempts(
    proxy: FaultProxy, tmp_path: Path
) -> None:
    root = UrlPath("s3://sparks/unfinished")
    target = StoreFolder(root)
    with suppress(KeyboardInterrupt), uploaded(root, [], lambda text: None) as upload:
        target.write(f"frames/part-{upload.run}-00000-1.parquet", b"x")
        assert len(target.sizes()) == 1
        raise KeyboardInterrupt
    assert target.sizes() == {}
    with uploaded(root, [], lambda text: None) as upload:
        target.write(f"frames/part-{upload.run}-00000-1.parquet", b"x")
        upload.finish(Manifest([], {}, {}, 0, "spark", {}))
    assert set(target.sizes()) == {MANIFEST}


@pytest.mark.parametrize(
    "failure",
    [
        RemoteError("s3://x", "cannot be written: HTTP status 503"),
        UnopenedError("s3://x", "no such object"),
        CaptureError("s3://x", "neither pcap nor pcapng", offset=7),
        UsageError("cannot write s3://x: access is denied"),
        OutputError("cannot write x: No space left on device"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_failure_on_a_worker_keeps_its_kind(failure: WiretoolError) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(RuntimeError) as caught, handing_over():
        raise failure
    with pytest.raises(type(failure)) as again, handed_over():
        raise PySparkException(message=f"Job aborted: {caught.value}")
    assert (str(again.value), type(again.value)) == (str(failure), type(failure))
