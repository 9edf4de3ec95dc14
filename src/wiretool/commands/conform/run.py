"""The implementation of `wiretool conform`."""

import sys
from typing import TYPE_CHECKING

import typer

from wiretool.commands.conform.options import ConformOptions

if TYPE_CHECKING:
    from wiretool.conformance.case import Case, Conformance


def run_conform(options: ConformOptions) -> None:
    """Run what the options ask for. `typer.Exit` of 1 where a case fails or a mutant survives."""
    from wiretool.conformance.registry import conformance_of
    from wiretool.conformance.selection import select_cases

    part = conformance_of(options.protocol)
    cases = select_cases(part, options.case_globs, options.levels)
    if options.only_lists:
        _list(cases)
    elif options.tests_mutants:
        _test_mutants(part, cases, options)
    else:
        _run_on_mock(part, cases, options)


def _list(cases: "list[Case]") -> None:
    for case in cases:
        print(f"{case.id}  {case.level}  {case.requirement} [{case.source}]")


def _run_on_mock(part: "Conformance", cases: "list[Case]", options: ConformOptions) -> None:
    from wiretool.conformance.mutants import applied, mutant_named
    from wiretool.conformance.report.text import result_lines, summary_line
    from wiretool.conformance.results import Gate
    from wiretool.conformance.server_run import run_on_mock

    with applied(mutant_named(part, options.mutant) if options.mutant else None):
        run = run_on_mock(part, cases, seed=options.seed, jobs=options.jobs)
    gate = Gate()
    for result in run.results:
        for line in result_lines(result, is_verbose=options.is_verbose):
            print(line)
    print(summary_line(run))
    sys.stdout.flush()
    if not all(map(gate.passes, run.results)):
        raise typer.Exit(1)


def _test_mutants(part: "Conformance", cases: "list[Case]", options: ConformOptions) -> None:
    from wiretool.conformance.mutant_table import mutant_table, table_lines

    table = mutant_table(part, cases, seed=options.seed)
    for line in table_lines(table):
        print(line)
    sys.stdout.flush()
    if not table.is_complete:
        raise typer.Exit(1)
