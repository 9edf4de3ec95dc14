"""Captures of an S3 server read by ranges: the same packets as of files, and few other bytes."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.dissect.columns.made import Spoken, files_of, packets_made
from tests.helpers.examples import needs_protocol
from tests.helpers.object_store import ENVIRONMENT, Fault, FaultProxy, faulty, put, s3_server
from tests.storage.test_web import Site, serving
from wiretool import limits
from wiretool.capture.index.build import FileIndex, index_of, read_range
from wiretool.capture.index.object_cache import KEPT_BYTES_MIN, object_cache_folder, object_cache_path
from wiretool.errors import RemoteError, UnopenedError
from wiretool.pipeline.flows.rows import rows_of
from wiretool.storage.url_path import UrlPath

CAPTURES = Path(__file__).parents[2] / "captures"
SPLIT_BYTES, BLOCK_BYTES = 128 * 1024, 16 * 1024
LARGE = "s3://ranges/large.pcap"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of which the index is worth a file."""
    path = tmp_path_factory.mktemp("large") / "large.pcap"
    one = (CAPTURES / "pravega/read.pcap").read_bytes()
    path.write_bytes(one + one[24:] * (KEPT_BYTES_MIN // len(one)))
    return path


@pytest.fixture
def proxy(large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    store, port = s3_server()
    store.create_dir("ranges")
    put(store, "ranges/large.pcap", large.read_bytes())
    for name, value in {**ENVIRONMENT, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    for name, number in {"PAUSE_S": 0.001, "BLOCK_BYTES_MIN": BLOCK_BYTES, "BLOCK_BYTES_MAX": 8 * BLOCK_BYTES}.items():
        monkeypatch.setattr(limits, f"REMOTE_{name}", number)
    with faulty(port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


def bytes_read(proxy: FaultProxy) -> int:
    ranges = [asked.removeprefix("bytes=").split("-") for method, _, asked in proxy.requests if method == "GET"]
    proxy.requests.clear()
    return sum(int(last) - int(first) + 1 for first, last in ranges)


def rows(path: Path, index: FileIndex, first: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
    """The segments, with payloads in place of where they stand."""
    table = pa.Table.from_batches([rows_of(segments, 0) for segments in read_range(path, index, first, stop)])
    found: list[dict[str, Any]] = table.to_pylist()
    content = b"" if isinstance(path, UrlPath) else path.read_bytes()
    for row in found:
        at = row.pop("at")
        assert at < 0 or content
        row["data"] = row["data"] or content[at : at + row["length"]] * (at >= 0)
    return found


def test_each_range_is_that_of_the_file(large: Path, proxy: FaultProxy) -> None:
    index = index_of(UrlPath(LARGE), every_bytes=SPLIT_BYTES)
    local = index_of(large, every_bytes=SPLIT_BYTES, cache=False)
    assert (index.joints, index.tail, index.size) == (local.joints, local.tail, local.size)
    assert bytes_read(proxy) <= index.size + 4 * BLOCK_BYTES
    for first in (0, 3, len(index.joints) - 1):
        end = index.joints[first + 1].at if first + 1 < len(index.joints) else index.size
        assert rows(UrlPath(LARGE), index, first, first + 1) == rows(large, local, first, first + 1)
        assert bytes_read(proxy) <= end - index.joints[first].at + 2 * BLOCK_BYTES


def test_an_index_is_made_once(proxy: FaultProxy) -> None:
    index = index_of(UrlPath(LARGE), every_bytes=SPLIT_BYTES)
    assert bytes_read(proxy) >= index.size
    assert index_of(UrlPath(LARGE), every_bytes=SPLIT_BYTES) == index
    assert bytes_read(proxy) <= 6 * BLOCK_BYTES
    (kept,) = object_cache_folder().iterdir()
    assert kept == object_cache_path(UrlPath(LARGE), SPLIT_BYTES)
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["cut", "writable", "changed"])
def test_an_index_of_doubt_is_made_again(damage: str, proxy: FaultProxy) -> None:
    index = index_of(UrlPath(LARGE), every_bytes=SPLIT_BYTES)
    (kept,) = object_cache_folder().iterdir()
    content = kept.read_bytes()
    if damage == "writable":
        kept.chmod(0o666)
    else:
        kept.write_bytes(content[:-9] if damage == "cut" else content.replace(b'"number":1,', b'"number":2,', 1))
    bytes_read(proxy)
    assert index_of(UrlPath(LARGE), every_bytes=SPLIT_BYTES) == index
    assert bytes_read(proxy) >= index.size


def test_another_version_has_another_index(large: Path, proxy: FaultProxy) -> None:
    before = index_of(UrlPath(LARGE), every_bytes=SPLIT_BYTES)
    content = bytearray(large.read_bytes())
    content[24] ^= 1
    put(s3_server()[0], "ranges/large.pcap", bytes(content))
    after = index_of(UrlPath(LARGE), every_bytes=SPLIT_BYTES)
    assert after.head != before.head


def test_an_object_that_changed_after_its_index_is_not_read(large: Path, proxy: FaultProxy) -> None:
    path = UrlPath(LARGE)
    index = index_of(path, every_bytes=SPLIT_BYTES)
    put(s3_server()[0], "ranges/large.pcap", large.read_bytes() + b"\0")
    with pytest.raises(RemoteError, match=r"^s3://ranges/large\.pcap: the object changed since it was read first"):
        list(read_range(pickle.loads(pickle.dumps(path)), index))


def test_a_range_that_is_cut_is_asked_for_again(proxy: FaultProxy) -> None:
    path = UrlPath(LARGE)
    index = index_of(path, every_bytes=SPLIT_BYTES)
    expected = rows(path, index, 1, 2)
    proxy.fail(*[Fault(status=503)] * 3, method="GET")
    assert rows(path, index, 1, 2) == expected
    proxy.fail(*[Fault(status=503)] * 50, method="GET")
    with pytest.raises(RemoteError, match="5 attempts failed"):
        rows(path, index, 1, 2)


def test_a_missing_object(proxy: FaultProxy) -> None:
    with pytest.raises(UnopenedError, match=r"^s3://ranges/none\.pcap: no such object"):
        index_of(UrlPath("s3://ranges/none.pcap"))


@needs_protocol("offramp")
@pytest.mark.parametrize("form", ["nano", "zstd", "pcapng"])
def test_captures_of_web_servers(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "localhost")
    packets = packets_made([Spoken("offramp"), Spoken("pravega")], frozenset(["fragments"]), 3, 60)
    (tmp_path / "x.pcap").write_bytes(files_of(packets, form, 0)[0])
    local = index_of(tmp_path / "x.pcap", every_bytes=1024, cache=False)
    with serving(Site(content=(tmp_path / "x.pcap").read_bytes())) as site:
        index = index_of(UrlPath(site.url), every_bytes=1024)
        assert (index.joints, index.tail) == (local.joints, local.tail)
        assert len(index.joints) > 1 or index.is_packed
        for first in range(len(index.joints)):
            assert rows(UrlPath(site.url), index, first, first + 1) == rows(
                tmp_path / "x.pcap", local, first, first + 1
            )


@pytest.mark.parametrize(
    ("site", "missing"), [(Site(headers={}), "version"), (Site(has_length=False), "size")], ids=["version", "size"]
)
def test_a_web_server_that_names_too_little(site: Site, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "localhost")
    with (
        serving(site) as site,
        pytest.raises(RemoteError, match=rf"x\.pcap: parts of it cannot be read: the server names no {missing}"),
    ):
        index_of(UrlPath(site.url))
