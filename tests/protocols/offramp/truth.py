"""Holds what wiretool reads in a capture of Offramp against its truth file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wiretool.codec.message import fields_of
from wiretool.protocols.offramp.messages import MESSAGES
from wiretool.records import Record
from wiretool.sinks.ndjson import json_record

SIDE = {"c2s": "client", "s2c": "server"}
Truth = Mapping[str, Any]


def check_capture(records: Sequence[Record], truth: Truth, path: Path, is_whole: bool) -> None:
    """Check the records of a capture; AssertionError where they are not those of the truth, which is at `path`."""
    check_offramp(records, with_events(truth, path), is_whole)


def with_events(truth: Truth, path: Path) -> Truth:
    """A derived capture's truth, with the connections and events of the one it was derived from."""
    if "events_from" not in truth:
        return truth
    base = json.loads((path.parent / truth["events_from"]).read_text())
    return {**base, **truth, "events": base["events"]}


def check_offramp(records: Sequence[Record], truth: Truth, is_whole: bool) -> None:
    """The events of each connection and direction in order, less those that the truth says are not in the file."""
    port = f":{truth['server_port']}"
    mine = [record for record in records if record.server.endswith(port)]
    strangers = [record for record in records if not record.server.endswith(port)]
    assert not [record for record in strangers if record.kind == "frame"]
    for connection in truth["connections"]:
        got = [record for record in mine if record.client == connection["client"]]
        check_offramp_connection(got, connection, truth, is_whole)


def check_offramp_connection(records: Sequence[Record], connection: Truth, truth: Truth, is_whole: bool) -> None:
    """One connection: its handshake where it is in the file, and its events."""
    for direction, side in SIDE.items():
        expected = [
            event
            for event in truth["events"]
            if event["conn"] == connection["conn"] and event["dir"] == direction and event["raw_len"]
        ]
        expected = [event for event in expected if not _is_missing(event, truth)]
        got = [record for record in records if record.side == side and record.kind == "frame"]
        events = [record for record in got if _is_event(record)]
        check_events_in_order(events, expected if is_whole else expected[: len(events)])
    handshake = connection.get("handshake")
    is_lossy = any(key in truth for key in ("first_stream_byte", "events_complete_in_the_file"))
    if handshake and not is_lossy:
        check_handshake(records, handshake)


def _is_missing(event: Truth, truth: Truth) -> bool:
    """Whether the truth of a lossy file says that the event is not wholly in it."""
    direction, index = event["dir"], event["i"]
    if "events_complete_in_the_file" in truth:
        return index not in truth["events_complete_in_the_file"][direction]
    if index < truth.get("events_not_in_file", {}).get(direction, 0):
        return True
    gaps = list(truth.get("gaps", []))
    if "events_touched" in truth:
        touched = truth["events_touched"].get(direction, [])
        gaps.append({"dir": direction, "events": touched})
    return any(gap["dir"] == direction and index in [hit["i"] for hit in gap["events"]] for gap in gaps)


def _is_event(record: Record) -> bool:
    strange = ("HandshakeRequest", "HandshakeResponse", "Ping", "Pong", "Close", "Fragment", "Empty")
    return record.message not in strange


#: The declared members of each event; others may be left out of what we show.
DECLARED = {
    cls.declaration.name: frozenset(field.name for field in fields_of(cls))
    for cls in MESSAGES
    if cls.declaration.name.isupper()
}


def check_events_in_order(records: Sequence[Record], expected: Sequence[Truth]) -> None:
    """Our events are the expected ones, those that are cut off at the end of a file aside."""
    for record, event in zip(records, expected, strict=False):
        wanted, fields = event["event"], dict(json_record(record)["fields"])
        if not isinstance(wanted, dict):
            assert record.message not in DECLARED, (record.n, event)  # no JSON object, so no event
            continue
        known = wanted.get("type") in DECLARED
        assert record.message == (wanted["type"] if known else "Unknown"), (record.n, event)
        for name, value in wanted.items():
            if name == "assignment" and isinstance(value, list):
                value = sorted(set(value))
            if name in fields or name in DECLARED.get(record.message, ()):
                assert fields[name] == value, (record.n, name, event)
    assert len(records) == len(expected), (len(records), len(expected))


def check_handshake(records: Sequence[Record], handshake: Truth) -> None:
    """The request and the answer that the endpoints logged are among the records."""
    requests = [json_record(record)["fields"] for record in records if record.message == "HandshakeRequest"]
    assert handshake["target"] in [fields["target"] for fields in requests]
    if handshake.get("status"):
        answers = [json_record(record)["fields"] for record in records if record.message == "HandshakeResponse"]
        assert handshake["status"] in [fields["status"] for fields in answers]
