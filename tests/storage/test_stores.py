"""Captures in an S3 server, read through a proxy that fails."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import fs

from tests.helpers.forked import run, run_text
from tests.helpers.object_store import ENVIRONMENT, Fault, FaultProxy, faulty, put, ranges_of, s3_server
from wiretool import limits, read
from wiretool.errors import CaptureError, RemoteError, UnopenedError
from wiretool.storage.folder import StoreFolder
from wiretool.storage.object_stream import TransferError, retry
from wiretool.storage.stores import classify_failure, connect
from wiretool.storage.url_path import UrlPath

CAPTURE = Path(__file__).parents[2] / "captures" / "pravega" / "write.pcap"
URL = "s3://bucket/of a+b/write.pcap"


@pytest.fixture(scope="module")
def server() -> tuple[Any, int]:
    store, port = s3_server()
    store.create_dir("bucket")
    put(store, URL.removeprefix("s3://"), CAPTURE.read_bytes())
    put(store, "bucket/text.pcap", b"no capture")
    put(store, "bucket/empty.pcap", b"")
    put(store, "bucket/packed.pcap.gz", gzip.compress(CAPTURE.read_bytes()))
    return store, port


@pytest.fixture
def proxy(server: tuple[Any, int], monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(limits, "REMOTE_PAUSE_S", 0.001)
    monkeypatch.setattr(limits, "REMOTE_SILENCE_S", 1)
    monkeypatch.setattr(limits, "REMOTE_BLOCK_BYTES_MAX", 64 * 1024)
    monkeypatch.setattr(limits, "REMOTE_BLOCK_BYTES_MIN", 64 * 1024)
    with faulty(server[1]) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
        yield proxy


def records(url: str = URL) -> list[Any]:
    return list(read(url))


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    return list(read(CAPTURE))


def test_an_object_is_read_by_ranges(proxy: FaultProxy, expected: list[Any]) -> None:
    assert records() == expected
    assert len(ranges_of(proxy.requests)) == -(-CAPTURE.stat().st_size // limits.REMOTE_BLOCK_BYTES_MAX)


def test_a_packed_object_is_unpacked(proxy: FaultProxy, expected: list[Any]) -> None:
    assert records("s3://bucket/packed.pcap.gz") == expected


def test_the_beginning_costs_no_more_than_a_block(proxy: FaultProxy) -> None:
    next(iter(read(URL)))
    assert ranges_of(proxy.requests) == [f"bytes=0-{limits.REMOTE_BLOCK_BYTES_MIN - 1}"]


@pytest.mark.parametrize(
    "fault",
    [Fault(status=503), Fault(status=500), Fault(cut_at=0), Fault(cut_at=3_000), Fault(stall_s=3), Fault(slow_s=0.002)],
    ids=["503", "500", "cut at once", "cut", "stalled", "slow"],
)
def test_a_read_that_fails_is_repeated(fault: Fault, proxy: FaultProxy, expected: list[Any]) -> None:
    proxy.fail(fault)
    assert records() == expected
    assert not proxy.faults


def test_a_server_that_recovers_between_failures_is_read_to_the_end(proxy: FaultProxy, expected: list[Any]) -> None:
    few = [Fault(status=503)] * (limits.REMOTE_ATTEMPTS_MAX - 1)
    proxy.fail(*few, Fault(), *few)
    assert records() == expected


@pytest.mark.parametrize("fault", [Fault(status=503), Fault(cut_at=100)], ids=["503", "cut"])
def test_a_read_that_fails_for_good_states_its_byte(fault: Fault, proxy: FaultProxy) -> None:
    proxy.fail(Fault(), *[fault] * limits.REMOTE_ATTEMPTS_MAX)
    with pytest.raises(RemoteError, match=r"byte 65536: cannot be read: 5 attempts failed") as caught:
        records()
    assert str(caught.value).startswith(URL)
    assert caught.value.exit_code == 4


def test_what_is_before_a_cut_is_read(proxy: FaultProxy, expected: list[Any]) -> None:
    proxy.fail(Fault(), *[Fault(cut_at=0)] * limits.REMOTE_ATTEMPTS_MAX)
    found: list[Any] = []
    with pytest.raises(RemoteError):
        found.extend(read(URL))
    assert 0 < len(found) < len(expected)


def test_a_server_that_is_down_is_given_up_in_time(proxy: FaultProxy) -> None:
    proxy.fail(*[Fault(status=503)] * limits.REMOTE_ATTEMPTS_MAX, method="HEAD")
    begun = monotonic()
    with pytest.raises(RemoteError, match=r"cannot be read: 5 attempts failed, the last one: .*503"):
        records()
    assert monotonic() - begun < 5


def test_an_object_that_changes_is_no_capture(server: tuple[Any, int], proxy: FaultProxy) -> None:
    store, _ = server
    put(store, "bucket/changing.pcap", CAPTURE.read_bytes())
    proxy.before = lambda method, path: (
        put(store, "bucket/changing.pcap", CAPTURE.read_bytes()[:-1] + b"\0")
        if method == "GET" and len(ranges_of(proxy.requests)) == 2
        else None
    )
    with pytest.raises(RemoteError, match=r"byte 65536: the object changed while it was read"):
        records("s3://bucket/changing.pcap")


def test_an_object_that_is_deleted_meanwhile_is_an_error(server: tuple[Any, int], proxy: FaultProxy) -> None:
    store, _ = server
    put(store, "bucket/going.pcap", CAPTURE.read_bytes())
    proxy.before = lambda method, path: (
        store.delete_file("bucket/going.pcap") if method == "GET" and len(ranges_of(proxy.requests)) == 2 else None
    )
    with pytest.raises(RemoteError, match=r"byte 65536: the object changed while it was read"):
        records("s3://bucket/going.pcap")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("s3://bucket/missing.pcap", "no such object"),
        ("s3://missing/x.pcap", "no such bucket: missing"),
        ("s3://bucket/of a+b", "no such object"),
        ("s3://bucket", "a bucket or folder; expected an object"),
        ("s3://bucket/a//b", "not the name of an object"),
    ],
)
def test_an_object_that_is_not_there(url: str, why: str, proxy: FaultProxy) -> None:
    with pytest.raises(UnopenedError, match=why) as caught:
        records(url)
    assert caught.value.exit_code == 2


def test_a_closed_object_asks_for_credentials(proxy: FaultProxy) -> None:
    proxy.fail(Fault(status=403), method="HEAD")
    with pytest.raises(UnopenedError, match=r"access denied; expected credentials as of the AWS CLI"):
        records()


def test_an_endpoint_that_nobody_serves(proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    with pytest.raises(RemoteError, match=r"cannot be read: 5 attempts failed.*Failed to connect to 127\.0\.0\.1"):
        records()


@pytest.mark.parametrize(
    ("endpoint", "shown"),
    [
        ("127.0.0.1:9000", "127.0.0.1:9000"),
        ("me:secret@host", "***@host"),
        ("http://me:secret@host", "http://***@host"),
    ],
)
def test_an_endpoint_that_is_no_url(
    endpoint: str, shown: str, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    why = f"AWS_ENDPOINT_URL_S3={shown}: not the URL of a server; expected one such as http://127.0.0.1:9000"
    with pytest.raises(UnopenedError, match=f"^{re.escape(f'{URL}: {why}')}$"):
        records()


def test_an_object_that_is_no_capture(proxy: FaultProxy) -> None:
    with pytest.raises(CaptureError, match="neither pcap nor pcapng"):
        records("s3://bucket/text.pcap")
    assert records("s3://bucket/empty.pcap") == []


@pytest.mark.parametrize(
    "key",
    ["ACCESS_DENIED HTTP status 403", "Forbidden NO_SUCH_KEY.pcap", "AWS Error NO_SUCH_KEY during x operation: y"],
)
def test_a_key_that_reads_like_an_error_is_none(key: str, proxy: FaultProxy) -> None:
    proxy.fail(*[Fault(status=503)] * limits.REMOTE_ATTEMPTS_MAX, method="HEAD")
    with pytest.raises(RemoteError, match="cannot be read: 5 attempts failed"):
        records(f"s3://bucket/{key}")


NETWORK = "AWS Error NETWORK_CONNECTION"
IN_KEY = "When reading information for key 'a/AccessDenied' in bucket 'b': "
UNKNOWN = f"{IN_KEY}AWS Error UNKNOWN (HTTP status "
GOOGLE = (
    "[Errno 2] google::cloud::Status({}: Permanent error, with a last message of NOT_FOUND (x) "
    "error_info={{reason=, domain=}}). Detail: [errno 2] No such file or directory"
)
AZURE = "GetProperties failed for 'http://account/c/a/AccessDenied?sig=secret&sv=1'. Azure Error: [{}] {} Forbidden"


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        (f"{IN_KEY}AWS Error ACCESS_DENIED during HeadObject operation: No response body.", UnopenedError, "access de"),
        (f"{UNKNOWN}401) during HeadObject operation: x", UnopenedError, "access denied"),
        (
            f"{UNKNOWN}400) during HeadObject operation: ACCESS_DENIED",
            UnopenedError,
            "400",
        ),
        (
            f"{UNKNOWN}429) during HeadObject operation: ACCESS_DENIED",
            TransferError,
            "429",
        ),
        (f"{IN_KEY}AWS Error SLOW_DOWN during HeadObject operation: NO_SUCH_KEY", TransferError, "SLOW_DOWN in Head"),
        (GOOGLE.format("UNAUTHENTICATED"), UnopenedError, "access denied"),
        (
            GOOGLE.format("INVALID_ARGUMENT"),
            UnopenedError,
            r"INVALID_ARGUMENT: Permanent .* NOT_FOUND \(x\)$",
        ),
        (GOOGLE.format("UNAVAILABLE"), TransferError, "UNAVAILABLE: Permanent error"),
        (AZURE.format("AuthenticationFailed", 403), UnopenedError, "access denied"),
        (AZURE.format("ServerBusy", 503), TransferError, r"sig=\*\*\*&sv=1'. Azure Error: \[ServerBusy\] 503"),
        ("HDFS connection failed", TransferError, "HDFS connection failed"),
    ],
)
def test_codes_of_stores_decide(text: str, kind: type[Exception], shown: str) -> None:
    found = classify_failure("s3://b/a/AccessDenied", OSError(text), "b/a/AccessDenied")
    assert type(found) is kind
    assert re.search(shown, str(found))
    assert "secret" not in str(found)


@pytest.mark.parametrize("failures", [limits.REMOTE_ATTEMPTS_MAX - 1, limits.REMOTE_ATTEMPTS_MAX])
def test_the_region_of_a_bucket_is_asked_for_again(
    failures: int, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def resolve(bucket: str) -> str:
        asked.append(bucket)
        if len(asked) > failures:
            return "eu-central-1"
        raise OSError(f"When resolving region for bucket '{bucket}': {NETWORK} during HeadBucket operation: x")

    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    monkeypatch.setattr(fs, "resolve_s3_region", resolve)
    url = UrlPath("s3://bucket/x")
    if failures < limits.REMOTE_ATTEMPTS_MAX:
        store, name = retry(str(url), lambda: connect(url))
        assert (store.region, name) == ("eu-central-1", "bucket/x")
    else:
        with pytest.raises(RemoteError, match=r"^s3://bucket/x: cannot be read: 5 attempts failed, .*NETWORK_CONNEC"):
            records(url.url)
    assert asked == ["bucket"] * limits.REMOTE_ATTEMPTS_MAX


def test_a_bucket_without_a_region_is_none(proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(bucket: str) -> str:
        raise OSError(f"Bucket '{bucket}' not found")

    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    monkeypatch.setattr(fs, "resolve_s3_region", resolve)
    with pytest.raises(UnopenedError, match=r"^s3://bucket/x: cannot be opened: Bucket 'bucket' not found$"):
        records("s3://bucket/x")


@pytest.mark.parametrize(
    ("reason", "kind", "attempts"),
    [
        ("HDFS connection failed", RemoteError, limits.REMOTE_ATTEMPTS_MAX),
        ("Unable to load libjvm: x", UnopenedError, 1),
    ],
)
def test_hdfs_that_cannot_be_reached(
    reason: str, kind: type[CaptureError], attempts: int, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def connect_to(uri: str) -> None:
        asked.append(uri)
        raise OSError(reason)

    monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=connect_to))
    with pytest.raises(kind, match=reason):
        records("hdfs://me@host:8020/a%20b/c.pcap")
    assert asked == ["hdfs://me@host:8020/"] * attempts
    with pytest.raises(kind, match=reason):
        StoreFolder(UrlPath("hdfs://host/lake"))


def test_names_in_hdfs_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=lambda uri: (uri, "")))
    assert connect(UrlPath("hdfs://host/a%20b/c d?.pcap")) == ("hdfs://host/", "/a%20b/c d?.pcap")


@pytest.mark.parametrize("token", ["?sv=1&sig=x", "sv=1&sig=x"])
def test_a_token_of_azure_is_the_query_of_requests(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, str]] = []
    monkeypatch.delenv("AZURE_STORAGE_KEY", raising=False)
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", token)
    monkeypatch.setattr(fs, "AzureFileSystem", lambda account, **credentials: made.append(credentials))
    connect(UrlPath("abfss://c@account.dfs.core.windows.net/x"))
    assert made == [{"sas_token": "?sv=1&sig=x"}]


# -- commands ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["decode", "{}", "--format", "ndjson"],
        ["stats", "{}", "--engine", "columns", "--workers", "2"],
        ["slice", "{}", "--where", 'message == "AppendSetup"', "-o", "-"],
    ],
    ids=lambda words: " ".join(words[:1] + words[2:4]),
)
def test_a_command_gives_what_it_gives_of_a_file(words: list[str], proxy: FaultProxy) -> None:
    of_url, of_file = (run_bytes(*(word.format(each) for word in words)) for each in (URL, CAPTURE))
    assert of_url == of_file
    assert of_url


def run_bytes(*words: str) -> bytes:
    ended = run(*words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_missing_object_costs_no_output(proxy: FaultProxy, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("of an earlier run")
    ended = run_text("stats", "s3://bucket/missing.pcap", "-o", tmp_path / "kept.txt")
    assert (ended.returncode, ended.stderr) == (2, "wiretool: s3://bucket/missing.pcap: no such object\n")
    assert (tmp_path / "kept.txt").read_text() == "of an earlier run"
