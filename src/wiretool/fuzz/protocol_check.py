"""Recognises a target of another protocol: by the conformance cases of each protocol that it passes."""

from collections.abc import Callable, Sequence

from wiretool.conformance.active.mock_run import mock_of
from wiretool.conformance.case import Case, Conformance, Connect, Expect, Wait
from wiretool.conformance.levels import Verdict
from wiretool.conformance.registry import conformance_of
from wiretool.conformance.results import CaseResult
from wiretool.errors import OtherProtocol, PeerError
from wiretool.protocols.base.registry import protocols_with

#: Cases of one protocol, spread over all of them: the first ones alone are alike in related protocols.
SAMPLE = 12
#: A target that passes this share of the sample uses the protocol; for another protocol it must pass it as well.
SHARE_MIN = 0.5
#: Pauses that are waited for in real time.
PAUSE_MAX_S = 0.2
#: Verdicts of cases that tried the target.
_JUDGED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.ERROR})
#: Runs cases of a protocol on the target.
RunCases = Callable[[Conformance, Sequence[Case]], Sequence[CaseResult]]


def check_protocol(
    part: Conformance, address: str, run: RunCases, *, greet: Callable[[Conformance], bool] | None = None
) -> None:
    """OtherProtocol if the target fails most cases of its protocol, and passes most of those of another one.

    `greet` is for a target that has answered nothing: it returns whether the target answers the greeting of another
    protocol. Cases of protocols whose greeting it does not answer are not run.
    """
    if greet is None and _share(part, run, default=1.0) >= SHARE_MIN:
        return
    known = [name for name in protocols_with("conformance") if name != part.protocol]
    others = [name for name in known if greet is None or _answers(name, greet)]
    shares = {name: _share_of_other(name, run) for name in others}
    best = max(shares, key=shares.__getitem__, default="")
    if shares.get(best, 0.0) >= SHARE_MIN:
        raise OtherProtocol(f"{address}: the target does not use {part.protocol}; it seems to use {best}")


def _answers(name: str, greet: Callable[[Conformance], bool]) -> bool:
    try:
        return greet(conformance_of(name))
    except (OtherProtocol, PeerError):
        return False


def _share_of_other(name: str, run: RunCases) -> float:
    try:
        return _share(conformance_of(name), run, default=0.0)
    except (OtherProtocol, PeerError):
        return 0.0  # its greeting has shown that already, or the target has ended


def _share(part: Conformance, run: RunCases, *, default: float) -> float:
    """Return the share of the sample that passes; `default` if no case was judged."""
    judged = [each.verdict for each in run(part, sample_of(part)) if each.verdict in _JUDGED]
    return judged.count(Verdict.PASS) / len(judged) if judged else default


def sample_of(part: Conformance) -> list[Case]:
    """Return some cases that every server can run which has the main endpoint alone."""
    main = {"", part.endpoint, mock_of(part, "", 0).doors[0].name}
    cases = [
        each
        for each in part.cases
        if not each.variant
        and is_quick(each)
        and all(step.endpoint in main for step in each.steps if isinstance(step, Connect))
    ]
    return cases[:: max(1, len(cases) // SAMPLE)][:SAMPLE]


def is_quick(case: Case) -> bool:
    """Return whether a case waits no longer than a sequence may pause."""
    waits = sum(step.seconds for step in case.steps if isinstance(step, Wait))
    return waits + sum(step.after_s for step in case.steps if isinstance(step, Expect)) <= PAUSE_MAX_S
