"""`pipeline run` with captures and tables in an S3 server, compared with local folders."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from tests.helpers.object_store import ENVIRONMENT, Fault, FaultProxy, faulty, put, s3_server
from wiretool import limits
from wiretool.capture.tls.keylog import KeyLog
from wiretool.commands.pipeline.running import PipelineOptions, run_pipeline
from wiretool.errors import CaptureError, PeerError, RemoteError, UsageError
from wiretool.pipeline.layout import MANIFEST, Manifest
from wiretool.pipeline.publishing import published
from wiretool.storage.url_path import UrlPath, path_or_url

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("pravega-draft/blocks.pcap", "sbp/pd_heartbeat.pcap")
OPTIONS = PipelineOptions("auto", {}, has_events=False, is_strict=False, splits=0, keys=KeyLog())


@pytest.fixture(scope="module")
def server() -> tuple[Any, int]:
    store, port = s3_server()
    store.create_dir("lakes")
    for name in NAMES:
        put(store, f"lakes/in/{name}", (CAPTURES / name).read_bytes())
    put(store, "lakes/in/notes.txt", b"no capture")
    put(store, "lakes/in/.hidden.pcap", b"hidden")
    put(store, "lakes/in/empty.pcap", b"")
    return store, port


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
    assert make(["s3://lakes/in"], "s3://lakes/lake") == 0
    said = capsys.readouterr().err
    assert "s3://lakes/in/notes.txt skipped: not a capture" in said
    assert "s3://lakes/in/empty.pcap is empty, skipped" in said
    assert "tables in s3://lakes/lake: " in said
    assert make([str(CAPTURES / name) for name in NAMES], str(tmp_path / "lake")) == 0
    remote = manifest_in(store, "lakes/lake")
    local = msgspec.json.decode((tmp_path / "lake" / MANIFEST).read_bytes(), type=Manifest)
    assert [each.path for each in remote.inputs] == [f"s3://lakes/in/{name}" for name in NAMES]
    assert [each.size for each in remote.inputs] == [each.size for each in local.inputs]
    assert all(each.mtime_ns for each in remote.inputs)
    assert remote.total == local.total
    assert names_in(store, "lakes/lake") == {*files_of(remote), MANIFEST}
    assert {name: remote.rows(name) for name in remote.tables} == {name: local.rows(name) for name in local.tables}
    for name, files in local.tables.items():
        for mine, theirs in zip(files, remote.tables[name], strict=True):
            expected = pq.read_table(tmp_path / "lake" / mine.path, partitioning=None)
            found = pq.read_table(f"lakes/lake/{theirs.path}", filesystem=store, partitioning=None)
            names = [column for column in expected.column_names if not column.endswith("_file")]
            assert found.select(names).equals(expected.select(names))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables as a run has made them, before they are published."""
    folder = tmp_path_factory.mktemp("made") / "lake"
    assert make([str(CAPTURES / "pravega-draft/blocks.pcap")], str(folder)) == 0
    return folder


def publish(made: Path, root: str, notes: list[str] | None = None) -> None:
    with published(UrlPath(root), [], (notes if notes is not None else []).append) as folder:
        shutil.copytree(made, folder, dirs_exist_ok=True)


def test_new_tables_replace_earlier_ones_at_once(server: tuple[Any, int], proxy: FaultProxy, made: Path) -> None:
    store, _ = server
    publish(made, "s3://lakes/again")
    first = manifest_in(store, "lakes/again")
    whole: list[bool] = []
    proxy.before = lambda method, path: (
        whole.append(files_of(manifest_in(store, "lakes/again")) <= names_in(store, "lakes/again"))
        if method == "PUT"
        else None
    )
    publish(made, "s3://lakes/again/")
    assert len(whole) > len(files_of(first))
    assert all(whole)
    second = manifest_in(store, "lakes/again")
    assert not files_of(first) & files_of(second)
    assert names_in(store, "lakes/again") == {*files_of(second), MANIFEST}


