"""What of a frame is the caller's own, and what only carries it."""

from pathlib import Path
from uuid import UUID

import pytest

from tests.replay.talks import PLAIN, appending, reading, recorded, setting_up, talk
from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Side
from wiretool.faults.adapter import fault_adapter_of
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega_controller.calls import CALLS
from wiretool.records import Record
from wiretool.replay.adapter import ReplayAdapter
from wiretool.replay.diff.comparing import compare
from wiretool.replay.diff.likeness import Eye
from wiretool.replay.recording import recording_of

CAPTURES = Path(__file__).parent.parent.parent / "captures"
EYE = Eye(PLAIN["pravega"])


def said(*parts: list[tuple[Side, bytes]]) -> list[Record]:
    return recorded(talk(*parts)).dialogues[0].records[2:]


@pytest.mark.parametrize(
    ("protocol", "message", "places"),
    [
        ("pravega", "SetupAppend", {("request_id",), ("writer_id",)}),
        ("pravega", "AppendBlockEnd", {("request_id",), ("writer_id",)}),
        ("pravega", "Hello", set()),
        ("pravega", "Unknown", set()),
        ("sbp", "APPEND", {("stream_id",)}),
        ("sbp-0.1", "APPEND", {("stream_id",)}),
        ("offramp", "COMMIT", {("correlationId",)}),
        ("pravega-controller", "Data", {("stream_id",)}),
    ],
)
def test_every_protocol_says_where_ids_of_clients_are(protocol: str, message: str, places: set[tuple[str]]) -> None:
    assert set(fault_adapter_of(PROTOCOLS[protocol]).client_ids(("client", message))) == places


def test_ids_and_places_are_nothing_of_the_callers_own() -> None:
    other = str(UUID(int=9))
    ones = said(setting_up(), appending(), reading(offset=8))
    others = said(setting_up(writer=other, request_id=11), appending(writer=other, request_id=12), reading(offset=9))
    assert [EYE.own(record) for record in ones[::2]] == [EYE.own(record) for record in others[::2]]
    assert EYE.own(ones[2]) != EYE.own(said(setting_up(), appending(event=b"other"))[2])


def test_of_http_2_only_the_calls_are_compared() -> None:
    recording = recording_of(read_packets([CAPTURES / "pravega/mgmt.pcap"]))
    outcomes = compare(recording, recording, {name: ReplayAdapter(protocol) for name, protocol in PROTOCOLS.items()})
    asked = {outcome.request.message for outcome in outcomes if outcome.request is not None}
    assert "createScope" in asked
    assert asked <= {method for method, _ in CALLS}
    assert all(outcome.recorded for outcome in outcomes if outcome.request is not None)
