"""Find the cases that fail on each mutant: `python -m tests.helpers.kills [PROTOCOL...]` renews conformance/kills.json.

The whole table has hundreds of thousands of runs. The file keeps a small part of it that shows the same: at least one
binding case that fails on each mutant, and for each binding case at least one mutant, where there is any. The tests run
exactly these pairs.
"""

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from wiretool.conformance.active.mock_run import run_on_mock
from wiretool.conformance.case import Case, Conformance
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import applied, mutant_named, mutants_of
from wiretool.conformance.mutation.table import BINDING
from wiretool.conformance.registry import conformance_of

KILLS = Path(__file__).parents[1] / "conformance" / "kills.json"
PROTOCOLS = ("pravega", "pravega-controller", "pravega-draft", "sbp", "sbp-0.1", "offramp")


def known_kills() -> Mapping[str, Mapping[str, list[str]]]:
    """Return the pairs of the file: by protocol, the ids of failing cases by mutant."""
    found: Mapping[str, Mapping[str, list[str]]] = json.loads(KILLS.read_text())
    return found


def failing(protocol: str, mutant: str) -> list[str]:
    """Return the ids of the binding cases that fail on a mutant, among all cases and alone."""
    part = conformance_of(protocol)
    cases = [case for case in part.cases if case.level in BINDING]
    with applied(mutant_named(part, mutant)):
        run = run_on_mock(part, cases)
        failed = [case for case, result in zip(cases, run.results, strict=True) if result.verdict is Verdict.FAIL]
        return [case.id for case in failed if fails_alone(part, case)]


def fails_alone(part: Conformance, case: Case) -> bool:
    """Return whether a case fails on a server that no other case has used."""
    (result,) = run_on_mock(part, [case]).results
    return result.verdict is Verdict.FAIL


def smallest(table: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return a part of a table that has a case for each mutant and a mutant for each case that has any."""
    seen: set[str] = set()
    kept: dict[str, list[str]] = {}
    for mutant, cases in sorted(table.items(), key=lambda item: len(item[1])):
        new = [case for case in cases if case not in seen]
        kept[mutant] = new[:8] or cases[:1]
        seen |= set(kept[mutant])
    for mutant, cases in table.items():
        new = [case for case in cases if case not in seen]
        kept[mutant] = [*kept[mutant], *new]
        seen |= set(new)
    return {mutant: sorted(kept[mutant]) for mutant in sorted(kept)}


def main() -> None:
    """Compute the file for the protocols that are named, or for all."""
    known = dict(known_kills()) if KILLS.exists() else {}
    with ProcessPoolExecutor(2) as pool:
        for protocol in sys.argv[1:] or PROTOCOLS:
            names = list(mutants_of(conformance_of(protocol)))
            table = dict(zip(names, pool.map(failing, [protocol] * len(names), names, chunksize=4), strict=True))
            known[protocol] = smallest(table)
            busy = {case for cases in table.values() for case in cases}
            idle = [case.id for case in conformance_of(protocol).cases if case.level in BINDING and case.id not in busy]
            survivors = [name for name, cases in table.items() if not cases]
            print(f"{protocol}: {len(table)} mutants, survivors {survivors}, cases without a mutant {idle}")
            KILLS.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
