"""Whatever one field of a reply says otherwise is found, and as one finding: excuses are no wider than they say."""

from collections.abc import Mapping

import pytest

from tests.conftest import HERE
from tests.replay.mutants import Spot, mutated
from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Issued, Position, Role
from wiretool.faults.adapter import fault_adapter_of
from wiretool.faults.places import roles_in
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp.faults import SbpFaultAdapter
from wiretool.replay.adapter import is_noise
from wiretool.replay.recording import recording_of

OWN = HERE.parent / "captures"
CAPTURES = (
    "pravega/txn.pcap",
    "pravega-draft/blocks.pcap",
    "sbp/rs_append.pcap",
    "sbp-0.1/s1_streams.pcap",
    "offramp/plain.pcap",
)
#: Fields where it is another number of findings, and why.
ELSE: Mapping[Spot, str] = {
    Spot("offramp", "HandshakeResponse", ("headers",)): "the last one means nothing to a WebSocket",
    Spot("offramp", "HandshakeResponse", ("status",)): "and nothing may follow without an upgrade",
}


def role_of(spot: Spot) -> Role | None:
    """What the field is declared to be to a conversation that is spoken again."""
    dialect = fault_adapter_of(PROTOCOLS[spot.protocol])
    if isinstance(dialect, SbpFaultAdapter):
        steps, tables = spot.pattern[2:], dialect.tables(("server", spot.message))
        return next((role for table in tables for at, role in roles_in(table) if at == steps), None)
    return dict(roles_in(dialect.declared["server", spot.message])).get(spot.pattern)


@pytest.mark.parametrize("name", CAPTURES)
def test_another_value_in_any_field_is_the_one_finding(name: str) -> None:
    recording = recording_of(read_packets([OWN / name]))
    plain = mutated(recording)
    assert not plain.findings
    wrong = {}
    for spot, count in plain.said.items():
        if spot.protocol != name.partition("/")[0]:
            continue
        role = role_of(spot)
        if spot in ELSE or (role is not None and is_noise(role)):
            continue
        told = mutated(recording, spot, count // 2)
        if told.is_done and not is_enough(role, len(told.findings)):
            wrong[spot] = (told.was, told.now, len(told.findings))
    assert wrong == {}


def is_enough(role: Role | None, findings: int) -> bool:
    """Another value that the server makes up is any other, and what follows from a place or such a value goes on."""
    if isinstance(role, Issued):
        return True
    return findings > 0 if isinstance(role, Position) else findings == 1
