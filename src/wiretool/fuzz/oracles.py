"""Oracles: signs of bugs of the server in the outcome of a run."""

import re
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wiretool.fuzz.sequences.run import Exchanged, Outcome
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.fuzz.targets.memory import STALL_S, MockStalls

#: Names of oracles, as reports use them.
DIED, SILENT, UNDECODABLE, WRONG_ANSWER, SLOW = "died", "silent", "undecodable", "wrong-answer", "slow"
UNHEALTHY, MEMORY, CRASH, DIFFERS = "unhealthy", "memory", "crash", "differs"
#: The reply of a bucket of SILENT: the code of the server did not return.
STALL = "stall"
#: The name of bytes that are not a message, in the place of its name.
BYTES = "(bytes)"
#: A call is slow from here on: seconds, and seconds for each byte that was sent.
SLOW_S, SLOW_S_PER_BYTE = 0.5, 2e-6
#: Memory that a server may keep of a run, and take at one time in it: bytes, and bytes for each byte of traffic.
GROWN_BYTES, PEAK_BYTES, BYTES_PER_BYTE = 160 * 1024, 32 * 1024 * 1024, 96
_DIGITS = re.compile(r"0x[0-9a-f]+|\d+")


class Bucket(NamedTuple):
    """Findings in one bucket count as one."""

    oracle: str
    #: The last message of the server before the request.
    phase: str = ""
    #: The request.
    message: str = ""
    #: The field that was mutated.
    region: str = ""
    #: The reply, or the problem with it.
    reply: str = ""

    def __str__(self) -> str:
        return " | ".join(self)

    @classmethod
    def from_form(cls, form: Sequence[object]) -> "Bucket":
        """Return a bucket of a file, as it is written today: earlier versions began some replies with a colon."""
        bucket = cls(*map(str, form))
        return bucket._replace(reply=bucket.reply.removeprefix(": "))


class Suspicion(NamedTuple):
    """A sign of a bug in one run."""

    bucket: Bucket
    #: One sentence: the actual and the expected reply.
    why: str
    #: The index of the step.
    step: int
    #: The id of the conformance case that fails; empty for other signs.
    case: str = ""


