"""What a census prints: the shares, and each lie that was not found with what swallowed it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.bench.census.judging import WAYS, Result
from tests.bench.census.lie import pattern_of, values_in
from tests.bench.census.run import Census

#: The share of forbidden lies that every way has to find.
MARK = 0.99
_VALUE_CHARS = 40


def share(results: Sequence[Result], way: str) -> float:
    """Return the share of lies that a way has found; 1 for none."""
    return sum(each.found[way] for each in results) / len(results) if results else 1.0


def forbidden(results: Iterable[Result]) -> list[Result]:
    """Return the results of lies that no clause allows."""
    return [each for each in results if not each.clause]


def is_enough(census: Census) -> bool:
    """Return whether every way has found enough, and anything was tried."""
    results = forbidden(census.results)
    return bool(results) and all(share(results, way) >= MARK for way in WAYS)


def lines(census: Census) -> Iterator[str]:
    """The report."""
    results = forbidden(census.results)
    yield f"{census.captures} captures, {len(results):,} forbidden lies, {len(census.results) - len(results):,} allowed"
    yield ""
    yield from _table(results)
    yield ""
    missed = [each for each in results if not all(each.found.values())]
    yield f"not found: {len(missed):,}"
    for each in missed:
        yield from _missed(each)
    yield ""
    yield from _allowed(census.results)
    for name, why in census.left_out.items():
        yield f"left out: {name}: {why}"


def _table(results: Sequence[Result]) -> Iterator[str]:
    yield f"{'protocol':<20} {'kind':<10} {'tried':>6}  " + "  ".join(f"{way:>14}" for way in WAYS)
    groups: dict[tuple[str, str], list[Result]] = {}
    for each in results:
        for kind in (each.lie.kind, "all"):
            groups.setdefault((each.lie.reply.protocol, kind), []).append(each)
    for (protocol, kind), group in sorted(groups.items(), key=lambda each: (each[0][0], each[0][1] == "all", each[0])):
        yield _row(protocol, kind, group)
    yield _row("all", "all", results)


def _row(protocol: str, kind: str, group: Sequence[Result]) -> str:
    found = [f"{sum(each.found[way] for each in group):>6} {share(group, way):>6.1%}" for way in WAYS]
    return f"{protocol:<20} {kind:<10} {len(group):>6}  " + "  ".join(f"{each:>14}" for each in found)


def _missed(result: Result) -> Iterator[str]:
    ways = [way for way in WAYS if not result.found[way]]
    yield f"- {described(result)}; not by {', '.join(ways)}"
    for why in dict.fromkeys(result.why[way] for way in ways):
        yield f"    {'/'.join(way for way in ways if result.why[way] == why)}: {why}"


def described(result: Result) -> str:
    """Return one lie in words."""
    lie, reply = result.lie, result.lie.reply
    request = "unasked" if reply.request is None else f"to {reply.request.message}"
    said = f"{reply.record.message} ({request}, reply {reply.at})"
    if lie.kind == "reorder" and lie.other is not None:
        return f"{result.capture}: {said} behind {lie.other.record.message}"
    if lie.kind == "replace" and lie.name != reply.record.message:
        return f"{result.capture}: {said} replaced by {lie.name}"
    was: Mapping[Any, Any] = dict(values_in(reply.form))
    changes = [f"{pattern_of(steps)}: {_short(was.get(steps))} -> {_short(now)}" for steps, now in lie.changes[:8]]
    times = f" {lie.count} times" if lie.count > 1 else ""
    return f"{result.capture}: {lie.kind}{times}: {said} {', '.join(changes)}".rstrip()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _VALUE_CHARS else f"{text[: _VALUE_CHARS - 3]}..."


def _allowed(results: Iterable[Result]) -> Iterator[str]:
    clauses = Counter((each.lie.reply.protocol, each.clause) for each in results if each.clause)
    for (protocol, clause), count in sorted(clauses.items()):
        yield f"allowed: {count:,} of {protocol} by {clause}"


def row_of(result: Result) -> dict[str, Any]:
    """Return a lie and what came of it, for programs."""
    lie = result.lie
    return {
        "capture": result.capture,
        "protocol": lie.reply.protocol,
        "kind": lie.kind,
        "message": lie.reply.record.message,
        "lie": described(result),
        "clause": result.clause,
        "found": result.found,
        "why": result.why,
    }
