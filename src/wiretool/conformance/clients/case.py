"""Cases for clients: a mock server with faults plays a scenario, and what the client does then is judged."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from wiretool.conformance.levels import Level
from wiretool.conformance.recorded.observed import Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Judge, Observation
from wiretool.processes import exit_words


@dataclass(frozen=True, slots=True)
class Scenario:
    """The behaviour of the server in one run of the client: fault rules on a mock server."""

    name: str
    #: Fault rules in their one-line form.
    faults: tuple[str, ...] = ()
    #: Options of the mock server (fields of `MockOptions`).
    options: Mapping[str, Any] = field(default_factory=dict)
    #: The disturbance, as a noun phrase.
    behaviour: str = "no disturbance"


PLAIN = Scenario("plain")


@dataclass(frozen=True, slots=True)
class ClientRun:
    """One run of a client in a scenario, as it was recorded."""

    scenario: Scenario
    connections: list[ObservedConnection]
    #: Exit code of the command, negative for a signal; None where it did not end in time.
    exit_code: int | None
    seconds: float
    output: str

    def sent(self, *names: str) -> list[Observed]:
        """Return the messages of the client by these names, on all connections in order of time."""
        return self._messages("client", names)

    def received(self, *names: str) -> list[Observed]:
        """Return the messages of the server by these names, on all connections in order of time."""
        return self._messages("server", names)

    def _messages(self, side: str, names: tuple[str, ...]) -> list[Observed]:
        found = [
            message
            for connection in self.connections
            for message in connection.messages
            if message.side == side and (not names or message.name in names)
        ]
        return sorted(found, key=lambda message: (message.time_ns, message.n))


@dataclass(frozen=True, slots=True)
class ClientCase:
    """One requirement on a client. It is exercised where `judge` observes anything."""

    id: str
    level: Level
    requirement: str
    source: str
    scenario: Scenario
    judge: "JudgeRun"


#: Judges a whole run of a client, over all its connections.
JudgeRun = Callable[[ClientRun], Iterable[Observation]]


class CaseMaker(Protocol):
    """Makes a case from its id without the protocol (`append/1`); the usual scenario is the one without disturbance."""

    def __call__(
        self, id: str, level: Level, requirement: str, source: str, judge: JudgeRun, scenario: Scenario = ...
    ) -> ClientCase: ...


def case_maker(protocol: str, reference: str, plain: Scenario = PLAIN) -> CaseMaker:
    """Return a maker of the client cases of one protocol, whose sources are sections of its `reference`."""

    def case(
        id: str, level: Level, requirement: str, source: str, judge: JudgeRun, scenario: Scenario = plain
    ) -> ClientCase:
        return ClientCase(f"{protocol}/client/{id}", level, requirement, f"{reference} {source}", scenario, judge)

    return case


def on_each_connection(judge: Judge) -> JudgeRun:
    """Return a judge of whole runs from a judge of one connection."""

    def judge_run(run: ClientRun) -> Iterable[Observation]:
        for connection in run.connections:
            yield from judge(connection)

    return judge_run


def ends_well(run: ClientRun) -> Iterable[Observation]:
    """Judge that the program ends by itself with exit code 0."""
    if run.connections:
        yield Observation(0, "" if run.exit_code == 0 else f"the client {_how_it_ended(run)}")


def reports_failure(run: ClientRun) -> Iterable[Observation]:
    """Judge that the program ends by itself with the exit code of a failure, and not by a signal."""
    if run.connections:
        is_failure = run.exit_code is not None and run.exit_code > 0
        yield Observation(0, "" if is_failure else f"the client {_how_it_ended(run)}; expected a failure")


def _how_it_ended(run: ClientRun) -> str:
    how = "did not end in time" if run.exit_code is None else exit_words(run.exit_code)
    last = next(reversed(run.output.strip().splitlines()), "no output")
    return f"{how}: {last}"
