"""Runs of cases against a server over sockets."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from wiretool.conformance.active.endings import is_loss
from wiretool.conformance.active.reach_probe import ReachProbe
from wiretool.conformance.active.run import STOPPED, ConformanceCaller, deadline_reason, loss_reason
from wiretool.conformance.case import MUST, Case, Conformance, Connect
from wiretool.conformance.evidence import NO_ANSWER, find_unproved, is_answer
from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import NOT_RUN, CaseResult, RunResult, stop_remark
from wiretool.conformance.selection import DEFAULT_SETUP
from wiretool.errors import OtherProtocol, PeerError
from wiretool.net.addresses import Address
from wiretool.net.calling.caller import Act
from wiretool.net.calling.run import Called, call
from wiretool.net.calling.stage import Stage
from wiretool.net.programs.server_process import DEATH_S
from wiretool.protocols.base.recognise import Chunk, describe_foreign, weigh_each
from wiretool.protocols.base.registry import PROTOCOLS

if TYPE_CHECKING:
    from wiretool.net.programs.server_process import ServerProcess
    from wiretool.sinks.pcapng import Recording

#: The id of the case that greets a target first, and how long the target has for its reply.
GREETING, GREETING_S = "greeting", 1.0
#: Probes of the setup that run at the same time.
PROBES_JOBS = 10
#: Bytes of the target's first reply that are looked at, and those that a message shows.
FIRST_BYTES_MAX, SHOWN_BYTES = 64 * 1024, 16


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """A target, and how cases are run against it."""

    #: Addresses by the protocol or endpoint that is served there; the empty key is the target itself.
    addresses: Mapping[str, Address]
    #: Makes names unique: two runs against one server must not have the same token.
    token: str
    #: The setup that the target is in, by its name in `Conformance.variants`.
    setup: str = ""
    patience_s: float = 5.0
    #: Returns the time that the run may take, asked once the target has been reached.
    deadline_s: Callable[[], float | None] = field(default=lambda: None)
    jobs: int = 1
    recording: "Recording | None" = None
    process: "ServerProcess | None" = None
    on_result: Callable[[CaseResult], None] = field(default=lambda result: None)
    #: Takes the result of the greeting before the cases.
    on_greeting: Callable[[CaseResult], None] = field(default=lambda result: None)


class _RunClock:
    """The deadline of a run, and how much of it has passed; the parts of the run share it."""

    def __init__(self, deadline_s: float | None) -> None:
        self.deadline_s = deadline_s
        self._started = time.monotonic()

    def spent_s(self) -> float:
        """Return the seconds since the target was reached."""
        return time.monotonic() - self._started

    @property
    def reason(self) -> str:
        """The reason of a case that the deadline cuts off."""
        return deadline_reason(self.deadline_s or 0.0)

    def within(self, seconds: float) -> float:
        """Return a time to wait, no longer than the rest of the run."""
        return seconds if self.deadline_s is None else max(0.0, min(seconds, self.deadline_s - self.spent_s()))


def run_on_target(part: Conformance, cases: Sequence[Case], options: TargetOptions) -> RunResult:
    """Run cases against a target. PeerError where it is never reached; OtherProtocol where it speaks another."""
    started = time.perf_counter()
    remarks: list[str] = []
    if part.greeting:
        stopped_by = _check_protocol(part, options, remarks)
        if stopped_by is not None:
            return _stopped(part, cases, options, stopped_by, started)
    clock = _RunClock(options.deadline_s())
    missing = {case.id: _missing_for(case, options) for case in cases}
    absent, stopped_by = _missing_parts(part, [case for case in cases if not missing[case.id]], options, clock)
    if stopped_by is not None:
        return _stopped(part, cases, options, stopped_by, started)
    missing |= absent
    ready = [case for case in cases if not missing[case.id]]
    caller = ConformanceCaller(
        ready,
        part,
        token=options.token,
        patience_s=options.patience_s,
        deadline_s=clock.deadline_s,
        spent_s=clock.spent_s(),
        jobs=options.jobs,
        on_result=options.on_result,
        review=lambda result: _review(result, options.process),
        probe_for=lambda numbers: _reach_probe(part, options, numbers, options.patience_s),
        explain_loss=lambda why: _explain_loss(why, options.process),
    )
    called = call(caller, _stage(part, options, options.recording))
    if ready and not called.reached and not part.greeting:
        raise PeerError(called.why_unreached or "the target was never reached")
    if options.recording is not None and called.unrecorded is None:
        options.recording.begin()
    found = list(caller.results.values())
    unproved, stopped_by, why = find_unproved(found), called.stopped_by, ""
    if unproved:
        why, stopped_by = _why_unproved(part, options, clock, stopped_by)
    if why:
        found = [replace(each, verdict=Verdict.ERROR, why=why) if each in unproved else each for each in found]
    is_late = caller.is_late or why == clock.reason
    why_cut = stop_remark(stopped_by) if stopped_by is not None else clock.reason if is_late else ""
    return RunResult(
        part.protocol,
        str(options.addresses[""]),
        _in_order(cases, found, missing),
        time.perf_counter() - started,
        remarks=[*remarks, *_remarks(options, called, caller.why_lost, why_cut)],
        stopped_by=stopped_by,
        why_cut=why_cut,
    )


def _stopped(
    part: Conformance, cases: Sequence[Case], options: TargetOptions, stopped_by: int, started: float
) -> RunResult:
    """Return the results of a run that a signal stopped before its first case."""
    results = [CaseResult(case, Verdict.ERROR, NOT_RUN) for case in cases]
    target, seconds = str(options.addresses[""]), time.perf_counter() - started
    why_cut = stop_remark(stopped_by)
    return RunResult(part.protocol, target, results, seconds, [why_cut], stopped_by=stopped_by, why_cut=why_cut)


def _stage(part: Conformance, options: TargetOptions, recording: "Recording | None") -> Stage:
    target = options.addresses[""]
    endpoints = {(part.server, name): address for name, address in options.addresses.items() if name}
    return Stage(
        targets={(part.server, ""): target, (part.server, part.endpoint): target} | endpoints, record=recording
    )


def _missing_for(case: Case, options: TargetOptions) -> str:
    """Return what the case requires and the target does not have; empty for nothing."""
    if case.variant != options.setup:
        return f"requires a server in the setup {case.variant or DEFAULT_SETUP}; see --setup"
    endpoints = [step.endpoint for step in case.steps if isinstance(step, Connect) and step.endpoint]
    missing = next((name for name in endpoints if name not in options.addresses), "")
    return f"requires the address of the endpoint {missing}; --target {missing}=HOST:PORT names it" if missing else ""


def _missing_parts(
    part: Conformance, cases: Sequence[Case], options: TargetOptions, clock: _RunClock
) -> tuple[dict[str, str], int | None]:
    """Return by id why cases cannot be exercised, as probes show parts of the setup absent; and a stop signal."""
    required = {case.id: part.required_probes(case) for case in cases}
    names = list(dict.fromkeys(name for each in required.values() for name in each))
    if not names:
        return {}, None
    probes = [Case(name, MUST, "", "", tuple(part.probes[name]), options.setup) for name in names]
    caller = ConformanceCaller(
        probes,
        part,
        token=f"{options.token}p",
        patience_s=options.patience_s,
        deadline_s=clock.deadline_s,
        spent_s=clock.spent_s(),
        jobs=PROBES_JOBS,
    )
    called = call(caller, _stage(part, options, None))
    absent = {each.case.id: each.why for each in caller.results.values() if each.verdict is Verdict.NOT_EXERCISED}
    whys = {id: next((absent[name] for name in each if name in absent), "") for id, each in required.items()}
    return {id: why for id, why in whys.items() if why}, called.stopped_by


def _in_order(cases: Sequence[Case], ended: Sequence[CaseResult], missing: Mapping[str, str]) -> list[CaseResult]:
    found = {result.case.id: result for result in ended}
    results = []
    for case in cases:
        if why := missing[case.id]:
            results.append(CaseResult(case, Verdict.NOT_EXERCISED, why))
        else:
            results.append(found.get(case.id) or CaseResult(case, Verdict.ERROR, NOT_RUN))
    return results


def _review(result: CaseResult, process: "ServerProcess | None") -> CaseResult:
    """A case during which the server ended has failed; the server is started again for the next one."""
    is_lost = result.verdict in (Verdict.FAIL, Verdict.ERROR) and any(map(is_loss, result.events))
    death = process.death(wait_s=DEATH_S if is_lost else 0.0) if process is not None else ""
    if not death or process is None:
        return result
    if process.why_lost:
        return replace(result, verdict=Verdict.ERROR, why=loss_reason(process.why_lost))
    process.restart()
    return replace(result, verdict=Verdict.FAIL, why=f"{death} during this case")


def _explain_loss(why: str, process: "ServerProcess | None") -> str:
    """Return why the target is gone, empty where it is not; a server that ended unnoticed is started again first."""
    if process is None or not process.death():
        return why
    process.restart()
    return process.why_lost


def _remarks(options: TargetOptions, called: Called, why_lost: str, why_cut: str) -> list[str]:
    remarks = [f"the target became unreachable and the run ended: {why_lost}"] if why_lost else []
    if why_cut:
        remarks.append(why_cut)
    if options.process is not None and options.process.restarts:
        many = "once" if options.process.restarts == 1 else f"{options.process.restarts} times"
        remarks.append(f"the server ended and was started again {many}")
    if called.unrecorded is not None:
        remarks.append(f"the recording ends early: {called.unrecorded}")
    return remarks


# -- a target that answers nothing, or in another protocol -------------------------------------------------------------


def _check_protocol(part: Conformance, options: TargetOptions, remarks: list[str]) -> int | None:
    """Greet the target. OtherProtocol where its reply shows that; a silent target is left to the cases.

    Return the signal that stopped it, if one did. A server that ends is started again, with a remark.
    """
    caller = _greeting(part, f"{options.token}g", min(options.patience_s, GREETING_S))
    called = call(caller, _stage(part, options, None))
    if called.stopped_by is None and (seems := _foreign_words(part, caller)):
        raise OtherProtocol(f"{options.addresses['']}: the target does not use {part.protocol}; {seems}")
    for greeted in caller.results.values():
        options.on_greeting(greeted)
    if called.stopped_by is not None:
        return called.stopped_by
    if (caller.is_cut or not called.reached) and _restart_dead(options.process, remarks):
        return None
    if not called.reached:
        raise PeerError(called.why_unreached or "the target was never reached")
    return _check_reach(part, options) if caller.is_cut else None


def _foreign_words(part: Conformance, caller: "_FirstBytes") -> str:
    """Return which protocol the reply to the greeting shows, in words; empty where it may be that of `part`."""
    result = caller.results.get(0)
    data = caller.data
    if caller.is_cut or result is None or result.verdict is Verdict.PASS or not data:
        return ""
    other = _protocol_of(data)
    if other == part.protocol:
        return ""
    return f"it seems to use {other}" if other else f"its first bytes are {data[:SHOWN_BYTES].hex(' ')}"


def _restart_dead(process: "ServerProcess | None", remarks: list[str]) -> bool:
    """Start the server again where it ended during the greeting. Return whether it did; PeerError if that fails."""
    death = "" if process is None else process.death(wait_s=DEATH_S)
    if not death or process is None:
        return False
    process.restart()
    if process.why_lost:
        raise PeerError(f"{death} during the greeting; it cannot be started again: {process.why_lost}")
    remarks.append(f"{death} during the greeting")
    return True


def _check_reach(part: Conformance, options: TargetOptions) -> int | None:
    """PeerError where the target resets a connection before anything is sent on it. Return the signal that came."""
    probe = _reach_probe(part, options, count(1))
    called = call(probe, _stage(part, options, None))
    if probe.why:
        raise PeerError(probe.why)
    return called.stopped_by


def _reach_probe(
    part: Conformance, options: TargetOptions, numbers: Iterator[int], patience_s: float = 0
) -> ReachProbe:
    return ReachProbe(part.server, part.endpoint, str(options.addresses[""]), numbers, patience_s)


def _why_unproved(
    part: Conformance, options: TargetOptions, clock: _RunClock, stopped_by: int | None
) -> tuple[str, int | None]:
    """Return why cases without a message of the target prove nothing, and a stop signal.

    The target is greeted after the cases; the reason is empty where it answers with a valid message.
    """
    if stopped_by is not None:
        return STOPPED, stopped_by
    if not part.greeting:
        return NO_ANSWER, None
    patience_s = clock.within(options.patience_s)
    if not patience_s:
        return clock.reason, None
    caller = _greeting(part, f"{options.token}h", patience_s, options.setup)
    called = call(caller, _stage(part, options, None))
    if any(is_answer(event) for result in caller.results.values() for event in result.events):
        return "", called.stopped_by
    if called.stopped_by is not None:
        return STOPPED, called.stopped_by
    return NO_ANSWER if clock.within(1.0) else clock.reason, None


def _greeting(part: Conformance, token: str, patience_s: float, setup: str = "") -> "_FirstBytes":
    """Return a caller that greets a server in a setup."""
    greeting = Case(GREETING, part.cases[0].level, "", "", part.greeting, setup)
    return _FirstBytes([greeting], part, token=token, patience_s=patience_s)


def _protocol_of(data: bytes) -> str:
    """Return the protocol that the first bytes of a server fit; empty for none that is known."""
    if data.startswith(b"HTTP/1."):
        return "HTTP/1.1"
    found = weigh_each(PROTOCOLS.values(), [Chunk("server", data)], from_start=True)
    best = max(found, key=lambda evidence: evidence.score)
    return best.protocol.name if best.points and not best.against else describe_foreign([Chunk("server", data)])


class _FirstBytes(ConformanceCaller):
    """A caller that keeps the first bytes of the server, and whether it reset the connection before any."""

    data = b""
    is_cut = False

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        self.is_cut = bool(why) and not self.data
        return super().lost(connection, why, now_ns)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        self.data = (self.data + data)[:FIRST_BYTES_MAX]
        return super().received(connection, data, now_ns)