@dataclass(slots=True)
class Oracles:
    """Judges outcomes. Problems that the clean seeds show on the reference server are allowed."""

    allowed: set[tuple[str, str]] = field(default_factory=set)
    #: Requests that the cases leave without a reply, by name and phase.
    may_be_silent: set[tuple[str, str]] = field(default_factory=set)
    #: Names of requests that the reference server answered late, or not at all.
    slow: set[str] = field(default_factory=set)
    #: Problems that real servers show, by the name of the reply: the beginnings of their texts.
    real: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Compares the answers with those of the reference server; None where they are not compared.
    compare: Callable[[Outcome], list[Suspicion]] | None = None

    def allow(self, outcome: Outcome) -> None:
        """Allow the problems of a run of the reference server."""
        for exchanged in outcome.exchanged:
            received = exchanged.received
            for text in (*received.problems, *received.violations):
                self.allowed.add((received.record.message, kind_of(text)))
        for each in outcome.unanswered:
            self.may_be_silent.add((each.request.message, each.connection.phase))
        for step in (*outcome.deferred, *(each.step for each in outcome.unanswered)):
            self.slow.add(message_at(outcome.sequence, step))

    def allow_all(self, other: "Oracles") -> None:
        """Allow all that others allow, except `real`."""
        self.allowed |= other.allowed
        self.may_be_silent |= other.may_be_silent
        self.slow |= other.slow

    def judge(self, outcome: Outcome) -> list[Suspicion]:
        """Return the signs of bugs in an outcome, the gravest first."""
        found = [
            *self._died(outcome),
            *self._anomalies(outcome),
            *self._answers(outcome),
            *self._silent(outcome),
            *self._costs(outcome),
        ]
        return found if self.compare is None else [*found, *self.compare(outcome)]

    def _died(self, outcome: Outcome) -> Iterator[Suspicion]:
        error = outcome.error
        if error is None:
            return
        step = outcome.last_step
        message = message_at(outcome.sequence, step)
        if isinstance(error, MockStalls):
            yield Suspicion(Bucket(SILENT, "", message, "", STALL), f"the server is busy for {STALL_S:g} s", step)
            return
        if not error.__traceback__:
            yield Suspicion(Bucket(DIED, "", message, "", kind_of(str(error))), str(error), step)
            return
        where = place_of(error)
        why = f"the server raised {type(error).__name__} at {where}: {error}"
        yield Suspicion(Bucket(DIED, "", "", "", f"{type(error).__name__} at {where}"), why, step)

    def _anomalies(self, outcome: Outcome) -> Iterator[Suspicion]:
        for anomaly in outcome.anomalies:
            why = f"{anomaly.place}: {anomaly.why}"
            yield Suspicion(Bucket(anomaly.name, reply=kind_of(anomaly.why)), why, outcome.last_step)

    def _answers(self, outcome: Outcome) -> Iterator[Suspicion]:
        for exchanged in outcome.exchanged:
            received = exchanged.received
            if not received.problems and not received.violations:
                continue
            for oracle, texts in ((UNDECODABLE, received.problems), (WRONG_ANSWER, received.violations)):
                yield from self._problems(oracle, texts, exchanged, outcome)

    def _problems(
        self, oracle: str, texts: Sequence[str], exchanged: Exchanged, outcome: Outcome
    ) -> Iterator[Suspicion]:
        reply = exchanged.received.record.message
        for text in texts:
            kind = kind_of(text)
            if (reply, kind) in self.allowed or kind.startswith(self.real.get(reply, ())):
                continue
            step = outcome.last_step if exchanged.step is None else exchanged.step
            name = f"{reply}: " if reply else ""  # bytes that are not a message have none
            bucket = Bucket(oracle, "", message_at(outcome.sequence, step), "", f"{name}{kind}")
            yield Suspicion(bucket, f"{name}{text}", step)

    def _silent(self, outcome: Outcome) -> Iterator[Suspicion]:
        for each in outcome.unanswered:
            message, phase = each.request.message, each.connection.phase
            if (message, phase) in self.may_be_silent:
                continue
            bucket = Bucket(SILENT, phase, message, region_at_step(outcome.sequence, each.step), "")
            yield Suspicion(bucket, f"{message} got no reply in time; the connection is open", each.step)

    def _costs(self, outcome: Outcome) -> Iterator[Suspicion]:
        sent = outcome.sequence.size_bytes
        if outcome.slowest_s > SLOW_S + SLOW_S_PER_BYTE * sent:
            step = outcome.slowest_step
            bucket = Bucket(SLOW, "", message_at(outcome.sequence, step), region_at_step(outcome.sequence, step))
            yield Suspicion(bucket, f"one message kept the server busy for {outcome.slowest_s:.1f} s", step)
        for kind, taken, most in (
            ("keeps", outcome.grown_bytes, GROWN_BYTES),
            ("takes", outcome.peak_bytes, PEAK_BYTES),
        ):
            if taken <= most:
                continue
            traffic = sent + sum(exchanged.received.record.length for exchanged in outcome.exchanged)
            if taken > most + BYTES_PER_BYTE * traffic:
                why = f"the server {kind} {taken / 1e6:,.1f} MB for {traffic:,} bytes that were sent and received"
                yield Suspicion(Bucket(MEMORY, reply=kind), why, outcome.last_step)


def message_at(sequence: FuzzSequence, step: int) -> str:
    """Return the name of the message at a step, or of the last one before it."""
    for each in reversed(sequence.steps[: step + 1]):
        if isinstance(each, Sending):
            return each.message or BYTES
    return ""


def region_at_step(sequence: FuzzSequence, step: int) -> str:
    """Return the field of the message at a step that was mutated; empty for none."""
    each = sequence.steps[step] if step < len(sequence.steps) else None
    return each.changes[0].region if isinstance(each, Sending) and each.changes else ""


def kind_of(text: str) -> str:
    """Return the text of a problem without its numbers."""
    return _DIGITS.sub("#", text.partition(";")[0])[:200]


def place_of(error: BaseException) -> str:
    """Return the file and line where an exception was raised, without the path."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "an unknown place"
    last = frames[-1]
    return f"{'/'.join(last.filename.replace(chr(92), '/').split('/')[-2:])}:{last.lineno}"


def first_of(suspicions: Sequence[Suspicion], known: Collection[Bucket]) -> list[Suspicion]:
    """Return one suspicion for each bucket that is not known yet."""
    found: dict[Bucket, Suspicion] = {}
    for each in suspicions:
        if each.bucket not in known:
            found.setdefault(each.bucket, each)
    return list(found.values())
