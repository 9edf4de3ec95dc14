"""Runs of cases against the built-in mock in memory."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from wiretool.conformance.active.in_memory import START_NS, InMemory
from wiretool.conformance.active.run import ConformanceCaller
from wiretool.conformance.case import Case, Conformance
from wiretool.conformance.results import CaseResult, RunResult
from wiretool.server.mock import Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for
from wiretool.sinks.pcapng import Recording

BUILT_IN = "built-in mock"
#: Patience with the mock in memory, where waiting costs nothing.
MOCK_PATIENCE_S = 5.0


def mock_of(part: Conformance, variant: str, seed: int) -> Mock:
    """Return a new mock server in a setup that cases require."""
    options = replace(MockOptions(seed=seed), **part.variants.get(variant, {}))
    mock = mock_for(part.server, options)
    for door in mock.doors:
        mock.bound(door.name, "127.0.0.1", door.port)
    return mock


def run_on_mock(
    part: Conformance,
    cases: Sequence[Case],
    *,
    seed: int = 0,
    patience_s: float = MOCK_PATIENCE_S,
    jobs: int = 1,
    recording: Recording | None = None,
    on_result: Callable[[CaseResult], None] = lambda result: None,
) -> RunResult:
    """Run cases against fresh mocks in memory, one for each setup that they require."""
    started = time.perf_counter()
    found: dict[str, CaseResult] = {}
    numbers, now_ns = count(1), START_NS
    for variant in dict.fromkeys(case.variant for case in cases):
        chosen = [case for case in cases if case.variant == variant]
        caller = ConformanceCaller(
            chosen, part, token="c", patience_s=patience_s, jobs=jobs, numbers=numbers, on_result=on_result
        )
        stage = InMemory(caller, mock_of(part, variant, seed), recording=recording, now_ns=now_ns)
        stage.run()
        now_ns = stage.now_ns
        found |= {result.case.id: result for result in caller.results.values()}
    results = [found[case.id] for case in cases]
    return RunResult(part.protocol, BUILT_IN, results, time.perf_counter() - started)
