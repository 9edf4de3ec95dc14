"""Tables in an S3 server, queried from copies of the files that a query reads."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest

from tests.helpers.object_store import ENVIRONMENT, Fault, FaultProxy, faulty, put, s3_server
from wiretool import limits
from wiretool.errors import CaptureError, RemoteError, UsageError
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import MANIFEST, manifest_bytes, read_manifest
from wiretool.pipeline.local import run_local
from wiretool.pipeline.report import report_on
from wiretool.pipeline.sql import asked
from wiretool.pipeline.table_copies import has_tables
from wiretool.pipeline.views import ALWAYS
from wiretool.storage.folder import StoreFolder
from wiretool.storage.url_path import UrlPath

CAPTURES = Path(__file__).parents[2] / "captures"
LAKE = UrlPath("s3://queried/lake")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made") / "lake"
    captures = [CAPTURES / "pravega-draft/blocks.pcap", CAPTURES / "sbp/pd_heartbeat.pcap"]
    run_local(Job(captures, root), lambda text: None, lambda step: None)
    return root


@pytest.fixture
def proxy(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    store, port = s3_server()
    store.create_dir("queried")
    for path in made.rglob("*.*"):
        if path.is_file():
            put(store, f"queried/lake/{path.relative_to(made)}", path.read_bytes())
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(limits, "REMOTE_ATTEMPTS_MAX", 2)
    with faulty(port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


def answer(root: Path, question: str) -> Any:
    with asked(root, question) as found:
        return found.read_all()


def files_read(proxy: FaultProxy) -> set[str]:
    paths = [unquote(path) for method, path, _ in proxy.requests if method == "GET"]
    return {path.partition("/lake/")[2] for path in paths if "/lake/" in path}


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("SELECT kind, count(*) FROM frames GROUP BY ALL ORDER BY ALL", {"frames"}),
        ("SELECT * FROM sbp.HEARTBEAT ORDER BY ALL", {"sbp.HEARTBEAT"}),
        ("SELECT * FROM gold.totals ORDER BY ALL", {"frames", "exchanges", "ledger", "gaps", "problems"}),
    ],
)
def test_only_the_tables_of_a_question_are_read(question: str, names: set[str], made: Path, proxy: FaultProxy) -> None:
    assert answer(LAKE, question).equals(answer(made, question))
    tables = read_manifest(made).tables
    assert files_read(proxy) == {MANIFEST} | {file.path for name in names for file in tables.get(name, ())}


@pytest.mark.parametrize("question", ["SHOW ALL TABLES", "DESCRIBE frames", "show frames"])
def test_names_take_one_file_of_each_table(question: str, made: Path, proxy: FaultProxy) -> None:
    assert answer(LAKE, question).equals(answer(made, question))
    tables = read_manifest(made).tables
    assert any(len(files) > 1 for files in tables.values())
    assert files_read(proxy) <= {MANIFEST} | {files[0].path for files in tables.values()}


def test_a_report_is_that_of_local_tables(made: Path, proxy: FaultProxy) -> None:
    mine, theirs = report_on(made, ALWAYS, 10), report_on(LAKE, ALWAYS, 10)
    assert theirs.root == LAKE
    assert [figure.rows for figure in theirs.figures] == [figure.rows for figure in mine.figures]
    assert any(figure.rows for figure in theirs.figures)
    assert not any("." in path.partition("/")[0] for path in files_read(proxy) - {MANIFEST})


def test_whether_there_are_rows_takes_the_manifest_alone(proxy: FaultProxy) -> None:
    assert has_tables(LAKE)
    assert files_read(proxy) == {MANIFEST}


def test_names_that_lead_out_of_the_folder_are_not_copied(
    made: Path, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some stores have such names."""
    sizes, copied = StoreFolder.sizes, list[str]()
    download = StoreFolder.download

    def note(store: StoreFolder, name: str, path: Path) -> None:
        copied.append(name)
        download(store, name, path)

    outside = ".wiretool-manifest/../../../outside"
    monkeypatch.setattr(StoreFolder, "sizes", lambda store: {**sizes(store), outside: 1})
    monkeypatch.setattr(StoreFolder, "download", note)
    assert answer(LAKE, "SELECT * FROM frames").equals(answer(made, "SELECT * FROM frames"))
    assert MANIFEST in copied
    assert outside not in copied


def test_tables_that_a_run_replaces_meanwhile_are_read_again(made: Path, proxy: FaultProxy) -> None:
    """Between the list of objects and the manifest, the files get other names."""
    store, _ = s3_server()
    old = read_manifest(made)
    (file,) = old.tables["frames"][:1]
    moved = str(PurePosixPath(file.path).with_name("part-00ff00ff00ff-00000.parquet"))
    others = [msgspec.structs.replace(file, path=moved), *old.tables["frames"][1:]]
    new = msgspec.structs.replace(old, tables={**old.tables, "frames": others})
    done: list[str] = []

    def replace_once(method: str, path: str) -> None:
        if method == "GET" and unquote(path).endswith(MANIFEST) and not done:
            done.append(path)
            put(store, f"queried/lake/{moved}", (made / file.path).read_bytes())
            put(store, f"queried/lake/{MANIFEST}", manifest_bytes(new))

    proxy.before = replace_once
    try:
        assert answer(LAKE, "SELECT count(*) FROM frames").equals(answer(made, "SELECT count(*) FROM frames"))
    finally:
        proxy.before = lambda method, path: None
        put(store, f"queried/lake/{MANIFEST}", (made / MANIFEST).read_bytes())
    assert done


def test_a_missing_and_a_damaged_file_are_named(made: Path, proxy: FaultProxy) -> None:
    store, _ = s3_server()
    path = read_manifest(made).tables["ledger"][0].path
    put(store, f"queried/lake/{path}", b"PAR1")
    with pytest.raises(CaptureError, match=rf"^s3://queried/lake/{path}: a damaged file; .*make the tables again"):
        answer(LAKE, "SELECT * FROM ledger")
    store.delete_file(f"queried/lake/{path}")
    with pytest.raises(CaptureError, match=rf"^s3://queried/lake/{path}: no such file, though manifest\.json names it"):
        answer(LAKE, "SELECT * FROM ledger")
    assert answer(LAKE, "SELECT * FROM frames").num_rows


def test_a_store_that_fails_is_named(proxy: FaultProxy) -> None:
    proxy.fail(*[Fault(status=503)] * 10)
    with pytest.raises(RemoteError, match=r"^s3://queried/lake: cannot be read: HTTP status 503"):
        answer(LAKE, "SELECT * FROM frames")


@pytest.mark.parametrize(
    ("root", "why"),
    [
        ("s3://queried/none", r"^s3://queried/none holds no tables of wiretool pipeline: it has no manifest\.json"),
        ("s3://nobucket/none", r"^s3://nobucket/none holds no tables"),
        ("https://host/lake", "^https://host/lake: a web server has no folders; expected tables in object storage"),
    ],
)
def test_refusals(root: str, why: str, proxy: FaultProxy) -> None:
    with pytest.raises(UsageError, match=why):
        answer(UrlPath(root), "SELECT 1")
