"""`pipeline run` with captures and tables in an S3 server, compared with local folders."""

import gzip
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from tests.helpers.captures import ethernet, ip, packets_of, pcap_bytes, tcp
from tests.helpers.object_store import ENVIRONMENT, Fault, FaultProxy, default_ctrl_c, faulty, put, s3_server
from wiretool import limits
from wiretool.capture.tls.keylog import KeyLog
from wiretool.commands.interrupts import stoppable
from wiretool.commands.pipeline.running import PipelineOptions, run_pipeline
from wiretool.errors import CaptureError, RemoteError, Stopped, UsageError
from wiretool.pipeline.layout import MANIFEST, Manifest, read_manifest, write_manifest
from wiretool.pipeline.publishing import published
from wiretool.storage.url_path import UrlPath, path_or_url

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("pravega-draft/blocks.pcap", "sbp/pd_heartbeat.pcap")
#: Tables that tests publish.
TABLES_MADE = 3
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
    """Tables as a run has made them, before they are published: the first ones, as each file is a request."""
    folder = tmp_path_factory.mktemp("made") / "lake"
    assert make([str(CAPTURES / "pravega-draft/blocks.pcap")], str(folder)) == 0
    manifest = read_manifest(folder)
    tables = dict(list(manifest.tables.items())[:TABLES_MADE])
    assert len(tables) == TABLES_MADE
    write_manifest(folder, msgspec.structs.replace(manifest, tables=tables))
    for path in set(manifest.tables) - set(tables):
        shutil.rmtree(folder / path)
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
    with pytest.raises(RemoteError, match=rf"s3://{root}/{at}.*: cannot be written: HTTP status 503 in PutObject"):
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
    with pytest.raises(RemoteError):
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


# -- stop signals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [(signal.SIGINT,), (signal.SIGINT, signal.SIGTERM)], ids=["one", "two"])
def test_a_signal_while_the_manifest_is_written(
    numbers: tuple[int, ...], server: tuple[Any, int], proxy: FaultProxy, made: Path
) -> None:
    """The first one is held until the manifest is there; a second one ends the wait for it, and no file is deleted."""
    store, _ = server
    root = f"lakes/signal{len(numbers)}"
    publish(made, f"s3://{root}")
    first = manifest_in(store, root)
    has_ended = Event()

    def stop(method: str, path: str) -> None:
        if method == "PUT" and path.endswith(MANIFEST):
            for number in numbers:
                os.kill(os.getpid(), number)
            has_ended.wait(10 if len(numbers) > 1 else 0)

    proxy.before = stop
    with default_ctrl_c(), stoppable(), pytest.raises(Stopped) as caught:
        publish(made, f"s3://{root}")
    has_ended.set()
    expected = "the manifest was being written: s3://" if len(numbers) > 1 else "the new tables are in s3://"
    assert caught.value.so_far.startswith(f"{expected}{root}")
    deadline = monotonic() + 10
    while (now := manifest_in(store, root)) == first:
        assert monotonic() < deadline
    assert files_of(now) | files_of(first) == names_in(store, root) - {MANIFEST}


