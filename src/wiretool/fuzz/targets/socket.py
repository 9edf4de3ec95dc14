"""A server at an address as a target: one that runs already, or one that is started, watched and restarted."""

import random
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import count

from wiretool.codec.remembering import remembering
from wiretool.conformance.active.target_run import TargetOptions, run_on_target
from wiretool.conformance.case import Case, Conformance, Connect
from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import CaseResult, RunResult
from wiretool.errors import OtherProtocol, PeerError
from wiretool.fuzz.oracles import message_at
from wiretool.fuzz.protocol_check import PAUSE_MAX_S, check_protocol, is_quick
from wiretool.fuzz.seeds.cases import TOKEN
from wiretool.fuzz.sequences.run import NS_PER_S, Outcome, Patience, RunSetting, SequenceRun
from wiretool.fuzz.sequences.sequence import FuzzSequence, Pause
from wiretool.fuzz.session import FuzzSession
from wiretool.fuzz.targets.base import Target, setting_of
from wiretool.fuzz.targets.caller import FuzzCaller
from wiretool.fuzz.targets.first_reply import OTHER_GREETING_S, FirstReply, has_answer
from wiretool.fuzz.targets.pacing import Pacer, parts_of
from wiretool.net.addresses import Address, is_loopback
from wiretool.net.calling.reach import check_reachable, is_reachable_within, why_unreachable
from wiretool.net.calling.run import call
from wiretool.net.calling.stage import Stage
from wiretool.net.programs.server_process import DEATH_S, ServerProcess, free_address
from wiretool.protocols.base.protocol import Protocol
from wiretool.sinks.pcapng import Recording

#: How long a server may take to end a connection that the client has finished.
CLOSE_S = 0.25
#: Conformance cases that are run together at first; a target that answers none of the first ones is mute.
CASES, CASES_ONE_BY_ONE = 8, 2
#: Sequences that the target remembers.
HISTORY_MAX = 64
_TOKEN_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class ServerDied(Exception):
    """The server ended, or accepts no more connections."""


