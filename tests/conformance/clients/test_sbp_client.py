"""The client cases of sbp against a small client: all pass for it, and each fails for one of its faults."""

import sys
from pathlib import Path

import pytest

from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.conformance.clients.case import ClientCase
from wiretool.conformance.clients.run import ClientOptions, run_client_cases
from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import RunResult
from wiretool.protocols.sbp.conformance import CONFORMANCE
from wiretool.replay.recording import recording_of

CLIENT = Path(__file__).with_name("sbp_client.py")
#: The cases that a fault of the client fails.
FAULTS = {
    "wrong-checksum": ("frame/1",),
    "stray-checksum": ("frame/2",),
    "odd-flags": ("frame/3",),
    "no-header": ("header/1",),
    "bad-batch": ("payload/1",),
    "stray-payload": ("payload/2",),
    "same-ids": ("id/1",),
    "falling-ids": ("id/2",),
    "negative-ids": ("id/3",),
    "no-records": ("append/1",),
    "gap": ("append/2",),
    "fails": ("end/1", "late/3", "reset/3"),
    "impatient": ("late/1", "late/2"),
    "gives-up": ("reset/1", "goaway/2"),
    "starts-again": ("reset/2",),
    "ignores-goaway": ("goaway/1",),
    "ignores-ping": ("ping/1",),
}


def _read(path: Path) -> Recording:
    return recording_of(read_packets([path]))


def _run(cases: list[ClientCase], fault: str = "") -> RunResult:
    command = (sys.executable, str(CLIENT), "{address}", *([fault] if fault else ()))
    return run_client_cases(CONFORMANCE, cases, ClientOptions(command, read=_read, timeout_s=30))


def test_good_client_passes_every_case() -> None:
    result = _run(list(CONFORMANCE.client_cases))
    assert {each.case.id: each.why for each in result.results if each.verdict is not Verdict.PASS} == {}
    assert len(result.results) >= 15


def test_every_case_has_a_fault() -> None:
    failed = {f"sbp/client/{name}" for names in FAULTS.values() for name in names}
    assert failed == {case.id for case in CONFORMANCE.client_cases}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_fails_its_cases(fault: str) -> None:
    ids = [f"sbp/client/{name}" for name in FAULTS[fault]]
    result = _run([case for case in CONFORMANCE.client_cases if case.id in ids], fault)
    assert {each.case.id: each.verdict for each in result.results} == dict.fromkeys(ids, Verdict.FAIL)
