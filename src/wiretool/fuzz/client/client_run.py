"""One run of a client against the mutated mock."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wiretool.conformance.clients.case import PLAIN, Scenario
from wiretool.conformance.registry import conformance_of
from wiretool.fuzz.client.mutated_mock import MutatedMock, RunLog
from wiretool.fuzz.client.reply_fault import Plan, ReplyFault
from wiretool.net.clock import Clock
from wiretool.net.programs.client_host import ClientWatch, run_client
from wiretool.server.mock import Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for
from wiretool.sinks.pcapng import Recording

NS_PER_S = 1_000_000_000
#: Bytes of the end of a client's output that are kept: a trace of Java has its error before 1,024 frames at most.
OUTPUT_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class ClientSetup:
    """A client and the limits of its runs. A process of its own can take it."""

    protocol: str
    command: tuple[str, ...]
    timeout_s: float
    #: Time without traffic after which connections are closed on which an illegal message was sent.
    idle_s: float
    memory_max_bytes: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ClientOutcome:
    """The result of one run."""

    plan: Plan
    log: RunLog
    #: Exit code, negative for a signal; None where the client had to be stopped.
    exit_code: int | None
    seconds: float
    output: str
    peak_bytes: int
    #: Processes that could not be stopped, in words.
    left: Sequence[str] = ()
    #: The signal that stopped wiretool meanwhile.
    stopped_by: int | None = None

    @property
    def acted(self) -> list[ReplyFault]:
        """The faults that had an effect, in order."""
        return [self.plan[index] for index in self.log.acted]

    @property
    def last_line(self) -> str:
        """The last line of the output."""
        lines = self.output.strip().splitlines()
        return lines[-1].strip() if lines else "no output"


def run_plan(
    setup: ClientSetup, plan: Plan, *, recording: Recording | None = None, keeps_replies: bool = False
) -> ClientOutcome:
    """Run the client once with the faults of a plan. UsageError where it cannot be started."""
    part = conformance_of(setup.protocol)
    mock = MutatedMock(
        client_mock(setup),
        part.protocol_in(""),
        plan,
        idle_ns=round(setup.idle_s * NS_PER_S),
        keeps_replies=keeps_replies,
    )
    clock = Clock()
    watch = ClientWatch(setup.memory_max_bytes, OUTPUT_BYTES, lambda: mock.note_late(clock.now_ns()))
    end = run_client(
        setup.command, mock, (), recording, timeout_s=setup.timeout_s, seed=setup.seed, watch=watch
    )  # fmt: skip
    return ClientOutcome(
        plan, mock.log, end.exit_code, end.seconds, end.output, end.peak_bytes, tuple(end.left), end.stopped_by
    )


def client_mock(setup: ClientSetup) -> Mock:
    """Return a fresh mock with the data that clients of the protocol expect."""
    part = conformance_of(setup.protocol)
    options = plain_scenario(setup.protocol).options
    return mock_for(part.server, replace(MockOptions(seed=setup.seed), **options))


def plain_scenario(protocol: str) -> Scenario:
    """Return the scenario of the conformance cases for clients that disturbs nothing."""
    scenarios = (case.scenario for case in conformance_of(protocol).client_cases)
    return next((each for each in scenarios if not each.faults), PLAIN)