def test_the_line_of_a_stopped_run_states_which_tables_are_there(
    server: tuple[Any, int], proxy: FaultProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy.before = lambda method, path: (
        os.kill(os.getpid(), signal.SIGINT) if method == "PUT" and path.endswith(MANIFEST) else None
    )
    with default_ctrl_c(), pytest.raises(Stopped):
        make(["s3://lakes/in/sbp"], "s3://lakes/line")
    ended = "stopped by Ctrl-C: the new tables are in s3://lakes/line; files of the earlier run may be left there\n"
    assert capsys.readouterr().err.endswith(ended)
    assert files_of(manifest_in(server[0], "lakes/line")) <= names_in(server[0], "lakes/line")


def test_a_run_that_is_stopped_earlier_leaves_the_tables(
    server: tuple[Any, int], proxy: FaultProxy, made: Path
) -> None:
    store, _ = server
    publish(made, "s3://lakes/early")
    before = names_in(store, "lakes/early"), manifest_in(store, "lakes/early")
    proxy.before = lambda method, path: os.kill(os.getpid(), signal.SIGINT) if method == "PUT" else None
    with default_ctrl_c(), stoppable(), pytest.raises(Stopped) as caught:
        publish(made, "s3://lakes/early")
    proxy.before = lambda method, path: None
    assert caught.value.so_far == ""
    assert (names_in(store, "lakes/early"), manifest_in(store, "lakes/early")) == before


# -- what killed runs leave --------------------------------------------------------------------------------------------

LEFT = "part-0123456789ab-00000.parquet"


@pytest.mark.parametrize("has_manifest", [False, True])
def test_files_of_a_killed_run_are_reported(
    has_manifest: bool, server: tuple[Any, int], proxy: FaultProxy, made: Path
) -> None:
    store, _ = server
    root = f"lakes/killed{has_manifest}"
    if has_manifest:
        publish(made, f"s3://{root}")
    of_spark = "part-0123456789ab-00000-17.parquet"
    left = {
        f"frames/date=2026-11-22/{of_spark}",
        f"frames/date=2026-11-21/{LEFT}",
        f"pravega-draft.SetupAppend/{LEFT}",
        ".manifest.json-0123456789ab",
    }
    for name in left:
        put(store, f"{root}/{name}", b"x")
    notes: list[str] = []
    publish(made, f"s3://{root}", notes)
    assert notes == [f"s3://{root} holds 4 files of a killed run, which no manifest names"]
    assert names_in(store, root) == {*files_of(manifest_in(store, root)), MANIFEST, *left}


@pytest.mark.parametrize("name", [f"other/{LEFT}", LEFT, "frames/part-00000.parquet", "frames/x.parquet"])
def test_files_that_no_run_has_written_are_no_left_ones(
    name: str, server: tuple[Any, int], proxy: FaultProxy, made: Path
) -> None:
    put(server[0], f"lakes/other/{name}", b"x")
    with pytest.raises(UsageError, match="holds objects that wiretool pipeline run has not written"):
        publish(made, "s3://lakes/other")
    server[0].delete_file(f"lakes/other/{name}")


# -- copies of captures ------------------------------------------------------------------------------------------------


def test_of_an_object_that_is_no_capture_only_the_beginning_is_copied(
    server: tuple[Any, int],
    proxy: FaultProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(limits, "REMOTE_BLOCK_BYTES_MAX", 256 * 1024)
    put(server[0], "lakes/mixed/a.bin", bytes(4 * 1024 * 1024))
    put(server[0], "lakes/mixed/b.pcap.gz", gzip.compress((CAPTURES / NAMES[0]).read_bytes()))
    assert make(["s3://lakes/mixed"], str(tmp_path / "lake")) == 0
    assert "s3://lakes/mixed/a.bin skipped: not a capture" in capsys.readouterr().err
    asked = [each for _, path, each in proxy.requests if path.endswith("a.bin") and each]
    assert 0 < len(set(asked)) <= 4


def test_a_name_may_be_longer_than_that_of_a_file(server: tuple[Any, int], proxy: FaultProxy, tmp_path: Path) -> None:
    name = f"{'é' * 300}.pcap"
    put(server[0], f"lakes/long/{name}", (CAPTURES / NAMES[0]).read_bytes())
    assert make([f"s3://lakes/long/{name}"], str(tmp_path / "lake")) == 0
    assert read_manifest(tmp_path / "lake").inputs[0].path == f"s3://lakes/long/{name}"


HANDSHAKE = pcap_bytes(packets_of([ethernet(tcp(("10.0.0.1", 4000), ("10.0.0.2", 12345), 1, 0, 2))]))
UDP = pcap_bytes(packets_of([ethernet(ip("10.0.0.1", "10.0.0.2", 17, bytes.fromhex("0001000200080000")))] * 3))


@pytest.mark.parametrize(("remote", "local"), [(UDP, UDP), (HANDSHAKE, UDP), (UDP, HANDSHAKE)], ids=["u", "tu", "ut"])
def test_a_run_that_reads_nothing_ends_as_one_of_files(
    remote: bytes,
    local: bytes,
    server: tuple[Any, int],
    proxy: FaultProxy,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put(server[0], "lakes/quiet/a.pcap", remote)
    for name, content in (("a", remote), ("b", local)):
        (tmp_path / f"{name}.pcap").write_bytes(content)
    ended = make([str(tmp_path / "a.pcap"), str(tmp_path / "b.pcap")], str(tmp_path / "t"))
    shown = capsys.readouterr().err.splitlines()[-1]
    assert make(["s3://lakes/quiet/a.pcap", str(tmp_path / "b.pcap")], str(tmp_path / "u")) == ended
    assert capsys.readouterr().err.splitlines()[-1] == shown
    assert "nothing was read: " in shown
