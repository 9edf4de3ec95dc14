"""Oracles: signs of bugs of a client in one run."""

from collections.abc import Iterator
from dataclasses import dataclass

from wiretool.fuzz.client.clean_runs import CleanRuns
from wiretool.fuzz.client.client_run import ClientOutcome
from wiretool.fuzz.client.crash_kinds import crash_in, fatal_signal
from wiretool.fuzz.client.reply_fault import ReplyFault
from wiretool.fuzz.oracles import CRASH, MEMORY, SILENT, UNDECODABLE, Bucket, Suspicion, kind_of


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
        if code is None or code in self.clean.exit_codes:
            return
        signal_name, error = fatal_signal(code), crash_in(outcome.output)
        if signal_name:
            about = f"{signal_name}, {error}" if error else signal_name
            bucket = Bucket(CRASH, "", *(("", "") if error else _place(fault)), about)
            yield Suspicion(bucket, f"the client ended by {about} after {_described(fault)}", 0)
        elif error:
            why = f"the client ended with exit code {code} after {_described(fault)}: {error}; {outcome.last_line}"
            yield Suspicion(Bucket(CRASH, "", "", "", error), why, 0)

    def _silent(self, outcome: ClientOutcome, fault: ReplyFault) -> Iterator[Suspicion]:
        log = outcome.log
        if outcome.exit_code is not None or not (log.is_legal or log.open_when_late == 0):
            return
        state = "its connections are closed" if log.open_when_late == 0 else "every message that arrived is legal"
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
