"""Runs a census: captures in, results out."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.bench.census.allowances import Allowances
from tests.bench.census.drawing import lies_for
from tests.bench.census.judging import Judge, Result
from tests.bench.census.lie import KINDS
from tests.bench.census.tearing import Torn, torn, whole

#: How many lies are drawn for one that can be told.
_DRAWS = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """What a census tries."""

    captures: Sequence[Path]
    seed: int = 0
    #: Lies for each protocol of a capture.
    count: int = 8
    protocols: Sequence[str] = ()
    kinds: Sequence[str] = KINDS
    #: Whether servers are prepared for a recording.
    prepare: bool = True
    #: Whether a packet of a client is missing in each recording: lies are told before that only.
    is_torn: bool = False


@dataclass(slots=True)
class Census:
    """What came of it."""

    results: list[Result] = field(default_factory=list)
    #: Captures that are none to judge by, and why.
    left_out: dict[str, str] = field(default_factory=dict)
    captures: int = 0


def run(plan: Plan, tell: Callable[[str], None] = lambda text: None) -> Census:
    """Tell the lies of a plan, and judge each."""
    census = Census()
    for path in plan.captures:
        found = torn(path, random.Random(f"{plan.seed}/{path.name}")) if plan.is_torn else Torn(whole(path), None)
        if found is None:
            continue
        judge = Judge(found.recording, prepare=plan.prepare)
        spoken = sorted({reply.protocol for reply in judge.honest.replies})
        wanted = [name for name in spoken if not plan.protocols or name in plan.protocols]
        if not wanted:
            continue
        name = f"{path.parent.name}/{path.name}"
        if why := judge.check():
            census.left_out[name] = why
            continue
        census.captures += 1
        for protocol in wanted:
            census.results += _told(plan, name, protocol, judge, found.gap_ns)
        missed = sum(not all(each.found.values()) and not each.clause for each in census.results)
        tell(f"{name}: {len(census.results):,} lies so far, {missed:,} not found in every way")
    return census


def _told(plan: Plan, name: str, protocol: str, judge: Judge, until_ns: int | None) -> Iterator[Result]:
    """Lies of all kinds in turn, which begins elsewhere for each capture."""
    allowances = Allowances(judge.honest)
    start = random.Random(f"{plan.seed}/{name}/{protocol}").randrange(len(plan.kinds))
    for at, kind in enumerate((*plan.kinds[start:], *plan.kinds[:start])):
        share = (plan.count + len(plan.kinds) - 1 - at) // len(plan.kinds)
        yield from islice(_of_kind(plan, name, protocol, kind, judge, allowances, share * _DRAWS, until_ns), share)


def _of_kind(
    plan: Plan,
    name: str,
    protocol: str,
    kind: str,
    judge: Judge,
    allowances: Allowances,
    draws: int,
    until_ns: int | None,
) -> Iterator[Result]:
    rng = random.Random(f"{plan.seed}/{name}/{protocol}/{kind}")
    seen = set()
    for lie in islice(lies_for(judge.honest, protocol, kind, rng), draws):
        if lie.key in seen or not _is_before(allowances.recorded_ns(lie.reply), until_ns):
            continue
        seen.add(lie.key)
        result = Result(name, lie, "")
        judge.judge(lie, result)
        if lie.is_told:
            result.clause = allowances.clause(lie)
            yield result


def _is_before(recorded_ns: int | None, until_ns: int | None) -> bool:
    return until_ns is None or (recorded_ns is not None and recorded_ns < until_ns)
