"""Whether what a run measured may be quoted: operations that were answered, and few errors.

Whether the generator itself was able to measure is in health.py.
"""

from collections.abc import Iterator, Mapping, Sequence

from wiretool.load.figures import share_text
from wiretool.load.part import load_part
from wiretool.load.plan import GRACE_S, Plan
from wiretool.load.result import Operation, Second
from wiretool.sinks.text.figures import time_text
from wiretool.units import counted

#: Whole seconds at the end of a run in which appends were due and none was answered: fewer may be one pause.
SILENT_SECONDS = 2


def expected_operations(plan: Plan, *, is_drained: bool) -> list[tuple[str, ...]]:
    """Return what the users of a plan do, each as the operations of which one at least has to be measured.

    A backlog is fetched once its drain has begun.
    """
    part = load_part(plan.protocol)
    does_fetch = plan.fetchers and (is_drained or not plan.has_backlog)
    expected: list[tuple[str, ...]] = [(part.writes,)] if plan.appenders else []
    if does_fetch:
        expected.append(part.reads)
    return expected


def doubts(
    operations: Mapping[str, Operation], expected: Sequence[Sequence[str]], seconds: Sequence[Second], plan: Plan
) -> list[str]:
    """Return why the figures must not be quoted, a sentence each; none if they may.

    `seconds` are the measured ones; with none of them there is another reason already.
    """
    if not seconds:
        return []
    return [
        *(
            _unmeasured(names[0], operations.get(names[0]), min(plan.duration_s, len(seconds)))
            for names in expected
            if not any(_has_figures(operations, name) for name in names)
        ),
        *_failing(operations, plan.max_errors),
        *_silence(load_part(plan.protocol).writes, operations, seconds),
    ]


def _has_figures(operations: Mapping[str, Operation], name: str) -> bool:
    return name in operations and operations[name].count > 0


def _unmeasured(name: str, operation: Operation | None, measured_s: float) -> str:
    """Say that no exchange succeeded, and what became of those that were due."""
    parts = []
    if operation is not None and operation.errors:
        kind = max(operation.error_kinds, key=operation.error_kinds.__getitem__, default="")
        parts.append(f"{operation.errors:,} failed ({kind})" if kind else f"{operation.errors:,} failed")
    if operation is not None and operation.unfinished:
        parts.append(_overdue(operation))
    told = " and ".join(parts) or "none was due"
    whole_s = round(measured_s)
    over = counted(whole_s, "second") if whole_s == measured_s else time_text(measured_s * 1e6)
    return f"no {name} was measured in {over}: {told}; expected one at least"


def _overdue(operation: Operation) -> str:
    due = time_text(operation.unfinished_us)
    return f"{operation.unfinished:,} were due and not answered, the oldest due {due} before the end"


def _failing(operations: Mapping[str, Operation], most: float) -> Iterator[str]:
    for name, operation in operations.items():
        lost = _lost(operation)
        total = operation.count + operation.errors + lost
        share = (operation.errors + lost) / max(total, 1)
        if operation.count and share > most:
            failed = f"{share_text(share)} of {total:,} failed"
            if lost:
                failed = f"{failed} or were not answered: {operation.errors:,} failed, {_unanswered(lost)}"
            yield f"{name}: {failed}; expected {share_text(most)} at most (--max-errors)"


def _lost(operation: Operation) -> int:
    """Return the exchanges without an answer; 0 where an answer usually takes longer than they had."""
    return operation.unanswered if operation.service_us.p99 < GRACE_S * 1_000_000 else 0


def _unanswered(count: int) -> str:
    return f"{count:,} due and not answered {GRACE_S:g} s after the end"


def _silence(name: str, operations: Mapping[str, Operation], seconds: Sequence[Second]) -> Iterator[str]:
    """Report appends that the target stopped answering: they are in no figure."""
    operation = operations.get(name)
    if operation is None or not operation.count or operation.unfinished_us < SILENT_SECONDS * 1_000_000:
        return
    answered = [second.second for second in seconds if _is_answered(name, second)]
    silent = seconds[-1].second - max(answered, default=-1)
    if silent >= SILENT_SECONDS:
        yield f"no {name} was answered in the last {silent} seconds: {_overdue(operation)}"


def _is_answered(name: str, second: Second) -> bool:
    moment = second.operations.get(name)
    return moment is not None and moment.count + moment.errors > 0
