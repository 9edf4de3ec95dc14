"""Spans at a real receiver, and at one that does not accept them."""

import socket
import time
from pathlib import Path

import pytest

from tests.helpers.otlp_receiver import Receiver, attributes, receiving
from wiretool.dissect.dissector import read
from wiretool.net.telemetry import spans
from wiretool.net.telemetry.observer import RunObserver
from wiretool.net.telemetry.spans import SpanSender

CAPTURE = Path(__file__).parents[3] / "captures" / "pravega" / "java_conditional.pcap"


def sent(url: str) -> tuple[SpanSender, int, str]:
    """Send the exchanges of a capture; return the sender, their number, and the report at the end."""
    sender, observer, count = SpanSender(f"{url}/v1/traces", seen_by="server"), RunObserver(), list[int]()
    observer.listen(sender.take)
    observer.listen(lambda exchanged, _: count.append(len(exchanged)))
    for record in read(CAPTURE):
        observer.note(record)
    observer.end()
    return sender, sum(count), sender.close()


def received() -> Receiver:
    with receiving() as receiver:
        sender, count, report = sent(receiver.url)
        assert (report, sender.report()) == ("", "")
    assert len(receiver.spans) == count > 50
    return receiver


def test_a_span_has_the_time_the_peer_and_the_outcome() -> None:
    requests = {record.n: record for record in read(CAPTURE) if record.kind == "frame"}
    reply = next(each for each in requests.values() if each.message == "NoSuchSegment" and each.reply_to)
    request = requests[reply.reply_to or 0]
    receiver = received()
    (span,) = [each for each in receiver.spans if each.start_time_unix_nano == request.time_ns]
    assert (span.name, span.end_time_unix_nano, span.kind) == (request.message, reply.time_ns, span.SPAN_KIND_SERVER)
    assert (span.status.code, span.status.message) == (span.status.STATUS_CODE_ERROR, "NoSuchSegment")
    client, _, port = request.client.rpartition(":")
    assert (
        attributes(span).items()
        >= {
            "network.peer.address": client,
            "network.peer.port": int(port),
            "network.protocol.name": "pravega",
            "wiretool.connection": request.connection,
            "wiretool.request.size": request.length,
            "wiretool.reply": "NoSuchSegment",
            "wiretool.reply.size": reply.length,
        }.items()
    )
    assert len({each.trace_id for each in receiver.spans}) == len(receiver.spans)


def test_the_environment_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    resource = received().resources[0]
    assert resource["service.name"] == "mine"
    assert resource["deployment.environment.name"] == "test"
    assert resource["telemetry.sdk.language"] == "python"


def test_a_receiver_that_refuses_is_reported_once() -> None:
    with receiving(404) as receiver:
        sender, count, report = sent(receiver.url)
    assert report == f"--otlp {receiver.url}/v1/traces: {count} of {count} spans were not delivered"
    assert "code: 404, reason: Not Found; expected an OTLP receiver over HTTP" in sender.report()
    assert sender.report() == ""


def test_without_a_receiver_it_ends_in_time_and_counts_the_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK tries again all the time: the first refusal must be before the end of it, on a busy machine too."""
    monkeypatch.setattr(spans, "FLUSH_S", 2.0)
    with receiving() as receiver:
        pass
    sender, count, report = sent(receiver.url)
    assert f"{count} of {count} spans were not delivered" in report
    assert "spans are not accepted: Connection refused" in sender.report()


def test_a_receiver_that_never_answers_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "FLUSH_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        began = time.monotonic()
        sender, count, report = sent(f"http://127.0.0.1:{listening.getsockname()[1]}")
        assert time.monotonic() - began < 5
    assert f"{count} of {count} spans were not delivered" in report
    assert "spans are not accepted: no answer in 0.2 s; " in sender.report()


def test_a_full_queue_drops_spans_and_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "60000")
    with receiving() as receiver:
        _, count, report = sent(receiver.url)
    lost = count - len(receiver.spans)
    assert lost > 0
    assert report == f"--otlp {receiver.url}/v1/traces: {lost} of {count} spans were not delivered"


def test_spans_that_are_not_sampled_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with receiving() as receiver:
        _, _, report = sent(receiver.url)
    assert (report, receiver.spans) == ("", [])
