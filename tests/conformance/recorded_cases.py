"""Recordings of the cases against mock servers, judged by both: the run itself and the matcher of recorded traffic."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wiretool.capture.files.reading import read_packets
from wiretool.conformance.active.mock_run import mock_of, run_on_mock
from wiretool.conformance.case import Conformance, Connect
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import Mutant, applied
from wiretool.conformance.recorded.judgement import judge_recording
from wiretool.conformance.recorded.observed import ObservedConnection, observe
from wiretool.conformance.results import CaseResult
from wiretool.replay.recording import recording_of
from wiretool.sinks.output import open_output
from wiretool.sinks.pcapng import Recording

#: Verdicts on a server; the others give none.
REAL = frozenset((Verdict.PASS, Verdict.FAIL, Verdict.LENIENT, Verdict.UNSUPPORTED))


class Pair(NamedTuple):
    """The verdicts on one case."""

    active: CaseResult
    passive: CaseResult

    @property
    def are_real(self) -> bool:
        """Return whether the case was judged both ways."""
        return self.active.verdict in REAL and self.passive.verdict in REAL

    @property
    def agrees(self) -> bool:
        """Return whether both verdicts are the same."""
        return self.active.verdict is self.passive.verdict


def judged_both_ways(part: Conformance, mutant: Mutant | None, folder: Path) -> Iterator[Pair]:
    """Yield the verdicts on every case, from one recording for each setup of the server."""
    for setup in dict.fromkeys(case.variant for case in part.cases):
        active, connections = recorded(part, setup, mutant, folder / "cases.pcapng")
        cases = [each.case for each in active]
        yield from map(Pair, active, judge_recording(part, connections, cases, setup))  # type: ignore[arg-type]


def recorded(
    part: Conformance, setup: str, mutant: Mutant | None, path: Path
) -> tuple[list[CaseResult], list[ObservedConnection]]:
    """Run the cases of one setup; return the verdicts and the recording."""
    cases = [case for case in part.cases if case.variant == setup]
    with open_output(path) as out, applied(mutant):
        active = list(run_on_mock(part, cases, recording=Recording(out)).results)
    doors = {part.endpoint, *(step.endpoint for case in cases for step in case.steps if isinstance(step, Connect))}
    every = mock_of(part, setup, 0).doors
    ports = {
        door.port: part.protocol for at, door in enumerate(every) if door.name in doors or (not at and "" in doors)
    }
    return active, observe(recording_of(read_packets([path]), ports=ports), part.protocol)
