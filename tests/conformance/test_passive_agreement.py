"""Recordings of the cases: the passive verdicts are the active ones, on clean servers and on mutants."""

import random
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conformance.recorded_cases import REAL, judged_both_ways
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import Mutant, mutants_of
from wiretool.conformance.registry import conformance_of

SEED = 7
AGREEMENT_MIN = 0.9
#: The share of the cases with an active verdict that the recording must show.
SEEN_MIN = 0.9
#: The share of the failed cases that fail in the recording, too; a silent server leaves some open.
FAILURES_MIN = 0.8


class Sample(NamedTuple):
    """The numbers of mutants: of the half by which the matcher was made, and of the other, by which it is measured."""

    made: int
    measured: int


SAMPLES = {
    "pravega": Sample(1, 1),
    "pravega-controller": Sample(1, 2),
    "pravega-draft": Sample(6, 12),
    "sbp": Sample(1, 2),
    "sbp-0.1": Sample(3, 6),
    "offramp": Sample(1, 1),
}


def halves(protocol: str) -> tuple[list[Mutant], list[Mutant]]:
    """Return the mutants of a protocol in two halves, in a fixed random order."""
    mutants = list(mutants_of(conformance_of(protocol)).values())
    random.Random(SEED).shuffle(mutants)
    middle = len(mutants) // 2
    return mutants[:middle], mutants[middle:]


@pytest.mark.parametrize("protocol", SAMPLES)
def test_a_recording_of_a_clean_server_has_no_failure(protocol: str, tmp_path: Path) -> None:
    pairs = list(judged_both_ways(conformance_of(protocol), None, tmp_path))
    assert [(pair.passive.case.id, pair.passive.why) for pair in pairs if not pair.agrees and pair.are_real] == []
    judged = [pair for pair in pairs if pair.are_real]
    assert len(judged) >= SEEN_MIN * sum(pair.active.verdict in REAL for pair in pairs)


@pytest.mark.parametrize("half", ["made", "measured"])
@pytest.mark.parametrize("protocol", SAMPLES)
def test_passive_verdicts_on_mutants_agree_with_active_ones(protocol: str, half: str, tmp_path: Path) -> None:
    part, at = conformance_of(protocol), Sample._fields.index(half)
    mutants = halves(protocol)[at][: SAMPLES[protocol][at]]
    pairs = [pair for mutant in mutants for pair in judged_both_ways(part, mutant, tmp_path)]
    judged = [pair for pair in pairs if pair.are_real]
    assert len(judged) >= SEEN_MIN * sum(pair.active.verdict in REAL for pair in pairs)
    assert sum(pair.agrees for pair in judged) >= AGREEMENT_MIN * len(judged)
    failed = [pair for pair in pairs if pair.active.verdict is Verdict.FAIL]
    assert failed, "no case fails on these mutants, so agreement would say nothing"
    assert sum(pair.agrees for pair in failed) >= FAILURES_MIN * len(failed)