@pytest.mark.parametrize("at", ["frames", MANIFEST])
def test_a_store_that_fails_keeps_the_earlier_tables(
    at: str, server: tuple[Any, int], proxy: FaultProxy, made: Path
) -> None:
    store, _ = server
    root = f"lakes/kept{len(at)}"
    publish(made, f"s3://{root}")
    before = names_in(store, root), manifest_in(store, root)
    proxy.faults = [Fault(status=503)] * 50
    proxy.is_meant = lambda method, path: method == "PUT" and at in path
    with pytest.raises(PeerError, match=rf"cannot write s3://{root}/{at}.* HTTP status 503 in PutObject"):
        publish(made, f"s3://{root}")
    assert (names_in(store, root), manifest_in(store, root)) == before


def test_a_lost_answer_to_the_manifest_is_no_failure(server: tuple[Any, int], proxy: FaultProxy, made: Path) -> None:
    store, _ = server
    publish(made, "s3://lakes/lost")
    first = manifest_in(store, "lakes/lost")
    proxy.faults = [Fault(lost=True), *[Fault(status=503)] * 10]
    proxy.is_meant = lambda method, path: method == "PUT" and MANIFEST in path
    publish(made, "s3://lakes/lost")
    now = manifest_in(store, "lakes/lost")
    assert not files_of(first) & files_of(now)
    assert names_in(store, "lakes/lost") == {*files_of(now), MANIFEST}


def test_in_doubt_no_file_is_deleted(server: tuple[Any, int], proxy: FaultProxy, made: Path) -> None:
    store, _ = server
    publish(made, "s3://lakes/doubt")
    proxy.faults = [Fault(lost=True), *[Fault(status=503)] * 50]
    proxy.is_meant = lambda method, path: (method == "PUT" and MANIFEST in path) or proxy.faults[0].status == 503
    with pytest.raises(PeerError):
        publish(made, "s3://lakes/doubt")
    assert files_of(manifest_in(store, "lakes/doubt")) <= names_in(store, "lakes/doubt")


def test_files_that_cannot_be_deleted_are_reported(server: tuple[Any, int], proxy: FaultProxy, made: Path) -> None:
    publish(made, "s3://lakes/left")
    proxy.faults = [Fault(status=403)] * 50
    proxy.is_meant = lambda method, path: method == "DELETE" or "delete" in path
    notes: list[str] = []
    publish(made, "s3://lakes/left", notes)
    count = len(files_of(manifest_in(server[0], "lakes/left")))
    assert notes == [
        f"s3://lakes/left: {count} files of the earlier run could not be deleted; the manifest does not name them"
    ]


def test_a_capture_that_cannot_be_read_makes_no_tables(server: tuple[Any, int], proxy: FaultProxy) -> None:
    proxy.faults = [Fault(status=503)] * 20
    proxy.is_meant = lambda method, path: method == "GET" and path.endswith(".pcap")
    with pytest.raises(RemoteError, match=r"s3://lakes/in/.*pcap: cannot be read: 2 attempts failed"):
        make(["s3://lakes/in"], "s3://lakes/nothing")
    assert names_in(server[0], "lakes/nothing") == set()


@pytest.mark.parametrize(
    ("captures", "root", "why"),
    [
        (
            "s3://lakes/in",
            "s3://lakes/in",
            "s3://lakes/in/.* is in s3://lakes/in, which would be replaced",
        ),
        (
            "s3://lakes/in/sbp",
            "s3://lakes/in/pravega-draft",
            "holds objects that wiretool pipeline run has not written",
        ),
        ("s3://lakes/in/sbp", "s3://lakes/in/notes.txt", "cannot write s3://lakes/in/notes.txt: an object"),
        ("s3://lakes/in/sbp", "https://host/lake", "a web server has no folders"),
        ("s3://lakes/nothing", "s3://lakes/x", "s3://lakes/nothing: no such object or folder"),
        ("s3://nobucket/in", "s3://lakes/x", "s3://nobucket/in: no such object or folder"),
        ("s3://lakes/in/sbp", "s3://nobucket/x", "cannot write s3://nobucket/x"),
    ],
)
def test_refusals(captures: str, root: str, why: str, proxy: FaultProxy) -> None:
    with pytest.raises(UsageError, match=why):
        make([captures], root)


def test_an_object_that_is_no_capture_is_named(proxy: FaultProxy, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"^s3://lakes/in/notes\.txt: byte 0: neither pcap nor pcapng"):
        make(["s3://lakes/in/notes.txt"], str(tmp_path / "lake"))
    assert list(tmp_path.iterdir()) == []
