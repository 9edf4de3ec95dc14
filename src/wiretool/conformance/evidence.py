"""Evidence that a server is alive: without a message of it, the end of a connection and silence show nothing."""

from collections.abc import Iterable, Sequence

from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import CaseResult, Event

#: Verdicts for which the server must have answered.
_NEEDS_ANSWER = frozenset((Verdict.PASS, Verdict.LENIENT, Verdict.UNSUPPORTED))
#: Why such a case has no verdict.
NO_ANSWER = "the server answers nothing: a closed connection or silence does not prove that it follows the protocol"


def is_answer(event: Event) -> bool:
    """Return whether an entry is a valid message of the server."""
    return event.side == "server" and event.fields is not None and not event.problems


def find_unproved(results: Iterable[CaseResult]) -> Sequence[CaseResult]:
    """Return the cases that passed without a message of the server, neither in them nor in a later case.

    A server that does not work at all closes connections, too, and so does one that ends by what a case sends.
    """
    every = list(results)
    answered_ns = max((event.time_ns for result in every for event in result.events if is_answer(event)), default=0)
    return [result for result in every if _is_bare(result) and _ended_ns(result) >= answered_ns]


def _is_bare(result: CaseResult) -> bool:
    return result.verdict in _NEEDS_ANSWER and not any(map(is_answer, result.events))


def _ended_ns(result: CaseResult) -> int:
    return max((event.time_ns for event in result.events), default=0)
