"""Rules for recorded traffic on the captures at hand: each finding is known, and nothing else is found."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from wiretool.capture.files.reading import read_packets
from wiretool.conformance.levels import Verdict
from wiretool.conformance.recorded.judgement import judge_recording
from wiretool.conformance.recorded.observed import observe
from wiretool.conformance.registry import conformance_of
from wiretool.replay.recording import recording_of

CAPTURES = Path(__file__).parents[4] / "captures"
#: Findings by capture; most are invalid messages that a probing client sends on purpose (docs/conformance-captures.md).
KNOWN: Mapping[str, tuple[str, ...]] = {
    "sbp/mixed_noise": ("client/1",),
    "sbp/pd_heartbeat": ("server/2", "client/2", "client/8"),
    "sbp/pd_malformed": ("client/1", "client/5", "client/6"),
    "sbp/pd_ranges": ("server/2", "client/2"),
    "sbp/rs_append": ("client/2", "client/3", "client/4", "client/10", "client/14"),
    "sbp/rs_errors": ("client/2", "client/11", "client/14"),
    "sbp/rs_fetch": ("client/2", "client/8"),
    "sbp/sdk_main": (),
    "sbp-0.1/pm_s2_batch": ("client/3",),
    "sbp-0.1/pm_s2_seal": (),
    "sbp-0.1/s1_streams": (),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_findings_in_a_capture(name: str) -> None:
    protocol, _, _ = name.partition("/")
    part = conformance_of(protocol)
    connections = observe(recording_of(read_packets([CAPTURES / f"{name}.pcap"])), protocol)
    results = judge_recording(part, connections, part.rules)
    failed = {
        result.case.id.removeprefix(f"{protocol}/traffic/") for result in results if result.verdict is Verdict.FAIL
    }
    assert failed == set(KNOWN[name])
    assert sum(result.verdict is Verdict.PASS for result in results) >= 10
