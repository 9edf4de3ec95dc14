import os
import pickle
from pathlib import Path

import pytest

from wiretool.errors import RemoteError, UnopenedError, UsageError
from wiretool.storage.opening import open_url
from wiretool.storage.url_path import UrlPath, is_url, path_or_url, redact


@pytest.mark.parametrize(
    "text", ["s3://bucket/a//b c.pcap", "S3://bucket/x", "gs://b/x", "abfss://c@account/x", "https://host/x?a=b//c"]
)
def test_a_url_keeps_its_text(text: str) -> None:
    path = path_or_url(text)
    assert isinstance(path, UrlPath)
    assert path.url == text
    assert path.absolute() == path.resolve() == pickle.loads(pickle.dumps(path)) == path
    assert not path.exists()
    assert str(path) == text.partition("?")[0]


def test_the_query_of_a_web_server_is_not_shown() -> None:
    path = UrlPath("https://host/x.pcap?X-Amz-Signature=secret#part")
    assert (str(path), os.fspath(path), path.name) == (
        "https://host/x.pcap",
        "https://host/x.pcap",
        "x.pcap",
    )
    assert str(UrlPath("s3://bucket/what?.pcap")) == "s3://bucket/what?.pcap"


def test_urls_differ_where_paths_would_not() -> None:
    assert len({UrlPath("s3://b/x"), UrlPath("s3://b//x"), UrlPath("s3://b/x"), Path("s3:/b/x")}) == 3


def test_local_paths_stay_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd:").mkdir()
    (tmp_path / "odd:" / "x").touch()
    for text in ("x.pcap", "./s3://bucket/x", "/s3://x", "C://x", "odd://x", "-"):
        assert path_or_url(text) == Path(text)
        assert not is_url(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ftp://host/x", r"^ftp://host/x: unknown scheme ftp; expected s3, .* or \./ftp:/\.\.\. for a local file$"),
        ("s3://", "no bucket or host; expected SCHEME://NAME/PATH"),
        ("https:///x", "no bucket or host"),
        ("https://?sig=secret", r"^https://: no bucket or host"),
        ("ftp://me:secret@host/x?sig=secret", r"^ftp://\*\*\*@host/x\?sig=\*\*\*: unknown scheme ftp"),
        ("https://TOKEN@host/x?y", r"^https://\*\*\*@host/x: a user, token or password in a URL"),
        ("https://me:sec@ret@host/x", r"^https://\*\*\*@host/x: a user, token or password in a URL"),
        ("s3://KEY:sec/ret@bucket/x", r"^s3://\*\*\*@bucket/x: a user, token or password in a URL"),
        ("gs://KEY:sec/ret@bucket/x", r"^gs://\*\*\*@bucket/x: a user, token or password in a URL"),
        ("s3://KEY:secret@bucket/x", r"^s3://\*\*\*@bucket/x: a user, token or password in a URL"),
        ("abfs://container:secret@account/x", r"^abfs://\*\*\*@account/x: a user, token or password in a URL"),
        ("https://me:secret@host/x", r"^https://\*\*\*@host/x: a user, token or password in a URL"),
    ],
)
def test_refusals(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        path_or_url(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://b/x?X-Amz-Signature=secret&X-Amz-Date=1", "s3://b/x?X-Amz-Signature=***&X-Amz-Date=1"),
        ("abfs://c@account/x?sv=1&SIG=secret", "abfs://c@account/x?sv=1&SIG=***"),
        ("hdfs://me@host/x", "hdfs://me@host/x"),
        ("gs://b/x?X-Goog-Credential=secret", "gs://b/x?X-Goog-Credential=***"),
        ("s3://b/signature=5", "s3://b/signature=5"),
        ("GET 'https://a.example/x?sv=1&sig=secret' failed", "GET 'https://a.example/x?sv=1&sig=***' failed"),
        ("http://me:se/cr@et@proxy:1/x", "http://***@proxy:1/x"),
        ("http://host:8080/a/b:c@d", "http://host:8080/a/b:c@d"),
        ("me:se/cret@host", "***@host"),
        ("http://me:se@cret@proxy:1 and http://other/x@y", "http://***@proxy:1 and http://other/x@y"),
    ],
)
def test_secrets_are_not_shown(url: str, shown: str) -> None:
    assert redact(url) == shown


@pytest.mark.parametrize("url", ["s3://b/x?sig=secret", "https://host/x?y=secret", "https://host/x#secret"])
def test_no_part_of_a_path_has_a_secret(url: str) -> None:
    path = UrlPath(url)
    texts = str(path), repr(path), path.name, path.suffix, str(path.parts), os.fspath(path), path.as_posix()
    assert not [text for text in texts if "secret" in text]
    assert path.url == pickle.loads(pickle.dumps(path)).url == url


def test_a_store_without_its_library_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(UnopenedError, match=r"hdfs://127.0.0.1:1/x: cannot be opened: ") as caught:
        open_url(UrlPath("hdfs://127.0.0.1:1/x"))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("abfs://container/x", "no account; expected abfs://CONTAINER@ACCOUNT"),
        ("abfs://c@account.dfs.core.windows.net/x?sv=1&sig=secret", r"sig=\*\*\*: a token in the URL; expected AZURE_"),
        ("abfss://c@account.dfs.core.windows.net/x", "no credentials; expected AZURE_STORAGE_KEY or AZURE_STORAGE_SAS"),
    ],
)
def test_azure_without_credentials(url: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_KEY", raising=False)
    monkeypatch.delenv("AZURE_STORAGE_SAS_TOKEN", raising=False)
    with pytest.raises(UnopenedError, match=why):
        open_url(UrlPath(url))


def test_azure_with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import fs

    from wiretool.storage.stores import connect

    monkeypatch.setenv("AZURE_STORAGE_KEY", "a2V5")
    store, name = connect(UrlPath("abfss://c@account.dfs.core.windows.net/a/x.pcap"))
    assert isinstance(store, fs.AzureFileSystem)
    assert name == "c/a/x.pcap"


def test_an_object_must_be_the_one_that_was_opened_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pyarrow import fs

    from wiretool.storage import stores

    (tmp_path / "x").write_bytes(b"one")
    local = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(stores, "connect", lambda path: (local, "x"))
    path = UrlPath("hdfs://host/x")
    with open_url(path) as stream:
        assert stream.read() == b"one"
    with open_url(path) as stream:
        assert stream.read() == b"one"
    (tmp_path / "x").write_bytes(b"another")
    os.utime(tmp_path / "x", (1, 1))
    with pytest.raises(RemoteError, match="the object changed since it was read first"):
        open_url(path)
