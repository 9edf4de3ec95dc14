"""Captures on web servers, with and without support of ranges."""

import gzip
import ssl
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import trustme

from wiretool import limits, read
from wiretool.commands.options import Engine
from wiretool.commands.slice.run import Slicing, slice_into
from wiretool.errors import RemoteError, UnopenedError
from wiretool.storage.opening import open_url
from wiretool.storage.url_path import UrlPath

CAPTURE = Path(__file__).parents[2] / "captures" / "pravega" / "write.pcap"
CONTENT = CAPTURE.read_bytes()


@dataclass
class Site:
    """A web server with one object, and what it does with requests of it."""

    content: bytes = CONTENT
    has_ranges: bool = True
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"one"'})
    #: Of each request in turn: the bytes after which the connection is closed, or a status in place of an answer.
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    silence_s: float = 0.0
    has_length: bool = True
    #: Headers of each request.
    requests: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(site: Site, context: ssl.SSLContext | None = None) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer(self, site)

        do_CONNECT = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore a client that refuses the certificate: the test expects that."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        site.url = f"http{'s' * (context is not None)}://localhost:{server.server_address[1]}/x.pcap?signature=secret"
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


def answer(handler: BaseHTTPRequestHandler, site: Site) -> None:
    site.requests.append(dict(handler.headers.items()))
    handler.close_connection = True
    if status := site.statuses.pop(0) if site.statuses else 0:
        handler.send_response(status)
        if status == 302:
            handler.send_header("Location", site.url)
        handler.send_header("Connection", "close")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    asked = handler.headers.get("Range") if site.has_ranges else None
    start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
    body = site.content[start:]
    handler.send_response(206 if asked else 200)
    if asked:
        handler.send_header("Content-Range", f"bytes {start}-{len(site.content) - 1}/{len(site.content)}")
    for name, value in site.headers.items():
        handler.send_header(name, value)
    if site.has_length:
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    cut = site.cuts.pop(0) if site.cuts else len(body)
    handler.wfile.write(body[:cut])
    handler.wfile.flush()
    if cut < len(body):
        time.sleep(site.silence_s)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REMOTE_PAUSE_S", 0.001)
    monkeypatch.setattr(limits, "REMOTE_SILENCE_S", 0.5)
    monkeypatch.setenv("no_proxy", "localhost")


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    return list(read(CAPTURE))


def records(site: Site) -> list[Any]:
    return list(read(site.url))


@pytest.mark.parametrize("has_length", [True, False])
def test_an_object_is_read_in_one_response(has_length: bool, expected: list[Any]) -> None:
    with serving(Site(has_length=has_length)) as site:
        assert records(site) == expected
    assert len(site.requests) == 1


