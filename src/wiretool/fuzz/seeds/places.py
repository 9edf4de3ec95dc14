"""Places of the messages in seeds, with the answers of the server: the base of systematic mutations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wiretool.fuzz.sequences.run import Outcome
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.protocols.base.exchanges import Exchanges


class Place(NamedTuple):
    """A message in a seed."""

    sequence: FuzzSequence
    #: The index of its step.
    at: int
    #: The last message of the server before its reply, or before it where it has none.
    phase: str = ""
    #: Whether the reply is an error.
    is_refused: bool = False
    #: Whether it has no reply until later messages were sent, or none at all.
    is_late: bool = False

    @property
    def sending(self) -> Sending:
        """The step."""
        step = self.sequence.steps[self.at]
        assert isinstance(step, Sending)
        return step

    @property
    def cost(self) -> tuple[bool, bool, int]:
        """The order in which places are preferred: accepted, with messages after it, in short sessions."""
        return self.is_refused, self.at == len(self.sequence.steps) - 1, len(self.sequence.steps)


@dataclass(slots=True)
class SeedPlaces:
    """The replies to the messages of seeds."""

    exchanges: Exchanges | None = None
    #: The phase, and whether the reply is a refusal or late, by seed and step.
    _replies: dict[tuple[int, int], tuple[str, bool, bool]] = field(default_factory=dict)

    def note(self, seed: FuzzSequence, outcome: Outcome) -> None:
        """Note the replies of a run of a seed."""
        assert self.exchanges is not None
        late = {*outcome.deferred, *(each.step for each in outcome.unanswered)}
        answers = {each.step: each for each in outcome.exchanged if each.step is not None}
        last = ""
        for step in range(len(seed.steps)):
            answer = answers.get(step)
            if answer is None:
                self._replies[id(seed), step] = last, False, step in late
                continue
            record = answer.received.record
            is_refused = bool(self.exchanges.failure(record.message, record.fields))
            self._replies[id(seed), step] = answer.phase, is_refused, step in late
            last = record.message

    def by_kind(self, seeds: Sequence[FuzzSequence]) -> Mapping[tuple[str, int], list[Place]]:
        """Return the places of each kind of message, the preferred ones first; bytes count as a kind by their number.

        The seeds must be the very objects that ran.
        """
        found: dict[tuple[str, int], list[Place]] = {}
        for seed in seeds:
            for at, step in enumerate(seed.steps):
                if isinstance(step, Sending) and step.data:
                    kind = (step.message, 0) if step.message else ("", len(step.data))
                    reply = self._replies.get((id(seed), at), ("", False, False))
                    found.setdefault(kind, []).append(Place(seed, at, *reply))
        return {kind: sorted(places, key=lambda place: place.cost) for kind, places in found.items()}
