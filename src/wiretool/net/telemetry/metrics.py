"""The metrics of a server or tap in the exposition format of Prometheus, or in OpenMetrics."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from wiretool import __version__
from wiretool.analysis.response_times import BOUNDS_S, Histogram, RequestKey
from wiretool.faults import Interceptor
from wiretool.net.serving.traffic import Traffic
from wiretool.net.telemetry.observer import RunObserver, action_of

#: The values of the labels of a sample.
Labels = TypeVar("Labels", bound=tuple[str, ...])


class Observed(Protocol):
    """A host or a tap."""

    @property
    def protocols(self) -> tuple[str, ...]: ...
    @property
    def open_count(self) -> int: ...
    @property
    def traffic(self) -> Traffic: ...
    @property
    def faults(self) -> Interceptor: ...
    @property
    def observer(self) -> RunObserver | None: ...


class RunMetrics(Collector):
    """The counters of a host or tap, read when a client asks for metrics; in between it costs nothing."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def render(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics in the format that an Accept header prefers, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the registry need not collect metrics to know their names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        build = GaugeMetricFamily("wiretool_build_info", "The version of wiretool.", labels=("version",))
        build.add_metric((__version__,), 1)
        yield build
        yield from self._connections()
        yield self._bytes()
        yield self._faults()
        observer = self._observed.observer
        if observer is not None:
            observer.flush()
            yield from _messages(observer)
            yield from _responses(observer)

    def _connections(self) -> Iterator[Metric]:
        traffic = self._observed.traffic
        yield GaugeMetricFamily(
            "wiretool_connections_open", "Connections of clients that are open.", self._observed.open_count
        )
        yield CounterMetricFamily("wiretool_connections", "Connections of clients that were accepted.", traffic.opened)
        yield CounterMetricFamily(
            "wiretool_connections_refused", "Connections beyond --max-connections.", traffic.refused
        )

    def _bytes(self) -> Metric:
        traffic = self._observed.traffic
        labels, text = ("protocol", "sender"), "Bytes received from each side; of a mock, those that it has sent."
        family = CounterMetricFamily("wiretool_bytes", text, labels=labels)
        for protocol in self._observed.protocols:
            family.add_metric((protocol, "client"), traffic.received.get(protocol, 0))
            family.add_metric((protocol, "server"), traffic.sent.get(protocol, 0))
        return family

    def _faults(self) -> Metric:
        observer = self._observed.observer
        applied = {(each.rule.text, action_of(each)): 0 for each in self._observed.faults.standings.values()}
        labels = ("rule", "action")
        counts = {**applied, **(observer.applied if observer is not None else {})}
        return _counter("wiretool_faults_applied", "Frames on which a fault rule acted.", labels, counts)


def _messages(observer: RunObserver) -> Iterator[Metric]:
    yield _counter(
        "wiretool_messages",
        "Messages as their sender sent them, before fault rules.",
        ("protocol", "message", "sender"),
        observer.messages,
    )
    yield _counter(
        "wiretool_problems",
        "Problems, by their kind in decode.",
        ("protocol", "kind"),
        observer.problems,
    )


def _responses(observer: RunObserver) -> Iterator[Metric]:
    labels, responses = ("protocol", "message"), observer.responses
    times = HistogramMetricFamily(
        "wiretool_response_seconds", "Time from a request to its first reply, by request.", labels=labels
    )
    for key, histogram in sorted(responses.histograms.items()):
        times.add_metric(key, _cumulative(histogram), histogram.sum_ns / 1e9)
    yield times
    yield _counter("wiretool_failed_requests", "Requests whose reply reports a failure.", labels, responses.failed)
    yield _unanswered(labels, responses.unanswered)


def _unanswered(labels: tuple[str, ...], counts: Mapping[RequestKey, int]) -> Metric:
    text = "Requests without a reply when their connection closed."
    return _counter("wiretool_unanswered_requests", text, labels, counts)


def _cumulative(histogram: Histogram) -> list[tuple[str, float]]:
    """Return the buckets as Prometheus has them: each with the times up to its bound."""
    bounds = (*map(str, BOUNDS_S), "+Inf")
    return list(zip(bounds, map(float, histogram.counts.cumsum().tolist()), strict=True))


def _counter(name: str, text: str, labels: tuple[str, ...], counts: Mapping[Labels, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for key, count in sorted(counts.items()):
        family.add_metric(key, count)
    return family