def test_the_bytes_of_a_packed_capture_are_those_that_were_sent(expected: list[Any]) -> None:
    """Servers call the content of .gz files an encoding; a response that is cut is continued within it."""
    packed = gzip.compress(CONTENT)
    headers = {"ETag": '"a"', "Content-Encoding": "gzip"}
    with serving(Site(content=packed, headers=headers, cuts=[len(packed) // 2])) as site:
        assert records(site) == expected
    assert [each.get("Range") for each in site.requests] == [None, f"bytes={len(packed) // 2}-"]


@pytest.mark.parametrize("has_ranges", [True, False])
@pytest.mark.parametrize("headers", [{"ETag": '"a"'}, {"Last-Modified": "Sat, 28 Nov 2026 10:00:00 GMT"}], ids=str)
def test_a_response_that_is_cut_is_continued(has_ranges: bool, headers: dict[str, str], expected: list[Any]) -> None:
    with serving(Site(has_ranges=has_ranges, headers=headers, cuts=[100_000])) as site:
        assert records(site) == expected
    assert [each.get("Range") for each in site.requests] == [None, "bytes=100000-"]


def test_a_silent_server_is_given_up_and_asked_again(expected: list[Any]) -> None:
    with serving(Site(cuts=[100_000], silence_s=2)) as site:
        assert records(site) == expected
    assert site.requests[1]["Range"] == "bytes=100000-"


def test_a_response_that_is_cut_again_and_again_states_its_byte() -> None:
    with serving(Site(cuts=[100_000, *[0] * limits.REMOTE_ATTEMPTS_MAX])) as site:
        with pytest.raises(RemoteError, match=r"x\.pcap: byte 100000: cannot be read: 5 attempts failed") as caught:
            records(site)
        assert "secret" not in str(caught.value)
    assert len(site.requests) == limits.REMOTE_ATTEMPTS_MAX


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"weak"'}], ids=["none", "weak"])
def test_without_a_version_nothing_is_continued(headers: dict[str, str]) -> None:
    with (
        serving(Site(headers=headers, cuts=[100_000])) as site,
        pytest.raises(RemoteError, match=r"byte 100000: the transfer was cut, and cannot be continued"),
    ):
        records(site)


@pytest.mark.parametrize("has_ranges", [True, False])
@pytest.mark.parametrize("is_longer", [True, False])
def test_an_object_that_changed_is_not_continued(has_ranges: bool, is_longer: bool) -> None:
    with serving(Site(has_ranges=has_ranges, cuts=[100_000])) as site:
        records = read(site.url)
        next(records)
        site.headers, site.content = {"ETag": '"two"'}, CONTENT + b"\0" * is_longer
        with pytest.raises(RemoteError, match=r"byte 100000: the object changed while it was read"):
            list(records)
        assert len(site.requests) == 2


@pytest.mark.parametrize("status", [404, 416])
def test_an_object_that_went_is_not_continued(status: int) -> None:
    with (
        serving(Site(cuts=[100_000], statuses=[0, status])) as site,
        pytest.raises(RemoteError, match=r"byte 100000: the object changed while it was read"),
    ):
        records(site)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(status: int, expected: list[Any]) -> None:
    with serving(Site(statuses=[status, status])) as site:
        assert records(site) == expected


def test_a_redirection_is_followed(expected: list[Any]) -> None:
    with serving(Site(statuses=[302])) as site:
        assert records(site) == expected


@pytest.mark.parametrize(
    ("statuses", "kind", "why"),
    [
        ([404], UnopenedError, r"x\.pcap: no such object \(HTTP status 404\)"),
        ([403], UnopenedError, r"access denied \(HTTP status 403\); expected a public or signed URL"),
        ([418], RemoteError, "HTTP status 418; expected 200"),
        ([302] * 40, RemoteError, "5 attempts failed, the last one: too many redirects"),
        ([503] * 20, RemoteError, "5 attempts failed, the last one: HTTP status 503"),
    ],
)
def test_refusals(statuses: list[int], kind: type[Exception], why: str) -> None:
    with serving(Site(statuses=statuses)) as site, pytest.raises(kind, match=why):
        records(site)


def test_a_certificate_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: list[Any]) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with serving(Site(), context) as site:
        with pytest.raises(RemoteError, match="certificate verify failed"):
            records(site)
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert records(site) == expected


def test_an_unreachable_server() -> None:
    with pytest.raises(RemoteError, match=r"http://localhost:1/x: cannot be read: 5 attempts failed, .*refused"):
        list(read("http://localhost:1/x"))


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, expected: list[Any]) -> None:
    with serving(Site()) as site:
        monkeypatch.setenv("http_proxy", site.url.partition("/x")[0])
        assert list(read("http://capture.example/x.pcap")) == expected


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_credentials_of_a_proxy_are_sent(scheme: str, monkeypatch: pytest.MonkeyPatch, expected: list[Any]) -> None:
    with serving(Site()) as site:
        host = site.url.partition("/x")[0].removeprefix("http://")
        monkeypatch.setenv("http_proxy", f"{scheme}me:p%40ss@{host}")
        assert list(read("http://capture.example/x.pcap")) == expected
    assert b64decode(site.requests[0]["proxy-authorization"].removeprefix("Basic ")) == b"me:p@ss"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_requires_credentials(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    why = rf"^{scheme}://capture\.example/x: the proxy requires credentials \(HTTP status 407\); expected http_proxy="
    with serving(Site(statuses=[407])) as site:
        monkeypatch.setenv(f"{scheme}_proxy", site.url.partition("/x")[0])
        with pytest.raises(UnopenedError, match=why):
            list(read(f"{scheme}://capture.example/x"))


@pytest.mark.parametrize("proxy", ["socks5://me:secret@host:1", "http://me:secret@host:port", "http://me:secret@"])
def test_a_proxy_that_is_no_url_is_named(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    why = r"^http://capture\.example/x: http_proxy=\w+://\*\*\*@.*: not the URL of a proxy; expected http://HOST:PORT"
    with pytest.raises(UnopenedError, match=why):
        list(read("http://capture.example/x"))


def test_an_unreachable_proxy_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://me:secret@localhost:1")
    with pytest.raises(
        RemoteError, match=r"/x: cannot be read: 5 attempts.*: the proxy: Connection refused$"
    ) as caught:
        list(read("http://capture.example/x?sig=secret"))
    assert "secret" not in str(caught.value)


def test_a_url_that_is_none_is_shown_without_its_signature() -> None:
    with pytest.raises(UnopenedError, match=r"^http://host:port/x: not a URL: ") as caught:
        list(read("http://host:port/x?y=secret"))
    assert "secret" not in str(caught.value)


# -- objects that are opened twice -------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("headers", [{}, {"ETag": '"a"'}], ids=["no version", "version"])
def test_the_size_tells_a_change_where_there_is_no_version(headers: dict[str, str], has_length: bool) -> None:
    with serving(Site(headers=headers, has_length=has_length)) as site:
        path = UrlPath(site.url)
        for _ in range(2):
            open_url(path).close()
        assert path.is_comparable == (has_length or bool(headers))
        site.content += b"\0"
        site.headers = dict.fromkeys(headers, '"b"')
        if path.is_comparable:
            with pytest.raises(RemoteError, match=r"x\.pcap: the object changed since it was read first"):
                open_url(path)
        else:
            open_url(path).close()


def test_slice_reports_an_object_that_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Site(headers={}, has_length=False)) as site:
        options = Slicing([UrlPath(site.url)], "auto", {}, Engine.ROWS, 'message == "AppendSetup"', None, False)
        assert slice_into(tmp_path / "x.pcapng", options) == 1
    assert "x.pcap: the server states neither size nor version; a change between both" in capsys.readouterr().err
