"""The case of a percent-encoded road in recorded traffic."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance.recorded_cases import judged_both_ways
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import mutants_of
from wiretool.conformance.registry import conformance_of
from wiretool.conformance.values import Bindings
from wiretool.protocols.offramp.conformance.steps import Target

ID = "offramp/handshake/16"


@pytest.mark.parametrize("mutant", ["", "one-more", "connection-twice"])
def test_a_recording_shows_it_as_the_run_does(mutant: str, tmp_path: Path) -> None:
    whole = conformance_of("offramp")
    part = replace(whole, cases=tuple(case for case in whole.cases if case.id == ID))
    (pair,) = judged_both_ways(part, mutants_of(whole)[mutant] if mutant else None, tmp_path)
    assert pair.active.verdict is (Verdict.FAIL if mutant else Verdict.PASS)
    assert pair.agrees, pair.passive.why


@pytest.mark.parametrize(("road", "is_shown"), [("on%65", True), ("one", False), ("%6fne", False)])
def test_a_recorded_path_has_the_encoding_of_the_case(road: str, is_shown: bool) -> None:
    target = Target("on%65", "stream", "")
    assert target.matches(f"/offramp/v2/roads/{road}/streams/s/messages", Bindings(None)) is is_shown
