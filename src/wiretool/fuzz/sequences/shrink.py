"""Makes a failing sequence as small as possible: fewer steps, fewer edits, shorter bytes, same bucket."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from wiretool.errors import EncodeError
from wiretool.fuzz.sequences.rewriting import Rewriter
from wiretool.fuzz.sequences.sequence import Edit, FuzzSequence, Sending, Splice, Step
from wiretool.protocols.base.protocol import Protocol

#: Runs, and seconds, that the shrinking of one sequence may take.
TRIES_MAX, SECONDS_MAX = 400, 20.0

#: Returns whether a sequence still shows the finding.
Fails = Callable[[FuzzSequence], bool]


class Shrinker:
    """Shrinks one sequence. `fails` runs it on a fresh target."""

    def __init__(self, fails: Fails, protocol: Protocol, rewriter: Rewriter, *, tries: int = TRIES_MAX) -> None:
        self._fails = fails
        self._protocol = protocol
        self._rewriter = rewriter
        self.tries_left = tries
        self._give_up_s = time.monotonic() + SECONDS_MAX

    def shrink(self, sequence: FuzzSequence) -> FuzzSequence:
        """Return the smallest sequence that was found."""
        before = None
        while before != sequence and self.tries_left > 0:
            before = sequence
            sequence = self._without_connections(sequence)
            sequence = self._without_steps(sequence)
            sequence = self._without_edits(sequence)
            sequence = self._with_shorter_bytes(sequence)
        return sequence

    def _is_failing(self, sequence: FuzzSequence) -> bool:
        if self.tries_left <= 0 or time.monotonic() > self._give_up_s:
            return False
        self.tries_left -= 1
        return self._fails(sequence)

    def _without_connections(self, sequence: FuzzSequence) -> FuzzSequence:
        """Remove all steps of several connections at once, then those of single ones."""
        labels = list(dict.fromkeys(step.connection for step in sequence.steps))
        size = len(labels) // 2
        while size >= 1:
            at = 0
            while at < len(labels):
                gone = frozenset(labels[at : at + size])
                steps = tuple(step for step in sequence.steps if step.connection not in gone)
                smaller = replace(sequence, steps=steps)
                if smaller.sendings and self._is_failing(smaller):
                    sequence = smaller
                    del labels[at : at + size]
                else:
                    at += size
            size //= 2
        return sequence

    def _without_steps(self, sequence: FuzzSequence) -> FuzzSequence:
        """Remove several steps at once, then single ones."""
        size = max(1, len(sequence.steps) // 2)
        while size >= 1:
            at = 0
            while at < len(sequence.steps):
                steps = (*sequence.steps[:at], *sequence.steps[at + size :])
                smaller = replace(sequence, steps=steps)
                if smaller.sendings and self._is_failing(smaller):
                    sequence = smaller
                else:
                    at += size
            size //= 2
        return sequence

    def _without_edits(self, sequence: FuzzSequence) -> FuzzSequence:
        """Send messages as they were recorded."""
        for at, step in enumerate(sequence.steps):
            if not isinstance(step, Sending) or not step.edits:
                continue
            for edits in fewer(step.edits):
                simpler = self._edited(step, edits)
                if simpler is not None and self._is_failing(smaller := _with_step(sequence, at, simpler)):
                    sequence = smaller
                    break
        return sequence

    def _edited(self, step: Sending, edits: tuple[Edit, ...]) -> Sending | None:
        if step.record is None:
            return None
        try:
            data = self._rewriter.encode(step.record, edits, self._protocol.open(True))
        except EncodeError:
            return None
        changes = step.changes if edits else ()
        return replace(step, data=data, edits=edits, changes=changes)

    def _with_shorter_bytes(self, sequence: FuzzSequence) -> FuzzSequence:
        """Halve long insertions, and bytes that are not a message."""
        for at, step in enumerate(sequence.steps):
            if not isinstance(step, Sending):
                continue
            for smaller in self._shorter(step):
                if self._is_failing(candidate := _with_step(sequence, at, smaller)):
                    sequence = candidate
                    break
        return sequence

    def _shorter(self, step: Sending) -> Iterator[Sending]:
        for index, edit in enumerate(step.edits):
            if isinstance(edit, Splice) and len(edit.inserted) > 8:
                half = edit._replace(inserted=edit.inserted[: len(edit.inserted) // 2])
                made = self._edited(step, (*step.edits[:index], half, *step.edits[index + 1 :]))
                if made is not None:
                    yield made
        if step.record is None and len(step.data) > 1:
            half_size = len(step.data) // 2
            yield replace(step, data=step.data[:half_size])
            yield replace(step, data=step.data[half_size:])


def fewer(edits: Sequence[Edit]) -> Iterator[tuple[Edit, ...]]:
    """Yield no edits, and all edits but one."""
    yield ()
    if len(edits) > 1:
        for at in range(len(edits)):
            yield (*edits[:at], *edits[at + 1 :])


def _with_step(sequence: FuzzSequence, at: int, step: Step) -> FuzzSequence:
    return replace(sequence, steps=(*sequence.steps[:at], step, *sequence.steps[at + 1 :]))
