"""The oracle `differs`: another answer than the reference server gives to the same bytes.

Answers are compared by their names, and by the names of errors in them; values such as ids and times are not. A server
may differ and still be correct: this oracle is off by default, and graded lower than the others.
"""

from collections.abc import Mapping

from wiretool.fuzz.oracles import DIFFERS, Bucket, Suspicion, message_at, region_at_step
from wiretool.fuzz.sequences.run import Exchanged, Outcome
from wiretool.fuzz.targets.base import Target
from wiretool.protocols.base.exchanges import Exchanges

NO_REPLY, CLOSED = "no reply", "the end of the connection"
#: The part of a bucket for bytes of the client that are not of the protocol.
AFTER_BYTES = "answers after other bytes"


class AnswerComparison:
    """A comparison of the answers in outcomes with those of the reference server."""

    def __init__(self, reference: Target, exchanges: Exchanges) -> None:
        self._reference = reference
        self._exchanges = exchanges

    def judge(self, outcome: Outcome) -> list[Suspicion]:
        """Return the first difference of an outcome, in the order of the steps; empty for none.

        Later differences may follow from the first one. Requests that may wait for data are not compared.
        """
        if outcome.error is not None or not outcome.sequence.sendings:
            return []
        (expected,) = self._reference.run_fresh([outcome.sequence])
        if expected.error is not None:
            return []
        actual_answers, expected_answers = self._answers(outcome), self._answers(expected)
        for step in sorted(actual_answers.keys() | expected_answers.keys()):
            message = message_at(outcome.sequence, step)
            if message in self._exchanges.may_wait:
                continue
            actual, wanted = actual_answers.get(step, NO_REPLY), expected_answers.get(step, NO_REPLY)
            if actual == wanted:
                continue
            if step >= len(outcome.sequence.steps):
                return [_after_bytes(actual, wanted, outcome)]
            bucket = Bucket(DIFFERS, "", message, region_at_step(outcome.sequence, step), f"{actual} | {wanted}")
            return [Suspicion(bucket, f"the answer to {message} is {actual}; the built-in mock gives {wanted}", step)]
        return []

    def _answers(self, outcome: Outcome) -> Mapping[int, str]:
        """Return the first answer to each step that has one; the end of the connection by the server is an answer.

        The answers after bytes that are not of the protocol belong to no step. They are all together under numbers
        after those of the steps, one for each connection.
        """
        found: dict[int, str] = {}
        after_bytes = {id(each): len(outcome.sequence.steps) + at for at, each in enumerate(outcome.connections)}
        for exchanged in outcome.exchanged:
            answer = self._name_of(exchanged)
            if exchanged.step is not None:
                found.setdefault(exchanged.step, answer)
            elif exchanged.connection.is_broken and (number := after_bytes.get(id(exchanged.connection))) is not None:
                found[number] = f"{found[number]}, {answer}" if number in found else answer
        for connection in outcome.connections:
            if connection.ended in ("closed", "reset"):
                for step in connection.open_requests.values():
                    found.setdefault(step, CLOSED)
        return found

    def _name_of(self, exchanged: Exchanged) -> str:
        record = exchanged.received.record
        name = self._exchanges.failure(record.message, record.fields)
        return f"{record.message} ({name})" if name else record.message or "bytes"


def _after_bytes(actual: str, wanted: str, outcome: Outcome) -> Suspicion:
    kind = "more" if wanted == NO_REPLY else "fewer" if actual == NO_REPLY else "other"
    why = f"after bytes that are not of the protocol the answers are {actual}; the built-in mock gives {wanted}"
    return Suspicion(Bucket(DIFFERS, reply=f"{kind} {AFTER_BYTES}"), why, outcome.last_step)