class SocketTarget(Target):
    """Sends sequences to an address."""

    def __init__(
        self,
        part: Conformance,
        protocol_in: Callable[[str], Protocol],
        addresses: Mapping[str, Address],
        *,
        patience_s: float,
        jobs: int,
        process: ServerProcess | None = None,
        is_mock: bool = False,
        reference: Target,
        slow: Collection[str],
        name: str = "",
        pacer: Pacer | None = None,
        may_be_other: bool = True,
        on_notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`addresses` by endpoint, the main one under the empty name; `process` is a server that wiretool started.

        `is_mock`: it is the built-in mock, of which no case needs to run alone. `reference` shows which requests get no
        reply, so that nothing is waited for in vain; `slow` are the names of messages of which some get none. `pacer`
        delays what is sent, for another machine. `may_be_other`: the server may use another protocol. `on_notice` takes
        a sentence while the first reply is awaited, and where no sequence is blamed for the end of a server.
        """
        self._pacer = pacer
        self._reference = reference
        #: Names of messages that a server may answer late, or not at all.
        self._slow = set(slow)
        self.name = name or str(addresses[""])
        self._part = part
        self._protocol_in = protocol_in
        self._addresses = addresses
        self._patience = Patience(round(patience_s * NS_PER_S), round(CLOSE_S * NS_PER_S))
        self._jobs = jobs
        self._case_jobs = jobs if process is None or is_mock else 1
        self._process = process
        self._numbers = count(1)
        self._settings: dict[str, RunSetting] = {}
        self._history: list[FuzzSequence] = []
        #: Sequences that ran together, and of which the server got messages.
        self._last_sent: list[FuzzSequence] = []
        self._notify = on_notice
        #: Whether the end of the server was noted with the sequences before it.
        self._is_death_known = False
        self._rng = random.Random()
        self.batch = 4 * jobs
        self.cases_at_once = CASES if self._case_jobs > 1 else CASES_ONE_BY_ONE
        self._first_reply = FirstReply(self.name, on_notice)
        self._may_be_other = may_be_other

    @property
    def address(self) -> Address:
        """The address of the main endpoint."""
        return self._addresses[""]

    def fits(self, sequence: FuzzSequence) -> bool:
        """Return whether the server has the endpoints of a sequence, and its pauses are short enough for real time.

        The setup of a server at an address is not known, so sequences of all setups fit.
        """
        pauses = sum(step.seconds for step in sequence.steps if isinstance(step, Pause))
        return pauses <= PAUSE_MAX_S and sequence.endpoints <= {*self._addresses, *self._main_endpoints()}

    def _main_endpoints(self) -> set[str]:
        """Return the names of the main endpoint: every other one has an address of its own."""
        return {"", self._part.endpoint, self._main_name}

    @property
    def _main_name(self) -> str:
        from wiretool.conformance.active.mock_run import mock_of

        return mock_of(self._part, "", 0).doors[0].name

    def run(self, sequences: Sequence[FuzzSequence]) -> list[Outcome]:
        self._history = [*self._history, *sequences][-HISTORY_MAX:]
        return self._run(sequences, self._jobs)

    def run_fresh(self, sequences: Sequence[FuzzSequence], *, is_measured: bool = False) -> list[Outcome]:
        """Run sequences with names of their own; a server that ended is started again first."""
        return [outcome for sequence in sequences for outcome in self._run([sequence], 1)]

    def _run(self, sequences: Sequence[FuzzSequence], jobs: int, recording: Recording | None = None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for part in parts_of(sequences, self._pacer):
            if self.stopped_by is None:
                outcomes += self._run_together(part, jobs, recording)
        return outcomes

    def _run_together(self, sequences: Sequence[FuzzSequence], jobs: int, recording: Recording | None) -> list[Outcome]:
        self._revive()
        caller = FuzzCaller([self._prepared(each) for each in sequences], self._begin, jobs=jobs)
        with remembering(is_on=True):
            called = call(caller, self._stage(recording))
        if called.stopped_by is not None:
            self.stopped_by = called.stopped_by
            caller.stop()
        outcomes = [caller.outcomes[index] for index in sorted(caller.outcomes)]
        sent = [outcome for outcome in outcomes if outcome.sent_messages]
        self._last_sent = [outcome.sequence for outcome in sent] or self._last_sent
        if sent:
            self.last_message = message_at(sent[-1].sequence, sent[-1].last_step)
        self._note_death(outcomes)
        return outcomes

    def _prepared(self, sequence: FuzzSequence) -> FuzzSequence:
        """Return the sequence with the requests marked that the reference server answers late, or not at all.

        That is known only of messages that were left without a reply before.
        """
        if self._slow.isdisjoint(step.message for step in sequence.sendings):
            return sequence
        (outcome,) = self._reference.run_fresh([sequence])
        unanswered, deferred = frozenset(each.step for each in outcome.unanswered), frozenset(outcome.deferred)
        if (unanswered, deferred) == (sequence.unanswered, sequence.deferred):
            return sequence
        return replace(sequence, unanswered=unanswered, deferred=deferred)

    def _begin(self, sequence: FuzzSequence) -> SequenceRun:
        setting = self._settings.get(sequence.setup)
        if setting is None:
            setting = setting_of(self._part, self._protocol_in(sequence.setup), self._patience)
            self._settings[sequence.setup] = setting
        token = "".join(self._rng.choices(_TOKEN_DIGITS, k=len(TOKEN)))
        return SequenceRun(sequence, setting, self._numbers, names=(TOKEN.encode(), token.encode()))

    def _stage(self, recording: Recording | None) -> Stage:
        targets = {(self._part.server, name): address for name, address in self._addresses.items()}
        return Stage(targets=targets, record=recording)

    def _revive(self) -> None:
        """Start a server that ended again. PeerError where that fails."""
        process, was_known = self._process, self._is_death_known
        self._is_death_known = False
        if process is None or not (death := process.death()):
            return
        if not was_known:
            self._notify(f"{death} some time after the last sequences, which are not blamed for it")
        process.restart()
        if process.why_lost:
            raise PeerError(f"the server cannot be started again: {process.why_lost}")
        self._history.clear()

    def _note_death(self, outcomes: Sequence[Outcome]) -> None:
        death = self._death(wait_s=DEATH_S if self._may_be_dead(outcomes) else 0.0)
        for outcome in outcomes:
            for step in (*outcome.deferred, *(each.step for each in outcome.unanswered)):
                self._slow.add(message_at(outcome.sequence, step))
            may_wait = self._protocol_in(outcome.sequence.setup).exchanges.may_wait
            outcome.unanswered = [each for each in outcome.unanswered if each.request.message not in may_wait]
            if death:
                outcome.error = ServerDied(death)
        if self._process is None and (refused := [outcome for outcome in outcomes if outcome.refused]):
            self._note_refused(refused, outcomes)

    def _may_be_dead(self, outcomes: Sequence[Outcome]) -> bool:
        """Return whether the server has ended, though its parent may learn of that only later."""
        if any(outcome.refused for outcome in outcomes):
            return True
        is_lost = any(each.ended in ("closed", "reset") for outcome in outcomes for each in outcome.connections)
        return is_lost and self._process is not None and bool(why_unreachable(self.address, within_s=DEATH_S))

    def _note_refused(self, refused: Sequence[Outcome], outcomes: Sequence[Outcome]) -> None:
        """Blame the sequences that were refused; where the server is gone for good, the last one before them."""
        why = f"the server accepts no more connections: {refused[0].refused[0]}"
        if not is_reachable_within(self.address, DEATH_S):
            self.why_gone = why
        sent = [outcome for outcome in outcomes if outcome.sent_messages]
        for outcome in sent[-1:] or refused[:1] if self.why_gone else refused:
            outcome.error = ServerDied(why)

    def _death(self, *, wait_s: float = 0.0) -> str:
        """Return how the server that wiretool started has ended; empty if it runs after this time."""
        death = "" if self._process is None else self._process.death(wait_s=wait_s)
        self._is_death_known |= bool(death)
        return death

    def has_case(self, case: Case) -> bool:
        return not case.variant and self._has_endpoints(case) and is_quick(case)

    def run_cases(
        self, cases: Sequence[Case], before: Sequence[FuzzSequence] = (), *, within_s: float | None = None
    ) -> list[CaseResult]:
        if before and any(outcome.error is not None for outcome in self.run_fresh(before)):
            return []
        self._revive()
        fitting = [case for case in cases if self.has_case(case)]
        if not fitting:
            return []
        try:
            return self._run_cases(fitting, within_s)
        except (PeerError, OtherProtocol) as err:
            if not (death := self._death(wait_s=DEATH_S)):
                if not self._is_gone(err):
                    raise
                self.why_gone = str(err)
                return []
            if not self._first_reply.has_come:
                raise PeerError(f"{death}, and answered no message") from err
            return [CaseResult(fitting[0], Verdict.FAIL, death)]

    def _is_gone(self, err: Exception) -> bool:
        """Return whether a server that answered accepts no more connections, and wiretool cannot start it again."""
        is_lost = isinstance(err, PeerError) and self._process is None and self._first_reply.has_come
        return is_lost and not is_reachable_within(self.address, DEATH_S)

    def _run_cases(self, cases: Sequence[Case], within_s: float | None) -> list[CaseResult]:
        result = self._conform(cases, within_s)
        if result.why_cut and not self._first_reply.has_come and self.stopped_by is None:
            self._conform(cases[:1], None)  # a mute server is reported as one, however short the run is
        # Cases that a reply has shown to require what the server does not have are not run.
        was_run = any(each.verdict is not Verdict.NOT_EXERCISED for each in result.results)
        is_mute = was_run and not self._first_reply.has_come
        if self._process is not None and any(each.verdict is Verdict.FAIL for each in result.results):
            self._death(wait_s=DEATH_S if why_unreachable(self.address, within_s=DEATH_S) else 0.0)  # its own finding
        if is_mute or any(each.verdict is Verdict.FAIL for each in result.results):
            self._check_protocol()
        if is_mute and self.stopped_by is None:
            raise PeerError(self._why_mute())
        return list(result.results)

    def _conform(self, cases: Sequence[Case], within_s: float | None) -> RunResult:
        """Run cases of this protocol, those that have not ended after some seconds without a verdict."""
        result = self._run_cases_of(self._part, cases, self._note_sent, within_s, on_greeting=self._note_greeting)
        for each in result.results:
            self._first_reply.note(each)
        if self._first_reply.has_come:
            self.cases_at_once = self.batch if self._case_jobs > 1 and self._pacer is None else CASES
        return result

    def _why_mute(self) -> str:
        """Return why a server has answered nothing so far: it is gone, or it is mute."""
        seconds = self._first_reply.seconds
        if self._process is not None and self._process.last_death:
            many = "once" if self._process.restarts == 1 else f"{self._process.restarts} times"
            return f"{self._process.last_death}, was started again {many}, and answered no message in {seconds:.1f} s"
        if self._process is None and (why := why_unreachable(self.address)):
            return f"{self.name} accepts no more connections: {why}"
        why = f"answers no message in {seconds:.1f} s; it hangs, or uses another protocol"
        return f"{self.name} accepts connections, and {why}"

    def _check_protocol(self) -> None:
        """OtherProtocol where the server uses another one; once, and before its failures count as findings."""
        if self._may_be_other and self.stopped_by is None:
            self._may_be_other = False
            with suppress(PeerError):  # a server that is gone by now is reported by the caller
                self._first_reply.note_others()
                check_protocol(
                    self._part,
                    self.name,
                    lambda part, cases: self._run_cases_of(part, cases, lambda result: None).results,
                    greet=None if self._first_reply.has_come else self._answers_greeting,
                )

    def _answers_greeting(self, part: Conformance) -> bool:
        """Return whether the server answers the greeting of another protocol, within a short time."""
        greeted: list[CaseResult] = []
        self._run_cases_of(part, (), lambda result: None, on_greeting=greeted.append, patience_s=OTHER_GREETING_S)
        return any(map(has_answer, greeted))

    def _run_cases_of(
        self,
        part: Conformance,
        cases: Sequence[Case],
        on_result: Callable[[CaseResult], None],
        within_s: float | None = None,
        *,
        on_greeting: Callable[[CaseResult], None] = lambda result: None,
        patience_s: float | None = None,
    ) -> RunResult:
        """Run cases of this protocol, or of another one; None as `within_s` for all of them."""
        if self._pacer is not None:
            self._pacer.wait(self._sessions_of(cases))
        options = TargetOptions(
            self._addresses,
            token="".join(self._rng.choice(_TOKEN_DIGITS) for _ in range(6)),
            patience_s=patience_s or self._patience.reply_ns / NS_PER_S,
            deadline_s=lambda: within_s,
            process=self._process,
            jobs=self._case_jobs,
            on_result=on_result,
            on_greeting=on_greeting,
        )
        result = run_on_target(part, cases, options)
        self.stopped_by = self.stopped_by or result.stopped_by
        return result

    def _sessions_of(self, cases: Sequence[Case]) -> int:
        """Return how many sessions cases take at most: their own, probes of the setup, a greeting before and after."""
        return len(cases) + len({name for case in cases for name in self._part.required_probes(case)}) + 2

    def _note_sent(self, result: CaseResult) -> None:
        sent = [each.name for each in result.events if each.side == "client" and each.fields is not None]
        self.last_message = sent[-1] if sent else self.last_message

    def _note_greeting(self, result: CaseResult) -> None:
        self._note_sent(result)
        self._first_reply.note_greeting(result, self.last_message)

    def _has_endpoints(self, case: Case) -> bool:
        known = {*self._addresses, *self._main_endpoints()}
        return all(step.endpoint in known for step in case.steps if isinstance(step, Connect))

    def record(self, sequence: FuzzSequence, recording: Recording) -> None:
        self._run([sequence], 1, recording)

    def history(self, sequence: FuzzSequence) -> tuple[FuzzSequence, ...]:
        """Return the last sequences; once the server is gone, those of which it got messages together with the last."""
        if not self.why_gone:
            return tuple(self._history)
        protocol = self._protocol_in(sequence.setup)
        return tuple(each for each in self._last_sent if self._protocol_in(each.setup) is protocol)


@contextmanager
def open_target(
    session: FuzzSession,
    addresses: Mapping[str, Address] | None,
    *,
    command: str | None = None,
    mutant: str | None = None,
    patience_s: float,
    jobs: int,
    pacer: Pacer | None = None,
    on_left: Callable[[str], None] = lambda text: None,
    on_notice: Callable[[str], None] = lambda text: None,
) -> Iterator[SocketTarget]:
    """Yield a server at addresses as a target: one that a command starts, or one that runs.

    Without addresses it is the built-in mock in a process of its own. On another machine, everything that is sent
    keeps the limits of `pacer`, or of one of its own. PeerError where a server does not start or cannot be reached.
    """
    is_mock = addresses is None
    places = {"": free_address()} if addresses is None else addresses
    if not is_mock and not command:
        check_reachable(places.values())
    is_remote = any(not is_loopback(address.host) for address in places.values())
    words = mock_command(session, places, mutant) if is_mock else command
    with ExitStack() as stack:
        process = None
        if words:
            process = stack.enter_context(
                ServerProcess(words, list(places.values()), on_left=on_left, is_quiet=is_mock)
            )
        yield SocketTarget(
            session.part,
            session.protocol_in,
            places,
            patience_s=patience_s,
            jobs=jobs,
            process=process,
            is_mock=is_mock and not mutant,
            reference=session.reference(),
            slow=session.oracles.slow,
            name=f"built-in mock at {places['']}" if is_mock else "",
            pacer=(pacer or Pacer()) if is_remote else None,
            may_be_other=not is_mock,
            on_notice=on_notice,
        )


def mock_command(session: FuzzSession, addresses: Mapping[str, Address], mutant: str | None) -> str:
    """Return the command that serves the built-in mock at an address."""
    part, main = session.part, str(addresses[""])
    words = [sys.executable, "-m", "wiretool", "serve", part.server, "--seed", str(session.seed)]
    if part.endpoint:  # the protocol is that of another endpoint than the main one of the server
        words += ["--listen", str(free_address()), f"--{part.endpoint}", main]
    else:
        words += ["--listen", main]
    return shlex.join([*words, "--mutant", mutant] if mutant else words)
