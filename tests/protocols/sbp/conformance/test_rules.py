"""The rules that recorded traffic is judged by: real servers keep them, and what breaks one is found."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED
from wiretool.capture.files import read_packets
from wiretool.conformance.levels import Verdict
from wiretool.conformance.observed import Observed, ObservedConnection, observe
from wiretool.conformance.passive import judge_recording
from wiretool.conformance.registry import conformance_of
from wiretool.conformance.rules import Rule
from wiretool.protocols.sbp.conformance.rules import RULES
from wiretool.replay.recording import recording_of


def exchange(
    name: str, asked: Mapping[str, Any], answered: Mapping[str, Any], *, problems: tuple[str, ...] = ()
) -> ObservedConnection:
    """Return a connection with one request and its response."""
    usual = {"opcode": 1, "header": None, "payload": None}
    request = {**usual, "flags": 0, "is_response": False, **asked}
    response = {**usual, "flags": 3, "is_response": True, **answered}
    connection = ObservedConnection(0, "client", "server", "sbp", True, True, 0)
    connection.items = [
        Observed(1, 0, "client", name, request, (), None, b""),
        Observed(2, 0, "server", name, response, problems, 1, b""),
    ]
    return connection


def table(**fields: Any) -> dict[str, Any]:
    return {"table": "T", "fields": fields}


def status(code: int) -> dict[str, Any]:
    return {"status": {"code": code}}


def batch(base: int, index: int = 0) -> dict[str, Any]:
    return {"meta": {"stream_id": 1, "range_index": index, "base_offset": base}}


RANGE = {"stream_id": 1, "index": 0}
FETCH = {"header": table(range=RANGE, limit=10)}
#: For each rule an exchange that keeps it, and exchanges that break it.
EXAMPLES: dict[str, tuple[ObservedConnection, list[ObservedConnection]]] = {
    "flags": (exchange("PING", {}, {}), [exchange("PING", {}, {"flags": 1}), exchange("PING", {}, {"flags": 5})]),
    "operation": (exchange("PING", {}, {}), [exchange("PING", {}, {"opcode": 2})]),
    "frames": (
        exchange("PING", {}, {}, problems=("missing_required_field: ranges is required",)),
        [exchange("PING", {}, {}, problems=("checksum_mismatch: it is wrong",))],
    ),
    "ping": (
        exchange("PING", {"payload": {"hex": "00"}}, {"payload": {"hex": "00"}}),
        [exchange("PING", {"payload": {"hex": "00"}}, {})],
    ),
    "heartbeat": (
        exchange("HEARTBEAT", {"header": table(client_id="", client_role=2)}, {"header": table(client_role=2)}),
        [exchange("HEARTBEAT", {"header": table(client_id="a")}, {"header": table(client_id="b", client_role=0)})],
    ),
    "append": (
        exchange(
            "APPEND",
            {"payload": {"entries": [{}, {}]}},
            {"header": table(entries=[{**status(1200), "timestamp_ms": 9}, {**status(1464), "timestamp_ms": 0}])},
        ),
        [
            exchange("APPEND", {"payload": {"entries": [{}]}}, {"header": table(entries=[])}),
            exchange(
                "APPEND",
                {"payload": {"entries": [{}]}},
                {"header": table(entries=[{**status(1464), "timestamp_ms": 9}])},
            ),
        ],
    ),
    "fetch": (
        exchange("FETCH", FETCH, {"payload": {"entries": [batch(0), batch(9)]}}),
        [
            exchange("FETCH", FETCH, {"payload": {"entries": [batch(9), batch(0)]}}),
            exchange("FETCH", FETCH, {"payload": {"entries": [batch(0), batch(10)]}}),
            exchange("FETCH", FETCH, {"payload": {"entries": [batch(0, index=1)]}}),
        ],
    ),
    "fetch-payload": (
        exchange("FETCH", FETCH, {"header": table(**status(1204))}),
        [
            exchange("FETCH", FETCH, {"header": table(**status(1200))}),
            exchange("FETCH", FETCH, {"header": table(**status(1204)), "payload": {"hex": "00"}}),
        ],
    ),
    "range": (
        exchange("SEAL_RANGE", {"header": table(range=RANGE)}, {"header": table(**status(1200), range=RANGE)}),
        [
            exchange("CREATE_RANGE", {"header": table(range=RANGE)}, {"header": table(**status(1200))}),
            exchange(
                "SEAL_RANGE",
                {"header": table(range=RANGE)},
                {"header": table(**status(1200), range={**RANGE, "index": 1})},
            ),
        ],
    ),
    "stream": (
        exchange("DELETE_STREAM", {"header": table(stream_id=1)}, {"header": table(**status(1404))}),
        [
            exchange(
                "DESCRIBE_STREAM",
                {"header": table(stream_id=1)},
                {"header": table(**status(1200), stream={"stream_id": 2})},
            )
        ],
    ),
    "list": (
        exchange("LIST_RANGE", {"header": table(criteria={"stream_id": 1})}, {"header": table(ranges=[RANGE])}),
        [
            exchange(
                "LIST_RANGE", {"header": table(criteria={"stream_id": 1})}, {"header": table(ranges=[RANGE, RANGE])}
            ),
            exchange("LIST_RANGE", {"header": table(criteria={"stream_id": 2})}, {"header": table(ranges=[RANGE])}),
        ],
    ),
}


def problems_of(rule: Rule, connection: ObservedConnection) -> list[str]:
    return [each.problem for each in rule.judge(connection) if each.problem]


def test_every_rule_has_examples() -> None:
    assert [rule.id for rule in RULES] == [f"sbp/traffic/server/{name}" for name in EXAMPLES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.id))
def test_a_rule_finds_what_breaks_it(rule: Rule) -> None:
    good, bad = EXAMPLES[rule.id.rpartition("/")[2]]
    assert problems_of(rule, good) == []
    assert [len(problems_of(rule, each)) for each in bad] == [1] * len(bad)


RECORDED = [path for path in sorted((SHARED / "captures" / "sbp-server").glob("*.pcap")) if "pm_s2" not in path.name]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: str(path.stem))
def test_real_servers_keep_the_rules_and_cases(path: Path) -> None:
    part = conformance_of("sbp")
    connections = observe(recording_of(read_packets([path])), "sbp")
    results = judge_recording(part, connections, [*part.cases, *part.rules])
    assert {each.case.id: each.why for each in results if each.verdict is Verdict.FAIL} == {}
    assert any(each.verdict is Verdict.PASS for each in results)
