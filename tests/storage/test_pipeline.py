"""`pipeline run` with captures and tables in an S3 server, compared with local folders."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from tests.helpers.forked import run_text
from tests.helpers.object_store import ENVIRONMENT, Fault, FaultProxy, faulty, put, s3_server
from wiretool import limits
from wiretool.capture.tls.keylog import KeyLog
from wiretool.commands.pipeline.running import PipelineOptions, run_pipeline
from wiretool.errors import PeerError, RemoteError, UsageError
from wiretool.pipeline.layout import MANIFEST, Manifest
from wiretool.storage.url_path import path_or_url

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("offramp/plain.pcap", "sbp/pd_heartbeat.pcap")
OPTIONS = PipelineOptions("auto", {}, has_events=False, is_strict=False, splits=0, keys=KeyLog())


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Any, int]]:
    with s3_server() as (store, port):
        store.create_dir("bucket")
        for name in NAMES:
            put(store, f"bucket/in/{name}", (CAPTURES / name).read_bytes())
        put(store, "bucket/in/notes.txt", b"no capture")
        put(store, "bucket/in/.hidden.pcap", b"hidden")
        put(store, "bucket/in/empty.pcap", b"")
        yield store, port


@pytest.fixture
def proxy(server: tuple[Any, int], monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(limits, "REMOTE_PAUSE_S", 0.001)
    monkeypatch.setattr(limits, "REMOTE_ATTEMPTS_MAX", 2)
    with faulty(server[1]) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


def make(captures: list[str], root: str) -> int:
    return run_pipeline([path_or_url(each) for each in captures], path_or_url(root), OPTIONS, "local", "")


def names_in(store: Any, folder: str) -> set[str]:
    from pyarrow import fs

    found = store.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
    return {info.path.removeprefix(f"{folder}/") for info in found if info.type is fs.FileType.File}


def manifest_in(store: Any, folder: str) -> Manifest:
    with store.open_input_file(f"{folder}/{MANIFEST}") as file:
        return msgspec.json.decode(file.read(), type=Manifest)


def files_of(manifest: Manifest) -> set[str]:
    return {file.path for files in manifest.tables.values() for file in files}


def test_tables_are_those_of_local_folders(
    server: tuple[Any, int], proxy: FaultProxy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, _ = server
    assert make(["s3://bucket/in"], "s3://bucket/lake") == 0
    said = capsys.readouterr().err
    assert "s3://bucket/in/notes.txt skipped: not a capture" in said
    assert "s3://bucket/in/empty.pcap is empty, skipped" in said
    assert "tables in s3://bucket/lake: " in said
    assert make([str(CAPTURES / name) for name in NAMES], str(tmp_path / "lake")) == 0
    remote = manifest_in(store, "bucket/lake")
    local = msgspec.json.decode((tmp_path / "lake" / MANIFEST).read_bytes(), type=Manifest)
    assert [each.path for each in remote.inputs] == [f"s3://bucket/in/{name}" for name in NAMES]
    assert [each.size for each in remote.inputs] == [each.size for each in local.inputs]
    assert all(each.mtime_ns for each in remote.inputs)
    assert remote.total == local.total
    assert names_in(store, "bucket/lake") == {*files_of(remote), MANIFEST}
    assert {name: remote.rows(name) for name in remote.tables} == {name: local.rows(name) for name in local.tables}
    for name, files in local.tables.items():
        for mine, theirs in zip(files, remote.tables[name], strict=True):
            expected = pq.read_table(tmp_path / "lake" / mine.path, partitioning=None)
            found = pq.read_table(f"bucket/lake/{theirs.path}", filesystem=store, partitioning=None)
            names = [column for column in expected.column_names if not column.endswith("_file")]
            assert found.select(names).equals(expected.select(names))


def test_a_second_run_replaces_the_first_at_once(server: tuple[Any, int], proxy: FaultProxy) -> None:
    store, _ = server
    assert make(["s3://bucket/in/sbp"], "s3://bucket/again") == 0
    first = manifest_in(store, "bucket/again")
    proxy.before = lambda method, path: (
        whole.append(files_of(manifest_in(store, "bucket/again")) <= names_in(store, "bucket/again"))
        if method in ("PUT", "POST")
        else None
    )
    whole: list[bool] = []
    assert make(["s3://bucket/in/offramp/plain.pcap"], "s3://bucket/again/") == 0
    assert whole
    assert all(whole)
    second = manifest_in(store, "bucket/again")
    assert not files_of(first) & files_of(second)
    assert names_in(store, "bucket/again") == {*files_of(second), MANIFEST}


@pytest.mark.parametrize("at", ["first", "manifest"])
def test_a_store_that_fails_keeps_the_earlier_tables(at: str, server: tuple[Any, int], proxy: FaultProxy) -> None:
    store, _ = server
    root = f"bucket/kept-{at}"
    assert make(["s3://bucket/in/sbp"], f"s3://{root}") == 0
    before = names_in(store, root), manifest_in(store, root)
    proxy.faults = [Fault(status=503)] * 50
    proxy.is_meant = lambda method, path: method in ("PUT", "POST") and (at == "first" or MANIFEST in path)
    with pytest.raises(PeerError, match=rf"cannot write s3://{root}/.*503"):
        make(["s3://bucket/in/offramp"], f"s3://{root}")
    assert (names_in(store, root), manifest_in(store, root)) == before


def test_a_lost_answer_to_the_manifest_is_no_failure(server: tuple[Any, int], proxy: FaultProxy) -> None:
    store, _ = server
    assert make(["s3://bucket/in/sbp"], "s3://bucket/lost") == 0
    proxy.faults = [Fault(cut_at=0), *[Fault(status=503)] * 10]
    proxy.is_meant = lambda method, path: method == "POST" and MANIFEST in path and "uploadId" in path
    assert make(["s3://bucket/in/offramp"], "s3://bucket/lost") == 0
    now = manifest_in(store, "bucket/lost")
    assert [each.path for each in now.inputs] == ["s3://bucket/in/offramp/plain.pcap"]
    assert names_in(store, "bucket/lost") == {*files_of(now), MANIFEST}


def test_a_capture_that_cannot_be_read_makes_no_tables(server: tuple[Any, int], proxy: FaultProxy) -> None:
    proxy.faults = [Fault(status=503)] * 20
    proxy.is_meant = lambda method, path: method == "GET" and path.endswith(".pcap")
    with pytest.raises(RemoteError, match=r"s3://bucket/in/.*pcap: cannot be read: 2 attempts failed"):
        make(["s3://bucket/in"], "s3://bucket/nothing")
    assert names_in(server[0], "bucket/nothing") == set()


@pytest.mark.parametrize(
    ("captures", "root", "why"),
    [
        (
            "s3://bucket/in",
            "s3://bucket/in",
            "s3://bucket/in/.* is in s3://bucket/in, which would be replaced",
        ),
        ("s3://bucket/in/sbp", "s3://bucket/in/offramp", "holds objects that wiretool pipeline run has not written"),
        ("s3://bucket/in/sbp", "s3://bucket/in/notes.txt", "cannot write s3://bucket/in/notes.txt: an object"),
        ("s3://bucket/in/sbp", "https://host/lake", "a web server has no folders"),
        ("s3://bucket/nothing", "s3://bucket/x", "s3://bucket/nothing: no such object or folder"),
        ("s3://nobucket/in", "s3://bucket/x", "s3://nobucket/in: no such object or folder"),
        ("s3://bucket/in/sbp", "s3://nobucket/x", "cannot write s3://nobucket/x"),
    ],
)
def test_refusals(captures: str, root: str, why: str, proxy: FaultProxy) -> None:
    with pytest.raises(UsageError, match=why):
        make([captures], root)


def test_an_object_that_is_no_capture_is_named(proxy: FaultProxy, tmp_path: Path) -> None:
    ended = run_text("pipeline", "run", "s3://bucket/in/notes.txt", "-o", tmp_path / "lake")
    assert ended.returncode == 3
    assert "wiretool: s3://bucket/in/notes.txt: byte 0: neither pcap nor pcapng" in ended.stderr
    assert not (tmp_path / "lake").exists()


def test_spark_takes_no_urls(tmp_path: Path) -> None:
    ended = run_text("pipeline", "run", "s3://bucket/in", "-o", tmp_path / "lake", "--engine", "spark")
    assert ended.returncode == 2
    assert "s3://bucket/in: --engine spark reads and writes files; expected mounted storage" in ended.stderr
