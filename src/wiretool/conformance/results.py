"""Results of cases, and the sums over a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wiretool.codec.message import Side
from wiretool.conformance.case import Case
from wiretool.conformance.client_case import ClientCase
from wiretool.conformance.levels import Verdict
from wiretool.conformance.rules import Rule

#: Whatever has an id, a level, a requirement and a source.
AnyCase = Case | ClientCase | Rule


def setup_of(case: AnyCase) -> str:
    """Return the name of the setup that a case requires of the server; empty for the usual one."""
    return case.variant if isinstance(case, Case) else ""


class Event(NamedTuple):
    """One entry of the transcript of a case."""

    time_ns: int
    on: str
    #: Who acted; the client is wiretool in an active run.
    side: Side
    #: The message, or what happened to the connection, in words.
    name: str
    fields: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()
    #: Whether the verdict is about this entry.
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The verdict on one case."""

    case: AnyCase
    verdict: Verdict
    #: The reason; empty for a pass.
    why: str = ""
    #: What was expected where it failed, in words.
    expected: str = ""
    #: Where it failed: the first difference, in words.
    difference: str = ""
    seconds: float = 0.0
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """The results of a run, in the order of the cases."""

    protocol: str
    #: The address of the target, the name of a capture, or `built-in mock`.
    target: str
    results: Sequence[CaseResult]
    seconds: float = 0.0
    #: Remarks on the run as a whole.
    remarks: Sequence[str] = ()
    #: The signal that stopped it.
    stopped_by: int | None = None
    #: The words of the command line that name the target: before and after the options.
    again: tuple[str, str] = ("", "")
    #: The setup of the server, as `--setup` gives it.
    setup: str = ""

    def command_for(self, result: CaseResult) -> str:
        """Return the command that runs one case alone."""
        before, after = self.again
        words = ("wiretool conform", self.protocol, before, f"--case {result.case.id}", after)
        return " ".join(word for word in words if word)

    @property
    def summary(self) -> Mapping[str, int]:
        """The number of cases by verdict; every verdict is there."""
        counts = Counter(result.verdict for result in self.results)
        return {verdict.value: counts[verdict] for verdict in Verdict}
