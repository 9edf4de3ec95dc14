"""Conformance of every protocol: the clean mock passes in any order, and the cases find every mutant."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from wiretool.conformance.case import Case, Conformance
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mock_run import run_on_mock
from wiretool.conformance.mutant_table import BINDING, MutantTable, mutant_table
from wiretool.conformance.mutants import mutants_of
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
MUTANTS_MIN = 120
_TABLES: dict[str, MutantTable] = {}


@pytest.fixture(params=FEWEST)
def part(request: pytest.FixtureRequest) -> Conformance:
    return conformance_of(request.param)


def table_of(part: Conformance) -> MutantTable:
    if part.protocol not in _TABLES:
        _TABLES[part.protocol] = mutant_table(part, part.cases)
    return _TABLES[part.protocol]


def check_passes(part: Conformance, cases: Sequence[Case], jobs: int = 1) -> None:
    run = run_on_mock(part, cases, jobs=jobs)
    assert {result.case.id: result.why for result in run.results if result.verdict is not Verdict.PASS} == {}
    assert len(run.results) == len(cases)


def test_the_clean_mock_passes_every_case(part: Conformance) -> None:
    check_passes(part, part.cases)


def test_cases_depend_on_no_other_case(part: Conformance) -> None:
    check_passes(part, part.cases[::-1])
    check_passes(part, part.cases, jobs=8)


def test_every_mutant_is_killed(part: Conformance) -> None:
    assert table_of(part).survivors == []
    assert set(table_of(part).killed_by) == set(mutants_of(part))


def test_every_binding_case_finds_a_mutant_or_says_why_not(part: Conformance) -> None:
    table = table_of(part)
    assert [case.id for case in table.idle_cases] == []
    busy = {case.id for cases in table.killed_by.values() for case in cases}
    idle = [case for case in part.cases if case.unkilled]
    assert [case.id for case in idle if case.id in busy] == []  # a reason that is not true
    assert all(case.level in BINDING for case in idle)


def test_there_are_enough(part: Conformance) -> None:
    cases, mutants = FEWEST[part.protocol]
    assert len(part.cases) >= cases
    assert len(mutants_of(part)) >= mutants


def test_there_are_enough_in_all() -> None:
    parts = [conformance_of(name) for name in FEWEST]
    assert sum(len(part.cases) for part in parts) >= 350
    assert sum(len(mutants_of(part)) for part in parts) >= MUTANTS_MIN


def test_a_mutant_leaves_nothing_behind(part: Conformance) -> None:
    table_of(part)
    check_passes(part, part.cases)


def test_a_case_that_expects_nothing_is_refused() -> None:
    part = conformance_of("pravega")
    with pytest.raises(AssertionError, match="used twice"):
        replace(part, cases=(part.cases[0], part.cases[0]))
