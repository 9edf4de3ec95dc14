"""Exchanges as OpenTelemetry spans, sent over OTLP (HTTP with protobuf) by a thread of the SDK.

The SDK's queue is bounded: the oldest spans are dropped. OTEL_* variables apply as the SDK documents them.
"""

import logging
from collections.abc import Mapping, Sequence
from threading import Thread

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.util.types import AttributeValue

from wiretool import __version__
from wiretool.analysis.exchange_rows import Source
from wiretool.analysis.exchanges import NONE, Exchanged
from wiretool.codec.message import Side
from wiretool.errors import system_reason
from wiretool.net.addresses import Address

#: How long the last spans may take when the run ends.
FLUSH_S = 3.0
#: The loggers of the SDK: wiretool reports their problems in its own words, once.
_LOGGER = "opentelemetry"
_EXPORTERS = f"{_LOGGER}.exporter"


class _Problems(logging.Handler):
    """Keeps the first problem of the exporter."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.why = ""

    def emit(self, record: logging.LogRecord) -> None:
        if not self.why and record.name.startswith(_EXPORTERS):
            self.why = _reason_in(record)


def _reason_in(record: logging.LogRecord) -> str:
    """Return the reason of the system for a failed export, or the words of the SDK where there is none."""
    found = [each for each in record.args or () if isinstance(each, BaseException)]
    error = found[0] if found else None
    while error is not None:
        if isinstance(error, OSError) and error.strerror:
            return system_reason(error)
        error = error.__cause__ or error.__context__
    return " ".join(record.getMessage().split())


class _CountedExporter(SpanExporter):
    """Counts the spans that the receiver has accepted."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.accepted = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.accepted += len(spans)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class _CountedProcessor(BatchSpanProcessor):
    """Counts the spans that are to be sent."""

    ended = 0

    def on_end(self, span: ReadableSpan) -> None:
        self.ended += span.context is not None and span.context.trace_flags.sampled
        super().on_end(span)


class SpanSender:
    """Sends a span for each exchange to an OTLP receiver; `seen_by` is the side whose spans these are.

    A mock is the server of its clients, and a tap the client of its server. ValueError for OTEL_* variables out of
    range.
    """

    def __init__(self, url: str, *, seen_by: Side) -> None:
        self._url = url
        self._seen_by: Side = seen_by
        self._problems = _Problems()
        self._is_reported = False
        logger = logging.getLogger(_LOGGER)
        logger.propagate = False  # for good: threads of the SDK may report a problem after the end
        logger.addHandler(self._problems)
        self._exporter = _CountedExporter(OTLPSpanExporter(endpoint=url))
        self._processor = _CountedProcessor(self._exporter)
        self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._provider.add_span_processor(self._processor)
        self._tracer = self._provider.get_tracer("wiretool", __version__)

    def take(self, exchanged: Exchanged, ended_ns: Mapping[int, int]) -> None:
        """Send the spans of exchanges. Those without a reply last until the end of their connection, if it is known."""
        requests = exchanged.requests
        times = zip(requests.time_ns.tolist(), exchanged.latency_ns.tolist(), strict=True)
        for row, (start_ns, latency_ns) in enumerate(times):
            source = exchanged.sources[requests.source[row]]
            span = self._begin(source, start_ns, int(requests.size[row]))
            if exchanged.reply_n[row] == NONE:
                end_ns = max(start_ns, ended_ns.get(source.connection, start_ns))
                span.add_event("unanswered", timestamp=end_ns)
            else:
                end_ns = start_ns + latency_ns
                reply = exchanged.sources[exchanged.reply_source[row]].message
                _note_reply(span, reply, int(exchanged.reply_size[row]), exchanged.failures[exchanged.failure[row]])
            span.end(end_ns)

    def _begin(self, source: Source, start_ns: int, size: int) -> Span:
        kind = SpanKind.SERVER if source.side != self._seen_by else SpanKind.CLIENT
        attributes = _attributes(source, self._seen_by)
        attributes["wiretool.request.size"] = size
        return self._tracer.start_span(source.message, kind=kind, attributes=attributes, start_time=start_ns)

    def report(self) -> str:
        """Return a warning when the receiver does not accept spans, once; else nothing."""
        if self._is_reported or not self._problems.why:
            return ""
        self._is_reported = True
        return f"--otlp {self._url}: spans are not accepted: {self._problems.why}; expected an OTLP receiver over HTTP"

    def close(self) -> str:
        """Send what is left, for a bounded time; return a report of spans that were lost, if any."""
        closing = Thread(target=self._provider.shutdown, name="otlp-shutdown", daemon=True)
        closing.start()
        closing.join(FLUSH_S)
        if closing.is_alive():
            self._problems.why = self._problems.why or f"no answer in {FLUSH_S:g} s"
            self._exporter.shutdown()
            closing.join(FLUSH_S / 10)
        lost = self._processor.ended - self._exporter.accepted
        return f"--otlp {self._url}: {lost:,} of {self._processor.ended:,} spans were not delivered" if lost else ""


def _resource() -> Resource:
    """Return what the spans are of: wiretool, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES name another."""
    own = Resource({"service.name": "wiretool", "service.version": __version__})
    return Resource.create().merge(own).merge(OTELResourceDetector().detect())


def _attributes(source: Source, seen_by: Side) -> dict[str, AttributeValue]:
    """Return the attributes of each span of a message of a connection, in the names of the semantic conventions."""
    client, server = _parted(source.client), _parted(source.server)
    peer = client if seen_by == "server" else server
    return {
        "client.address": client.host,
        "client.port": client.port,
        "network.peer.address": peer.host,
        "network.peer.port": peer.port,
        "network.protocol.name": source.protocol,
        "network.transport": "tcp",
        "server.address": server.host,
        "server.port": server.port,
        "wiretool.connection": source.connection,
    }


def _parted(text: str) -> Address:
    """Return the host, without brackets, and the port of an address in a record."""
    host, _, port = text.rpartition(":")
    return Address(host.strip("[]"), int(port))


def _note_reply(span: Span, message: str, size: int, failure: str | None) -> None:
    span.set_attribute("wiretool.reply", message)
    span.set_attribute("wiretool.reply.size", size)
    if failure is not None:
        span.set_attribute("error.type", failure)
        span.set_status(StatusCode.ERROR, failure)
