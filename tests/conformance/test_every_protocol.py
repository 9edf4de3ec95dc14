"""Conformance of every protocol: the clean mock passes in any order, and the cases find every mutant."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.kills import PROTOCOLS, fails_alone, known_kills
from wiretool.conformance.active.mock_run import run_on_mock
from wiretool.conformance.case import Case, Conformance, Connect, Send, SendBytes
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import applied, mutants_of
from wiretool.conformance.mutation.table import BINDING
from wiretool.conformance.registry import conformance_of

#: The fewest server cases and mutants of each protocol.
FEWEST = {
    "pravega": (130, 30),
    "pravega-controller": (40, 15),
    "pravega-draft": (20, 15),
    "sbp": (60, 15),
    "sbp-0.1": (40, 15),
    "offramp": (60, 15),
}
CASES_MIN, MUTANTS_MIN = 350, 120
RENEW = "python -m tests.helpers.kills"


@pytest.fixture(params=PROTOCOLS)
def part(request: pytest.FixtureRequest) -> Conformance:
    return conformance_of(request.param)


def check_passes(part: Conformance, cases: Sequence[Case], jobs: int = 1) -> None:
    run = run_on_mock(part, cases, jobs=jobs)
    assert {result.case.id: result.why for result in run.results if result.verdict is not Verdict.PASS} == {}
    assert len(run.results) == len(cases)


def test_the_clean_mock_passes_every_case(part: Conformance) -> None:
    check_passes(part, part.cases)


def test_cases_depend_on_no_other_case(part: Conformance) -> None:
    check_passes(part, part.cases[::-1])
    check_passes(part, part.cases, jobs=8)


def test_no_case_depends_on_which_of_two_connections_a_server_reads_first(part: Conformance) -> None:
    races = []
    for case in part.cases:
        for first, second in pairwise(step for step in case.steps if not isinstance(step, Connect)):
            if not isinstance(first, Send | SendBytes) or not isinstance(second, Send | SendBytes):
                continue
            is_read = isinstance(second, Send) and second.message.startswith("Read")
            if first.on != second.on and not is_read:
                races.append(case.id)
    assert races == [], "a reply on the first connection is awaited before the second one sends"


def test_every_mutant_is_found_by_the_cases_that_are_known_to_find_it(part: Conformance) -> None:
    by_id = {case.id: case for case in part.cases}
    for mutant in mutants_of(part).values():
        cases = [by_id[name] for name in known_kills()[part.protocol][mutant.name]]
        assert cases, f"no case finds {mutant.name}"
        assert all(case.level in BINDING for case in cases)
        with applied(mutant):
            fine = [case.id for case in cases if not fails_alone(part, case)]
        assert fine == [], f"{mutant.name} is not found by {fine}; if they changed: {RENEW} {part.protocol}"
    check_passes(part, part.cases)  # nothing of the mutants is left


def test_every_binding_case_finds_a_mutant_or_says_why_not(part: Conformance) -> None:
    busy = {name for names in known_kills()[part.protocol].values() for name in names}
    binding = [case for case in part.cases if case.level in BINDING]
    assert [case.id for case in binding if case.id not in busy and not case.unkilled] == []
    assert [case.id for case in part.cases if case.unkilled and case.id in busy] == []  # a reason that is not true


def test_the_known_pairs_are_those_of_the_cases_and_mutants(part: Conformance) -> None:
    assert set(known_kills()[part.protocol]) == set(mutants_of(part)), f"run {RENEW} {part.protocol}"


def test_there_are_enough(part: Conformance) -> None:
    cases, mutants = FEWEST[part.protocol]
    assert len(part.cases) >= cases
    assert len(mutants_of(part)) >= mutants


@needs_protocol("offramp")
@needs_protocol("sbp-0.1")
def test_there_are_enough_in_all() -> None:
    parts = [conformance_of(name) for name in PROTOCOLS]
    assert sum(len(part.cases) for part in parts) >= CASES_MIN
    assert sum(len(mutants_of(part)) for part in parts) >= MUTANTS_MIN


def test_a_case_id_is_used_once() -> None:
    part = conformance_of("pravega")
    with pytest.raises(AssertionError, match="used twice"):
        replace(part, cases=(part.cases[0], part.cases[0]))
