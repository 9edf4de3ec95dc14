"""Recordings of the conformance cases, with all that clients may do wrong, can be compared and replayed."""

from collections.abc import Sequence
from io import BytesIO

import pytest

from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.conformance.active.mock_run import run_on_mock
from wiretool.conformance.case import Case
from wiretool.conformance.registry import conformance_of
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.diff.comparing import compare
from wiretool.replay.mocks import mocks_for
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of
from wiretool.server.options import MockOptions
from wiretool.sinks.output import Output
from wiretool.sinks.pcapng import Recording as Pcapng


def recorded(protocol: str, cases: Sequence[Case]) -> Recording:
    """Return what the mock and the cases sent."""
    file = BytesIO()
    output = Output(file)
    pcapng = Pcapng(output)
    pcapng.begin()
    run_on_mock(conformance_of(protocol), cases, recording=pcapng)
    output.flush()
    file.seek(0)
    return recording_of(read_packets([file]))


@pytest.mark.parametrize("protocol", ["pravega-draft", "sbp-0.1", "offramp"])
def test_all_cases_are_like_themselves(protocol: str) -> None:
    recording = recorded(protocol, conformance_of(protocol).cases)
    outcomes = compare(recording, recording, manners())
    assert outcomes
    assert {outcome.verdict for outcome in outcomes} <= {Verdict.SAME, Verdict.UNKNOWN}


@pytest.mark.parametrize("case", conformance_of("pravega-draft").cases, ids=lambda case: str(case.id))
def test_a_mock_is_found_for_a_case(case: Case) -> None:
    """Also where the client sends what only servers may send."""
    recording = recorded("pravega-draft", [case])
    known = {"pravega-draft": manners()["pravega-draft"]}
    script_of(recording, known)
    assert list(mocks_for(recording, known, MockOptions())) == ["pravega-draft"]
