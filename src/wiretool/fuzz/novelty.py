"""Feedback without instrumentation: combinations of phase, message, mutated field and reply."""

from wiretool.fuzz.oracles import message_at, region_at_step
from wiretool.fuzz.sequences.run import Outcome
from wiretool.protocols.base.exchanges import Exchanges
from wiretool.records import Record

#: Replies whose failures are kept.
FAILURES_MAX = 4_096
Feature = tuple[str, str, str, str]


class Novelty:
    """Knows the features of all runs so far."""

    def __init__(self, exchanges: Exchanges) -> None:
        self.exchanges = exchanges
        self.features: set[Feature] = set()
        #: Phases of sessions that were reached.
        self.phases: set[str] = set()
        #: Failures by the identity of the fields, which are kept with them: equal replies often share them.
        self._failures: dict[int, tuple[object, str | None]] = {}

    def note(self, outcome: Outcome) -> int:
        """Add the features of a run; return how many of them are new."""
        before = len(self.features)
        for exchanged in outcome.exchanged:
            record = exchanged.received.record
            reply = self._failure(record) or record.message
            message = region = ""
            if exchanged.step is not None:
                message = message_at(outcome.sequence, exchanged.step)
                region = region_at_step(outcome.sequence, exchanged.step)
            self.features.add((exchanged.phase, message, region, reply))
            self.phases.add(exchanged.phase)
        for connection in outcome.connections:
            if connection.ended in ("closed", "reset"):
                step = outcome.last_step
                ends = connection.phase, message_at(outcome.sequence, step), region_at_step(outcome.sequence, step)
                self.features.add((*ends, connection.ended))
        return len(self.features) - before

    def _failure(self, record: Record) -> str | None:
        fields = record.fields
        if not isinstance(fields, dict):
            return self.exchanges.failure(record.message, fields)
        found = self._failures.get(id(fields))
        if found is None:
            if len(self._failures) >= FAILURES_MAX:
                self._failures.clear()
            found = self._failures[id(fields)] = fields, self.exchanges.failure(record.message, fields)
        return found[1]
