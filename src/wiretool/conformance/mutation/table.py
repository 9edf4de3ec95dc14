"""The table of mutants and the cases that fail on each: what the cases would notice."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from wiretool.conformance.active.mock_run import run_on_mock
from wiretool.conformance.case import Case, Conformance
from wiretool.conformance.levels import Level, Verdict
from wiretool.conformance.mutation.mutants import Mutant, applied, mutants_of
from wiretool.conformance.results import AnyCase, CaseResult

#: Levels at which a case counts as one that kills a mutant.
BINDING = frozenset((Level.MUST, Level.SHOULD))
#: Verdicts that are no failure.
_FINE = frozenset((Verdict.PASS, Verdict.LENIENT, Verdict.UNSUPPORTED, Verdict.NOT_EXERCISED))
#: Ids of cases in one row of the table; more are counted.
SHOWN_MAX = 6


@dataclass(frozen=True, slots=True)
class MutantTable:
    """The failing cases of each mutant, and those of the clean server."""

    #: Cases that fail without any defect.
    clean: Sequence[CaseResult]
    killed_by: dict[str, list[AnyCase]] = field(default_factory=dict)
    mutants: Sequence[Mutant] = ()
    cases: Sequence[Case] = ()

    @property
    def survivors(self) -> list[str]:
        """The mutants that no case at level must or should fails on."""
        return [name for name, cases in self.killed_by.items() if not any(case.level in BINDING for case in cases)]

    @property
    def idle_cases(self) -> list[Case]:
        """The binding cases that kill no mutant and do not say why."""
        busy = {case.id for cases in self.killed_by.values() for case in cases}
        return [case for case in self.cases if case.level in BINDING and case.id not in busy and not case.unkilled]

    @property
    def is_complete(self) -> bool:
        """Return whether the clean server passes, every mutant is killed, there is one, and no case is idle."""
        return not self.clean and bool(self.killed_by) and not self.survivors and not self.idle_cases


def mutant_table(
    part: Conformance,
    cases: Sequence[Case],
    *,
    seed: int = 0,
    on_mutant: Callable[[int, int], None] = lambda done, total: None,
) -> MutantTable:
    """Run the cases against the clean mock and against each mutant."""
    mutants = list(mutants_of(part).values())
    table = MutantTable(_failed(part, cases, None, seed), {}, mutants, cases)
    for done, mutant in enumerate(mutants):
        on_mutant(done, len(mutants))
        clean = {result.case.id for result in table.clean}
        failed = [result for result in _failed(part, cases, mutant, seed) if result.verdict is Verdict.FAIL]
        table.killed_by[mutant.name] = [result.case for result in failed if result.case.id not in clean]
    return table


def _failed(part: Conformance, cases: Sequence[Case], mutant: Mutant | None, seed: int) -> list[CaseResult]:
    with applied(mutant):
        run = run_on_mock(part, cases, seed=seed)
    return [result for result in run.results if result.verdict not in _FINE]


def table_lines(table: MutantTable) -> Iterator[str]:
    """Yield the table: one row for each mutant, then what is missing, then the kill rate."""
    for mutant in table.mutants:
        cases = table.killed_by[mutant.name]
        ids = ", ".join(case.id for case in cases[:SHOWN_MAX])
        more = f" and {len(cases) - SHOWN_MAX} more" if len(cases) > SHOWN_MAX else ""
        yield f"{mutant.name}: {mutant.defect}"
        yield f"    {'SURVIVES' if mutant.name in table.survivors else 'killed by'} {ids}{more}".rstrip()
    for result in table.clean:
        yield f"the clean mock fails {result.case.id}: {result.why}"
    for case in table.idle_cases:
        yield f"{case.id} ({case.level}) kills no mutant"
    killed = len(table.killed_by) - len(table.survivors)
    yield f"{killed} of {len(table.killed_by)} mutants killed by {len(table.cases)} cases"


def table_rows(table: MutantTable) -> dict[str, Any]:
    """Return the table as a JSON object."""
    return {
        "mutants": [
            {
                "name": mutant.name,
                "defect": mutant.defect,
                "is_killed": mutant.name not in table.survivors,
                "cases": [case.id for case in table.killed_by[mutant.name]],
            }
            for mutant in table.mutants
        ],
        "clean_failures": [result.case.id for result in table.clean],
        "idle_cases": [case.id for case in table.idle_cases],
    }
