"""Feedback without instrumentation: combinations of phase, message, mutated field and reply."""

from wiretool.fuzz.oracles import message_at, region_at_step
from wiretool.fuzz.sequence_run import Outcome
from wiretool.protocols.exchanges import Exchanges

Feature = tuple[str, str, str, str]


class Novelty:
    """Knows the features of all runs so far."""

    def __init__(self, exchanges: Exchanges) -> None:
        self.exchanges = exchanges
        self.features: set[Feature] = set()
        #: Phases of sessions that were reached.
        self.phases: set[str] = set()

    def note(self, outcome: Outcome) -> int:
        """Add the features of a run; return how many of them are new."""
        before = len(self.features)
        for exchanged in outcome.exchanged:
            record = exchanged.received.record
            reply = self.exchanges.failure(record.message, record.fields) or record.message
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
