"""Rules for recorded traffic of Pravega: each message counts for the side that sent it."""

from typing import Any

from wiretool.codec.message import Side
from wiretool.conformance.levels import Verdict
from wiretool.conformance.recorded.judgement import judge_recording
from wiretool.conformance.recorded.observed import Observed, ObservedConnection
from wiretool.conformance.registry import conformance_of

ACK = {"writer_id": "w", "event_number": 1, "previous_event_number": 0, "current_segment_write_offset": 8}


def verdict(id: str, *messages: tuple[Side, str, dict[str, Any]]) -> Verdict:
    part = conformance_of("pravega")
    connection = ObservedConnection(1, "a", "b", "pravega", True, True, 0)
    for n, (side, name, fields) in enumerate(messages):
        connection.items.append(Observed(n, n, side, name, fields, (), None, b""))
    rules = [rule for rule in part.rules if rule.id == f"pravega/traffic/{id}"]
    return judge_recording(part, [connection], rules)[0].verdict


def test_an_acknowledgement_that_a_client_sends_says_nothing_of_the_server() -> None:
    assert verdict("server/4", ("server", "DataAppended", ACK)) is Verdict.FAIL
    assert verdict("server/4", ("client", "DataAppended", ACK)) is Verdict.NOT_EXERCISED


def test_a_server_greets_first_only_where_its_client_does() -> None:
    hello, info = {"high_version": 16, "low_version": 5}, {"request_id": 1}
    late: list[tuple[Side, str, dict[str, Any]]]
    late = [("client", "GetStreamSegmentInfo", info), ("server", "NoSuchSegment", info), ("client", "Hello", hello)]
    assert verdict("server/2", *late) is Verdict.NOT_EXERCISED
    assert verdict("server/2", ("client", "Hello", hello), ("server", "NoSuchSegment", info)) is Verdict.FAIL
    assert verdict("server/2", ("client", "Hello", hello), ("server", "Hello", hello)) is Verdict.PASS
