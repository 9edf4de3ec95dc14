"""Runs of a client program in each scenario, and the judgement of what it sent."""

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from signal import Signals
from tempfile import TemporaryDirectory

from wiretool.analysis.dialogues import Recording
from wiretool.codec.message import Side
from wiretool.conformance.active.run import deadline_reason
from wiretool.conformance.case import Conformance
from wiretool.conformance.clients.case import ClientCase, ClientRun, Scenario
from wiretool.conformance.levels import Verdict
from wiretool.conformance.recorded.observed import ObservedConnection, observe
from wiretool.conformance.results import NOT_RUN, CaseResult, Event, RunResult, events_around, stop_remark
from wiretool.faults import parse_rule
from wiretool.net.programs.client_host import ClientEnd, run_client
from wiretool.processes import exit_words
from wiretool.protocols.base.recognise import Chunk, weigh_each
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for
from wiretool.sinks.output import open_output
from wiretool.sinks.pcapng import Address
from wiretool.sinks.pcapng import Recording as Pcapng

#: Messages before and after the one that a verdict is about.
_SHOWN_BEFORE, _SHOWN_AFTER = 8, 2
#: First bytes of a client that are weighed, and those that a message shows.
FIRST_BYTES_MAX, SHOWN_BYTES = 4096, 16


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """A client program and how it is run."""

    command: Sequence[str]
    timeout_s: float = 30.0
    #: The time of all runs together; None for no bound.
    deadline_s: float | None = None
    seed: int = 0
    #: Reads a capture.
    read: Callable[[Path], Recording] = lambda path: Recording()
    #: Takes the name of each process of a client that could not be stopped.
    on_left: Callable[[str], None] = lambda text: None
    #: Is told the name of a scenario before it is run, with how many are done and how many there are.
    on_scenario: Callable[[str, int, int], None] = lambda name, done, total: None


def run_client_cases(part: Conformance, cases: Sequence[ClientCase], options: ClientOptions) -> RunResult:
    """Run the client once in each scenario that the cases need, and judge each case."""
    started = time.perf_counter()
    found: dict[str, CaseResult] = {}
    remarks: list[str] = []
    scenarios = list({case.scenario.name: case.scenario for case in cases}.values())
    stopped_by, why_cut = None, ""
    for done, scenario in enumerate(scenarios):
        options.on_scenario(scenario.name, done, len(scenarios))
        timeout_s = _timeout_s(options, time.perf_counter() - started)
        if not timeout_s:
            why_cut = deadline_reason(options.deadline_s or 0.0)
            break
        run, end, sent = _run(part, scenario, options, timeout_s)
        foreign = "" if run.connections else _foreign(sent, part.protocol)
        for text in end.left:
            options.on_left(text)
        chosen = [case for case in cases if case.scenario.name == scenario.name]
        if run.exit_code is None and end.stopped_by is None and timeout_s < options.timeout_s:
            why_cut = deadline_reason(options.deadline_s or 0.0)
            found |= {case.id: CaseResult(case, Verdict.ERROR, why_cut) for case in chosen}
            break
        found |= {case.id: _judge(case, run, foreign) for case in chosen}
        if not run.connections:
            remarks.append(f"scenario {scenario.name}: {_unconnected(run, end, sent, foreign, part.protocol)}")
        if end.stopped_by is not None:
            stopped_by = end.stopped_by
            why_cut = stop_remark(stopped_by)
            break
    remarks += [why_cut] if why_cut else []
    results = [found.get(case.id) or CaseResult(case, Verdict.ERROR, NOT_RUN) for case in cases]
    target, seconds = shlex.join(options.command), time.perf_counter() - started
    return RunResult(part.protocol, target, results, seconds, remarks, stopped_by=stopped_by, why_cut=why_cut)


def _timeout_s(options: ClientOptions, spent_s: float) -> float:
    """Return the seconds for the next run of the client, at most the rest before the deadline; 0 after it."""
    rest_s = options.timeout_s if options.deadline_s is None else max(0.0, options.deadline_s - spent_s)
    return min(options.timeout_s, rest_s)


