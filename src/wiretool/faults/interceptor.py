"""Stands between two byte streams and does to their frames what rules say.

It knows no socket and no clock. Whoever runs it tells it what each side sent and when, and carries out the effects it
gets back, in their order. The same seed, rules and bytes at the same times give the same effects.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from wiretool import limits
from wiretool.codec.message import SIDES, Side
from wiretool.errors import UsageError
from wiretool.faults.actions import Keep
from wiretool.faults.adapter import fault_adapter_of
from wiretool.faults.effects import Cut as Cut
from wiretool.faults.effects import Deliver as Deliver
from wiretool.faults.effects import Effect as Effect
from wiretool.faults.effects import Finish as Finish
from wiretool.faults.effects import Misdeed as Misdeed
from wiretool.faults.lane import Kept
from wiretool.faults.line import Line
from wiretool.faults.live import LiveWatch
from wiretool.faults.rule import Rule
from wiretool.faults.standing import Standing
from wiretool.filter.history import History
from wiretool.memory_budget import MemoryBudget
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record


class Interceptor:
    """The connections that pass, and the rules in force.

    `on_record` gets every record as in decode, of the bytes as they came. `on_note` gets sentences for the log: a rule
    that could not act, bytes that are not understood. `on_hit` is called when a rule has acted. A connection opened
    while there is neither a rule for it nor an observer is not watched, at no cost: rules added later do not see it,
    unless `is_watching`. With `is_relay` the server is another's, which nobody tells how to keep anything.
    """

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        seed: int,
        on_record: Callable[[Record], None] | None = None,
        on_note: Callable[[str], None] | None = None,
        on_hit: Callable[[Standing], None] | None = None,
        is_watching: bool = False,
        is_relay: bool = False,
    ) -> None:
        self._seed = seed
        self._on_record = on_record
        self._on_note = on_note
        self._on_hit = on_hit
        self._is_watching = is_watching or on_record is not None
        self._is_relay = is_relay
        self._history = History()
        self._lines: dict[int, Line] = {}
        #: What these hold of unfinished frames, in bytes.
        self._unfinished: MemoryBudget[int] = MemoryBudget(limits.UNFINISHED_BYTES_MAX)
        #: When something is due in those in which anything waits for its time.
        self._wakes: dict[int, int] = {}
        self._standings: dict[int, Standing] = {}
        self._ids = itertools.count(1)
        self._record_numbers = itertools.count(1)
        #: Messages seen on watched connections, by who sent them and name.
        self.counts: Mapping[Side, Counter[str]] = {"client": Counter(), "server": Counter()}
        for rule in rules:
            self.add(rule)

    # -- rules ---------------------------------------------------------------------------------------------------------

    @property
    def rules(self) -> Mapping[int, Rule]:
        """The rules in force, by id."""
        return {number: standing.rule for number, standing in self._standings.items()}

    @property
    def hits(self) -> Mapping[int, int]:
        """How often each rule in force has acted."""
        return {number: standing.hits for number, standing in self._standings.items()}

    @property
    def standings(self) -> Mapping[int, Standing]:
        """All there is to know of each rule in force: when it acted last, how often it could not, and why."""
        return self._standings

    def add(self, rule: Rule) -> int:
        """Put a rule in force, behind all others, from the next frame on; its id. UsageError where nobody can obey."""
        if self._is_relay and isinstance(rule.action, Keep):
            raise UsageError(
                f"{rule.origin} {rule.text!r}: not allowed with a real server; `keep` requires a mock (wiretool serve)"
            )
        number = next(self._ids)
        self._standings[number] = Standing(number, rule, self._history, self._seed)
        self._tell_rules()
        return number

    def remove(self, number: int) -> None:
        """The rule acts no more, and what it has stalled may go on: `wake_ns` says so. UsageError: there is none."""
        if number not in self._standings:
            raise UsageError(f"no rule has the id {number}")
        del self._standings[number]
        for line in self._lines.values():
            for direction in line.directions.values():
                direction.lane.lift(number)
            self._note_wake(line)
        self._tell_rules()

    def _tell_rules(self) -> None:
        standings = list(self._standings.values())
        for line in self._lines.values():
            line.obey(standings)

    # -- what happened -------------------------------------------------------------------------------------------------

    def opened(self, connection: int, protocol: Protocol, client: str, server: str, now_ns: int) -> None:
        """A connection has begun, on which this protocol is spoken; its number is never used again."""
        assert connection not in self._lines, f"connection {connection} is open"
        standings = list(self._standings.values())
        is_watched = self._is_watching or any(
            (protocol.name, side) in each.rule.sides for each in standings for side in SIDES
        )
        watch = LiveWatch(connection, protocol, client, server, now_ns, self._next_record) if is_watched else None
        rng = random.Random(f"{self._seed}/connection/{connection}")
        line = Line(
            connection, fault_adapter_of(protocol), watch, rng, self._tell, self._noter(connection), self._has_hit
        )
        line.obey(standings)
        self._lines[connection] = line

    def feed(self, connection: int, side: Side, data: bytes, now_ns: int) -> list[Effect]:
        """A side has sent bytes, cut anywhere. Of a connection that is cut they are ignored."""
        line = self._lines.get(connection)
        if line is None or not data:
            return []
        if line.watch is None and line.directions[side].lane.is_free:
            return [Deliver(connection, side, data)]
        effects = self._due(line, now_ns)
        if connection in self._lines:
            line.feed(side, data, now_ns)
            effects += self._due(line, now_ns)
            effects += self._discard_unfinished(line, now_ns)
        return effects

    def _discard_unfinished(self, line: Line, now_ns: int) -> list[Effect]:
        """Count what a connection holds, and return the effects where the largest holders pass theirs on."""
        self._note_unfinished(line)
        effects: list[Effect] = []
        for number in self._unfinished.excess():
            largest = self._lines[number]
            largest.discard_unfinished(now_ns)
            effects += self._due(largest, now_ns)
            self._note_unfinished(largest)
        return effects

    def _note_unfinished(self, line: Line) -> None:
        self._unfinished.note(line.number, line.unfinished_cost() if line.number in self._lines else 0)

    def end(self, connection: int, side: Side, now_ns: int) -> list[Effect]:
        """A side has sent its last byte (FIN)."""
        line = self._lines.get(connection)
        if line is None:
            return []
        effects = self._due(line, now_ns)
        if connection in self._lines:
            line.end(side, now_ns)
            effects += self._due(line, now_ns)
            self._note_unfinished(line)
        return effects

    def lost(self, connection: int) -> None:
        """A connection is gone: whatever waits of it is dropped."""
        self._lines.pop(connection, None)
        self._unfinished.note(connection, 0)
        self._wakes.pop(connection, None)

    @property
    def wake_ns(self) -> int | None:
        """When `woken` wants to be called next."""
        return min(self._wakes.values(), default=None)

    def woken(self, now_ns: int) -> list[Effect]:
        """It is `wake_ns` or later: what was to be done by now."""
        due = [number for number, wake_ns in self._wakes.items() if wake_ns <= now_ns]
        return [effect for number in due for effect in self._due(self._lines[number], now_ns)]

    def is_full(self, connection: int, side: Side) -> bool:
        """Whether so much of that side waits that it should be read no further."""
        line = self._lines.get(connection)
        return line is not None and line.directions[side].lane.held > limits.FAULT_HELD_BYTES

    # -- what is to be done --------------------------------------------------------------------------------------------

    def _due(self, line: Line, now_ns: int) -> list[Effect]:
        """All that is due in a connection, in the order in which it became due."""
        effects: list[Effect] = []
        while (wake_ns := _wake_ns(line)) is not None and wake_ns <= now_ns:
            for side in SIDES:
                for item in line.directions[side].lane.take(wake_ns):
                    if isinstance(item, bytes):
                        effects.append(Deliver(line.number, side, item))
                    elif isinstance(item, Kept):
                        effects.append(Misdeed(line.number, item.how))
                    elif item == "finish":
                        effects.append(Finish(line.number, side))
                    else:
                        return self._cut(line, effects, is_abort=item == "reset")
        lanes = [direction.lane for direction in line.directions.values()]
        if any(lane.held > limits.FAULT_HELD_BYTES_MAX for lane in lanes):
            self._noter(line.number)(f"more than {limits.FAULT_HELD_BYTES_MAX} bytes are pending: connection closed")
            return self._cut(line, effects, is_abort=True)
        self._note_wake(line)
        return effects

    def _note_wake(self, line: Line) -> None:
        wake_ns = _wake_ns(line)
        if wake_ns is None:
            self._wakes.pop(line.number, None)
        else:
            self._wakes[line.number] = wake_ns

    def _cut(self, line: Line, effects: list[Effect], *, is_abort: bool) -> list[Effect]:
        self.lost(line.number)
        return [*effects, Cut(line.number, is_abort)]

    # -- who looks on --------------------------------------------------------------------------------------------------

    def _next_record(self) -> int:
        return next(self._record_numbers)

    def _tell(self, record: Record) -> None:
        self._history.note(record)
        if record.kind == "frame":
            self.counts[record.side][record.message] += 1
        if self._on_record is not None:
            self._on_record(record)

    def _noter(self, connection: int) -> Callable[[str], None]:
        def note(text: str) -> None:
            if self._on_note is not None:
                self._on_note(f"connection {connection}: {text}")

        return note

    def _has_hit(self, standing: Standing) -> None:
        if self._on_hit is not None:
            self._on_hit(standing)


def _wake_ns(line: Line) -> int | None:
    """When something in the connection is due."""
    times = [direction.lane.wake_ns for direction in line.directions.values()]
    return min((time for time in times if time is not None), default=None)
