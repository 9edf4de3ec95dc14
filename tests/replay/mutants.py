"""A stage on which a server says one value of one reply otherwise: any value of any reply of any protocol."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.replay.rewriting import RewritingStage
from wiretool.analysis.dialogues import Recording
from wiretool.errors import EncodeError
from wiretool.faults.actions import Change
from wiretool.faults.places import Pattern
from wiretool.records import Record
from wiretool.replay.adapters import manners
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.mocks import mocks_for
from wiretool.replay.playing.connection import Line
from wiretool.replay.playing.player import Player
from wiretool.replay.script import script_of
from wiretool.server.mock import Mock
from wiretool.server.options import MockOptions


class Spot(NamedTuple):
    """A field of a reply; None stands for any element of a list."""

    protocol: str
    message: str
    pattern: Pattern


@dataclass
class Mutated:
    """What came of a replay in which a spot was changed, if it could be."""

    outcomes: list[Outcome]
    #: How often each spot was said.
    said: Counter[Spot] = field(default_factory=Counter)
    was: Any = None
    now: Any = None
    is_done: bool = False

    @property
    def findings(self) -> list[Outcome]:
        return [each for each in self.outcomes if each.verdict.is_finding]


def mutated(recording: Recording, spot: Spot | None = None, nth: int = 0) -> Mutated:
    """Replay to fresh mocks; the `nth` time, from 0, that the spot is said, with another value there."""
    known = manners()
    script = script_of(recording, known)
    spoken = {dialogue.protocol for dialogue in script.dialogues}
    mocks = mocks_for(recording, {name: known[name] for name in spoken}, MockOptions())
    player = Player(script, known, prepare=recording)
    stage = _Mutating(player, mocks, spot, nth)
    stage.play()
    stage.result.outcomes = player.outcomes()
    return stage.result


class _Mutating(RewritingStage):
    """Changes one value."""

    def __init__(self, player: Player, mocks: Mapping[str, Mock], spot: Spot | None, nth: int) -> None:
        super().__init__(player, mocks)
        self.result = Mutated([])
        self._spot, self._nth = spot, nth

    def rewrite(self, record: Record, line: Line) -> bytes:
        dialect = line.manner.dialect
        if record.kind != "frame" or dialect.why_fixed("server", record.raw):
            return record.raw
        form = dialect.form(record)
        for pattern, steps, value in _leaves(form):
            spot = Spot(line.manner.protocol.name, record.message, pattern)
            at, self.result.said[spot] = self.result.said[spot], self.result.said[spot] + 1
            if (spot, at) != (self._spot, self._nth):
                continue
            for other in _others(value):
                try:
                    raw = dialect.frame(
                        record,
                        dialect.changed(form, [Change(steps, other)]),
                        record.raw,
                        self.watch(record.connection).conversation,
                        random.Random(1),
                    )
                except EncodeError:
                    continue
                if raw != record.raw:
                    self.result.was, self.result.now, self.result.is_done = value, other, True
                    return raw
        return record.raw


def _leaves(form: Any) -> Iterator[tuple[Pattern, tuple[str | int, ...], Any]]:
    """Every value in a form, of equal patterns the first."""
    seen: set[Pattern] = set()
    for steps, value in _values(form, ()):
        pattern = tuple(None if isinstance(step, int) else step for step in steps)
        if pattern not in seen:
            seen.add(pattern)
            yield pattern, steps, value


def _values(form: Any, steps: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(form, Mapping):
        for name, value in form.items():
            yield from _values(value, (*steps, name))
    elif isinstance(form, list | tuple):
        yield steps, form
        for at, value in enumerate(form):
            yield from _values(value, (*steps, at))
    else:
        yield steps, form


def _others(value: Any) -> Iterator[Any]:
    """Other values, the likeliest to be one that may stand there first."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        yield from (value[:-1] + other for other in ("01" if value else ""))
        yield value + "x"
    elif isinstance(value, list | tuple) and value:
        yield list(value[:-1])