def _run(
    part: Conformance, scenario: Scenario, options: ClientOptions, timeout_s: float
) -> tuple[ClientRun, ClientEnd, "_SentBytes"]:
    mock = mock_for(part.server, replace(MockOptions(seed=options.seed), **scenario.options))
    protocols = [door.protocol for door in mock.doors]
    rules = [parse_rule(text, protocols=protocols, origin=scenario.name) for text in scenario.faults]
    with TemporaryDirectory(prefix="wiretool-") as folder:
        path = Path(folder) / "client.pcapng"
        with open_output(path) as out:
            sent = _SentBytes(out)
            end = run_client(options.command, mock, rules, sent, timeout_s=timeout_s, seed=options.seed)
        connections = observe(options.read(path), part.protocol)
    return ClientRun(scenario, connections, end.exit_code, end.seconds, end.output), end, sent


class _SentBytes(Pcapng):
    """A recording that counts the connections and bytes of the client, and keeps the first bytes."""

    connections, size, first, first_on = 0, 0, b"", -1

    def opened(self, connection: int, client: Address, server: Address, now_ns: int) -> None:
        self.connections += 1
        super().opened(connection, client, server, now_ns)

    def sent(self, connection: int, side: Side, data: bytes, now_ns: int, *, comment: str = "") -> None:
        if side == "client":
            self.size += len(data)
            self.first_on = connection if self.first_on < 0 else self.first_on
            if connection == self.first_on:
                self.first = (self.first + data)[:FIRST_BYTES_MAX]
        super().sent(connection, side, data, now_ns, comment=comment)


def _foreign(sent: _SentBytes, protocol: str) -> str:
    """Return how the bytes of a client fit no protocol of ours, in words; empty where some do, or there are none."""
    chunks = [Chunk("client", sent.first)]
    found = weigh_each(PROTOCOLS.values(), chunks, from_start=True) if sent.first else []
    if not found or any(each.points and not each.against for each in found):
        return ""
    return f"{sent.size} bytes that are not {protocol}; the first are {sent.first[:SHOWN_BYTES].hex(' ')}"


def _judge(case: ClientCase, run: ClientRun, foreign: str) -> CaseResult:
    if foreign:
        return CaseResult(case, Verdict.FAIL, f"the client sent {foreign} (in the scenario {case.scenario.name})")
    observations = list(case.judge(run))
    where = f"in the scenario {case.scenario.name}"
    if not observations:
        return CaseResult(case, Verdict.NOT_EXERCISED, f"the client did nothing that shows it {where}")
    for observation in observations:
        if observation.problem:
            why = f"record {observation.n}: {observation.problem}" if observation.n else observation.problem
            return CaseResult(case, Verdict.FAIL, f"{why} ({where})", events=_around(run.connections, observation.n))
    shown = _around(run.connections, observations[0].n)
    return CaseResult(case, Verdict.PASS, f"seen {len(observations)} times {where}", seconds=run.seconds, events=shown)


def _around(connections: Sequence[ObservedConnection], n: int) -> tuple[Event, ...]:
    connection = next((each for each in connections if n in each.by_number), None)
    return () if connection is None else events_around(connection, n, before=_SHOWN_BEFORE, after=_SHOWN_AFTER)


def _unconnected(run: ClientRun, end: ClientEnd, sent: _SentBytes, foreign: str, protocol: str) -> str:
    """Return why nothing could be judged, with the last words of the client."""
    how = "did not end in time" if run.exit_code is None else exit_words(run.exit_code)
    if end.stopped_by is not None:
        how = f"was stopped by {Signals(end.stopped_by).name}"
    last = run.output.strip().splitlines()[-1:] or ["no output"]
    what = f"sent {foreign}," if foreign else f"sent no {protocol} to the server"
    if not sent.connections:
        what = f"sent no {protocol} to the server, as it never connected,"
    elif not sent.size:
        what = f"sent no {protocol} to the server, as it connected and sent nothing,"
    return f"the client {what} and {how}: {last[0]}"
