"""What an SBP client sends, judged over whole runs: one function for each requirement."""

from collections.abc import Iterable
from typing import Any

from wiretool.conformance.clients.case import ClientRun
from wiretool.conformance.recorded.observed import Closing, Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Observation
from wiretool.protocols.sbp.conformance.rules import ENTRIES, RangeKey
from wiretool.protocols.sbp.conformance.steps import OK
from wiretool.protocols.sbp.conformance.traffic import is_request, is_response, payload_of, table_of


def appends_follow(connection: ObservedConnection) -> Iterable[Observation]:
    """A batch begins where the last batch of its range that was sent on this connection ends."""
    ends: dict[RangeKey, int] = {}
    for message in connection.sent_by("client"):
        if message.name != "APPEND":
            continue
        for entry in payload_of(message, ENTRIES):
            meta = entry["meta"]
            key, base = (meta["stream_id"], meta["range_index"]), meta["base_offset"]
            if key in ends:
                yield Observation(message.n, "" if base == ends[key] else f"a batch at {base}; expected {ends[key]}")
            ends[key] = base + meta["last_offset_delta"]


def stores_each_batch_once(run: ClientRun) -> Iterable[Observation]:
    """A batch is not sent again on the same connection while its response is on its way, nor after it was accepted."""
    for connection in run.connections:
        sent: set[tuple[Any, ...]] = set()
        for message in connection.sent_by("client"):
            if message.name != "APPEND":
                continue
            for entry in payload_of(message, ENTRIES):
                meta = entry["meta"]
                key = (meta["stream_id"], meta["range_index"], meta["base_offset"])
                yield Observation(message.n, f"the batch at {key[2]} is sent again" if key in sent else "")
                sent.add(key)


def resumes_after_accepted(run: ClientRun) -> Iterable[Observation]:
    """A new connection begins with the first batch that no response has accepted."""
    ends: dict[RangeKey, int] = {}
    for number, connection in enumerate(run.connections):
        first = next((each for each in connection.sent_by("client") if payload_of(each, ENTRIES)), None)
        if number and first is not None:
            meta = payload_of(first, ENTRIES)[0]["meta"]
            least = ends.get((meta["stream_id"], meta["range_index"]), 0)
            base = meta["base_offset"]
            yield Observation(first.n, "" if base == least else f"a batch at {base}; expected {least}")
        for asked, answered in connection.exchanges():
            results = table_of(answered).get("entries") or ()
            for entry, result in zip(payload_of(asked, ENTRIES), results, strict=False):
                if result["status"]["code"] == OK:
                    meta = entry["meta"]
                    ends[meta["stream_id"], meta["range_index"]] = meta["base_offset"] + meta["last_offset_delta"]


def reconnects(run: ClientRun) -> Iterable[Observation]:
    """After a connection that the server has ended, or is about to end, requests go on on another one."""
    for connection in run.connections:
        closing = next((item for item in connection.items if isinstance(item, Closing)), None)
        is_left = any(each.name == "GOAWAY" and is_request(each) for each in connection.sent_by("server"))
        if not is_left and (closing is None or closing.side != "server"):
            continue
        later = [each for each in run.connections if each.number > connection.number and each.sent_by("client")]
        n = connection.messages[-1].n if connection.messages else 0
        yield Observation(n, "" if later else "no request follows on another connection")


def answers_pings(run: ClientRun) -> Iterable[Observation]:
    """Each PING of the server is answered after it, with its identifier, header and payload."""
    for connection in run.connections:
        answers = [each for each in connection.sent_by("client") if each.name == "PING" and is_response(each)]
        for message in connection.sent_by("server"):
            if message.name == "PING" and is_request(message):
                answer = next((each for each in answers if _answers(each, message)), None)
                if answer is not None:
                    answers.remove(answer)
                yield Observation(message.n, "" if answer is not None else "the client does not answer this PING")


def _answers(answer: Observed, ping: Observed) -> bool:
    is_alike = all(answer.fields[name] == ping.fields[name] for name in ("stream_id", "header", "payload"))
    return answer.n > ping.n and is_alike
