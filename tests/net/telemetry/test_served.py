"""Metrics and spans of servers and taps that run: they equal the figures of their recordings."""

import time
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from tests.helpers.otlp_receiver import attributes, receiving
from tests.helpers.servers import Server, started, wiretool
from wiretool.analysis.exchanges import NONE, Exchanging
from wiretool.analysis.stats import Stats
from wiretool.batches.batch import Batch
from wiretool.dissect.dissector import read
from wiretool.records import Record

CAPTURE = Path(__file__).parents[3] / "captures" / "pravega" / "java_conditional.pcap"
ANY = "127.0.0.1:0"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def scraped(server: Server, accept: str = "text/plain") -> dict[str, Metric]:
    """Ask for the metrics as Prometheus does; return them by name."""
    request = urllib.request.Request(f"http://{server.control}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        text, kind = answer.read().decode(), answer.headers["Content-Type"]
    assert kind.split(";")[0] == accept.split(";")[0]
    parse = parse_openmetrics if accept == OPENMETRICS else parse_text
    return {family.name: family for family in parse(text)}


def scraped_at_rest(server: Server) -> dict[str, Metric]:
    """Return the metrics once all connections are closed: a tap learns of that from both sides."""
    deadline = time.monotonic() + 10
    while values((metrics := scraped(server))["wiretool_connections_open"], suffix=""):
        assert time.monotonic() < deadline, "a connection stays open"
    return metrics


def values(family: Metric, *labels: str, suffix: str = "_total") -> dict[tuple[str, ...], float]:
    """Return the samples of a metric that are not 0, by the values of some labels."""
    samples = [each for each in family.samples if each.name == family.name + suffix and each.value]
    return {tuple(each.labels[label] for label in labels): each.value for each in samples}


def records_in(recording: Path) -> list[Record]:
    records = list(read(recording))
    assert records
    return records


def expected_counts(records: list[Record]) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the metrics of records as stats and the exchanges of tables have them."""
    stats = Stats()
    stats.add_all(records)
    exchanging = Exchanging()
    exchanged = exchanging.take(Batch(1, len(records), (), records))
    answered, failed = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for row in range(len(exchanged)):
        source = exchanged.sources[exchanged.requests.source[row]]
        answered[source.protocol, source.message] += exchanged.reply_n[row] != NONE
        failed[source.protocol, source.message] += exchanged.failure[row] > 0
    left = exchanging.end()
    sources = [left.sources[code] for code in left.requests.source]
    return {
        "messages": {key: float(row.frames) for key, row in stats.messages.items()},
        "bytes": {("client",): float(stats.total.client_bytes), ("server",): float(stats.total.server_bytes)},
        "answered": {key: float(count) for key, count in answered.items() if count},
        "failed": {key: float(count) for key, count in failed.items() if count},
        "unanswered": dict(Counter((source.protocol, source.message) for source in sources)),
    }


def seen_counts(metrics: dict[str, Metric]) -> dict[str, dict[tuple[str, ...], float]]:
    request = ("protocol", "message")
    return {
        "messages": values(metrics["wiretool_messages"], "protocol", "message", "sender"),
        "bytes": values(metrics["wiretool_bytes"], "sender"),
        "answered": values(metrics["wiretool_response_seconds"], *request, suffix="_count"),
        "failed": values(metrics["wiretool_failed_requests"], *request),
        "unanswered": values(metrics["wiretool_unanswered_requests"], *request),
    }


@pytest.mark.parametrize("command", ["serve", "tap"])
def test_metrics_and_spans_equal_the_recording(tmp_path: Path, command: str) -> None:
    """A client of Java, recorded and replayed."""
    recording = tmp_path / "seen.pcapng"
    with receiving() as receiver:
        options = ("--control", ANY, "--otlp", receiver.url, "--record", str(recording))
        with started(tmp_path, "serve", "pravega", "--listen", ANY, *(options if command == "serve" else ())) as mock:
            host, port = mock.doors["store"]
            tap = ("tap", "pravega", "--listen", ANY, "--upstream", f"{host}:{port}", *options, "-o", "tapped.txt")
            with started(tmp_path, *tap, name="tap") if command == "tap" else mock as server:
                host, port = server.doors["pravega" if command == "tap" else "store"]
                wiretool("replay", str(CAPTURE), "--target", f"{host}:{port}", "--prepare", "--speed", "max")
                metrics = scraped_at_rest(server)
                assert seen_counts(scraped(server, OPENMETRICS)) == seen_counts(metrics)
                assert server.stop() == 0
                assert "spans" not in server.stderr
    records = records_in(recording)
    expected = expected_counts(records)
    assert expected["failed"]
    assert expected["unanswered"]
    assert seen_counts(metrics) == expected
    assert values(metrics["wiretool_problems"], "kind") == {}
    connections = {record.connection for record in records}
    assert values(metrics["wiretool_connections"]) == {(): len(connections)}

    assert set(receiver.paths) == {"/v1/traces"}
    assert receiver.resources[0]["service.name"] == "wiretool"
    spans = Counter(
        (attributes(span)["network.protocol.name"], span.name) for span in receiver.spans if not span.events
    )
    assert spans == expected["answered"]
    failed = [span for span in receiver.spans if span.status.code == span.status.STATUS_CODE_ERROR]
    assert Counter(("pravega", span.name) for span in failed) == expected["failed"]
    assert {attributes(span)["error.type"] for span in failed} >= {"NoSuchSegment"}
    unanswered = Counter(("pravega", span.name) for span in receiver.spans if span.events)
    assert unanswered == expected["unanswered"]
    first = receiver.spans[0]
    peer = attributes(first)["network.peer.address"], attributes(first)["network.peer.port"]
    assert {span.kind for span in receiver.spans} == {
        first.SPAN_KIND_CLIENT if command == "tap" else first.SPAN_KIND_SERVER
    }
    assert (peer == mock.doors["store"]) == (command == "tap")
    took_ns = sum(span.end_time_unix_nano - span.start_time_unix_nano for span in receiver.spans if not span.events)
    assert took_ns / 1e9 == pytest.approx(
        sum(values(metrics["wiretool_response_seconds"], "message", suffix="_sum").values())
    )


def test_a_server_says_so_in_one_line() -> None:
    ended = wiretool("serve", "sbp", "--listen", "127.0.0.1:0", "--otlp", "127.0.0.1:4318", "--duration", "1s")
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stderr.startswith("wiretool: --otlp 127.0.0.1:4318: not a URL; expected http://HOST:PORT")
