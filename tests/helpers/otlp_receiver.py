"""An OTLP receiver on loopback that keeps the spans it gets."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Receiver:
    """Spans in the order of arrival, the attributes of their resources, and the paths that were asked for."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.spans: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.url = ""

    def take(self, path: str, content: bytes) -> None:
        self.paths.append(path)
        if self.status != 200:
            return
        request = ExportTraceServiceRequest.FromString(content)
        for group in request.resource_spans:
            self.resources.append(attributes(group.resource))
            self.spans += [span for scope in group.scope_spans for span in scope.spans]


def attributes(of: Any) -> dict[str, Any]:
    """Return the attributes of a span or resource by name."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}


@contextmanager
def receiving(status: int = 200) -> Iterator[Receiver]:
    """A receiver that answers each request with a status."""
    receiver = Receiver(status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(receiver.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
