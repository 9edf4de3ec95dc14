"""Oracles: signs of bugs of a client in one run."""

from collections.abc import Iterator
from dataclasses import dataclass

from wiretool.fuzz.client.clean_runs import CleanRuns
from wiretool.fuzz.client.client_run import ClientOutcome
from wiretool.fuzz.client.crash_kinds import crash_in, fatal_signal
from wiretool.fuzz.client.reply_fault import ReplyFault
from wiretool.fuzz.oracles import CRASH, MEMORY, SILENT, UNDECODABLE, Bucket, Suspicion, kind_of

#: The share of its time in which a client without a connection must have made none: another one tries again.
QUIET_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class ClientOracles:
    """Judges runs by what the client does without faults."""

    clean: CleanRuns

    def judge(self, outcome: ClientOutcome) -> list[Suspicion]:
        """Return the signs of bugs in a run, the gravest first; none where no fault had an effect."""
        if not outcome.acted or outcome.stopped_by is not None:
            return []
        fault = outcome.acted[0]
        found = [*self._memory(outcome, fault), *self._crash(outcome, fault)]
        return [*found, *([] if found else self._silent(outcome, fault)), *self._undecodable(outcome)]

    def _crash(self, outcome: ClientOutcome, fault: ReplyFault) -> Iterator[Suspicion]:
        code = outcome.exit_code
        crash = crash_in(outcome.output)
        if not code or self.clean.is_usual(code, crash):
            return
        signal_name = fatal_signal(code)
        if signal_name and crash is None:
            bucket = Bucket(CRASH, "", fault.message, "", signal_name)
            yield Suspicion(bucket, f"the client ended by {signal_name} after {_described(fault)}", 0)
        elif crash is not None:
            how = f"by {signal_name}" if signal_name else f"with exit code {code}"
            why = f"the client ended {how} after {_described(fault)}: {crash}"
            yield Suspicion(Bucket(CRASH, "", "", "", crash.error), why, 0)

    def _silent(self, outcome: ClientOutcome, fault: ReplyFault) -> Iterator[Suspicion]:
        log = outcome.log
        is_closed = log.open_when_late == 0 and log.quiet_s >= QUIET_SHARE * outcome.seconds
        if outcome.exit_code is not None or not (log.is_legal or is_closed):
            return
        quiet = f"its connections are closed, and nothing was sent for {log.quiet_s:.0f} s"
        state = quiet if is_closed else "every message that arrived is legal"
        why = f"the client did not end in {outcome.seconds:.0f} s after {_described(fault)}; {state}"
        yield Suspicion(Bucket(SILENT, "", fault.message, "", str(fault.kind)), why, 0)

    def _memory(self, outcome: ClientOutcome, fault: ReplyFault) -> Iterator[Suspicion]:
        if outcome.peak_bytes <= self.clean.setup.memory_max_bytes:
            return
        why = (
            f"the client takes {outcome.peak_bytes / 1e6:,.0f} MB after {_described(fault)};"
            f" {self.clean.peak_bytes / 1e6:,.0f} MB in a clean run"
        )
        yield Suspicion(Bucket(MEMORY, "", *_place(fault), ""), why, 0)

    def _undecodable(self, outcome: ClientOutcome) -> Iterator[Suspicion]:
        for name, text in outcome.log.problems:
            kind = kind_of(text)
            if (name, kind) not in self.clean.problems:
                why = f"the client sent {name or 'bytes'} that do not decode after well-formed messages: {text}"
                yield Suspicion(Bucket(UNDECODABLE, "", name or "(bytes)", "", kind), why, 0)
                return


def _place(fault: ReplyFault) -> tuple[str, str]:
    return fault.message, fault.change.region


def _described(fault: ReplyFault) -> str:
    about = f" of {fault.change.region}" if fault.change.region != fault.message else ""
    return f"{fault.change.mutation}{about} in {fault.message} {fault.nth}"
