"""Results of cases, and the sums over a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from signal import Signals
from typing import Any, NamedTuple

from wiretool.codec.message import Side
from wiretool.conformance.case import Case
from wiretool.conformance.clients.case import ClientCase
from wiretool.conformance.levels import Verdict
from wiretool.conformance.recorded.observed import ObservedConnection
from wiretool.conformance.recorded.rules import Rule

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
    #: How the sent bytes differ from those of a valid message, in words; empty where they do not.
    change: str = ""


def events_around(connection: ObservedConnection, n: int, *, before: int, after: int) -> tuple[Event, ...]:
    """Return the messages of a connection around a record, which is marked; those at its beginning without it."""
    messages = connection.messages
    at = next((index for index, message in enumerate(messages) if message.n == n), 0)
    return tuple(
        Event(
            message.time_ns,
            str(connection.number),
            message.side,
            f"{message.n} {message.name}",
            message.fields,
            message.problems,
            message.n == n,
        )
        for message in messages[max(0, at - before) : at + 1 + after]
    )


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

    @property
    def judged_side(self) -> Side:
        """The side that the requirement binds."""
        if isinstance(self.case, Rule):
            return self.case.side
        return "client" if isinstance(self.case, ClientCase) else "server"

    @property
    def marked(self) -> int | None:
        """The index of the entry that the verdict is about; None where it is about none."""
        return next((at for at, event in enumerate(self.events) if event.is_marked), None)

    @property
    def received(self) -> Event | None:
        """The message or end of the judged side that the verdict is about; None where nothing came."""
        event = None if self.marked is None else self.events[self.marked]
        return event if event is not None and event.side == self.judged_side else None

    @property
    def sent(self) -> Event | None:
        """The last message of the other side up to there, on the same connection; None without one."""
        if self.marked is None:
            return None
        on = self.events[self.marked].on
        earlier = (event for event in reversed(self.events[: self.marked + 1]) if event.on == on)
        return next((each for each in earlier if each.side != self.judged_side and each.fields is not None), None)


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
    #: The input was damaged, or lacked the protocol in part: the remarks name it.
    is_bad_input: bool = False
    #: The signal that stopped it.
    stopped_by: int | None = None
    #: Why it ended before its last case, as by its deadline; also one of the remarks.
    why_cut: str = ""
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


#: Why a case has no result.
NOT_RUN = "the run was stopped before it"


def stop_remark(stopped_by: int) -> str:
    """Return the remark on a run that a signal stopped."""
    return f"{Signals(stopped_by).name} stopped the run before its end"
