"""An S3 server on loopback (moto), and a proxy in front of it that fails as a test asks."""

import http.client
import logging
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from moto.server import ThreadedMotoServer
from pyarrow import fs

#: Variables that lead to a server here; nothing of the machine's own configuration is read.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}

#: Headers of a request that are of one connection alone.
HOP_HEADERS = ("transfer-encoding", "content-length", "connection", "expect")


@dataclass
class Fault:
    """The fault of the proxy for a request: a status in place of an answer, or a body that is cut, slow or stalled."""

    status: int = 0
    #: Bytes of the body after which the connection is closed.
    cut_at: int = -1
    #: Whether the request is passed on, and its answer lost.
    lost: bool = False
    #: Seconds of silence after the first bytes of the body.
    stall_s: float = 0.0
    #: Seconds before each kibibyte of the body.
    slow_s: float = 0.0


@dataclass
class FaultProxy:
    """A proxy whose faults are used up one by one: each by the next request that `is_meant` accepts."""

    port: int = 0
    faults: list[Fault] = field(default_factory=list)
    is_meant: Callable[[str, str], bool] = lambda method, path: True
    #: Called before each request is passed on.
    before: Callable[[str, str], None] = lambda method, path: None
    #: Method, path, and range of each request.
    requests: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def fail(self, *faults: Fault, method: str = "GET") -> None:
        """Use these faults for the next requests with a method."""
        self.faults, self.is_meant = list(faults), lambda each, path: each == method


@cache
def s3_server() -> tuple["fs.S3FileSystem", int]:
    """Return a server as a file system, and its port; all tests of a process share it, each file with its bucket."""
    logging.getLogger("werkzeug").disabled = True
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()  # a daemon thread
    host, port = server.get_host_and_port()
    store = fs.S3FileSystem(
        access_key="test",
        secret_key="test",
        region="us-east-1",
        endpoint_override=f"http://{host}:{port}",
        allow_bucket_creation=True,
        allow_delayed_open=True,
    )
    return store, port


@contextmanager
def default_ctrl_c() -> Iterator[None]:
    """Handle Ctrl-C as a program on a terminal: in the background shells have it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def faulty(server_port: int) -> Iterator[FaultProxy]:
    """A proxy in front of a server on loopback."""
    proxy = FaultProxy()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            _pass_on(self, proxy, server_port)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        proxy.port = server.server_port
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()


def _body_of(handler: BaseHTTPRequestHandler) -> Iterator[bytes]:
    """Yield the body of a request, which may be in chunks."""
    if handler.headers.get("Transfer-Encoding", "") != "chunked":
        yield handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        return
    while size := int(handler.rfile.readline(), 16):
        yield handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()


def _pass_on(handler: BaseHTTPRequestHandler, proxy: FaultProxy, server_port: int) -> None:
    method, path = handler.command, handler.path
    proxy.requests.append((method, path, handler.headers.get("Range", "")))
    body = b"".join(_body_of(handler))
    proxy.before(method, path)
    fault = proxy.faults.pop(0) if proxy.faults and proxy.is_meant(method, path) else Fault()
    if fault.status:
        handler.send_response(fault.status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    connection = http.client.HTTPConnection("127.0.0.1", server_port, timeout=30)
    try:
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in HOP_HEADERS}
        connection.request(method, path, body, {**headers, "Content-Length": str(len(body))})
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if fault.lost:
        handler.close_connection = True
        return
    handler.send_response(answer.status)
    for name, value in answer.getheaders():
        if name.lower() not in ("connection", "transfer-encoding", "server", "date"):
            handler.send_header(name, value)
    if not answer.getheader("Content-Length"):
        handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    with suppress(ConnectionError):  # a client that gave up
        _send_body(handler, content, fault)


def _send_body(handler: BaseHTTPRequestHandler, content: bytes, fault: Fault) -> None:
    if 0 <= fault.cut_at < len(content):
        handler.wfile.write(content[: fault.cut_at])
        handler.close_connection = True
    elif fault.stall_s:
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        time.sleep(fault.stall_s)
        handler.close_connection = True
    else:
        for at in range(0, len(content), 1024 if fault.slow_s else len(content) or 1):
            time.sleep(fault.slow_s)
            handler.wfile.write(content[at : at + (1024 if fault.slow_s else len(content))])


def put(store: "fs.FileSystem", name: str, content: bytes) -> None:
    """Store an object."""
    with store.open_output_stream(name, compression=None) as out:
        out.write(content)


def ranges_of(requests: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the ranges that were asked for."""
    return [asked for method, _, asked in requests if method == "GET" and asked]
