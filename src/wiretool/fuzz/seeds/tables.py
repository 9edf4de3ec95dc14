"""Seeds from the session table of a protocol: each message that a client may send in each phase, and what may follow.

The messages come from the sessions of the conformance cases, so that their values are valid. A session of a case leads
to the phase; from there on, the table decides which message may be next. The messages of a call stay together, on a
stream of their own; calls that no case makes have the defaults of their declaration.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, zip_longest

import msgspec

from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.mutations.order import endpoint_of
from wiretool.fuzz.part import SessionTable
from wiretool.fuzz.seeds.building import MESSAGES_MAX, Began, Event, Seen, sequence_from
from wiretool.fuzz.seeds.cases import TOKEN
from wiretool.fuzz.sequences.sequence import Connect, FuzzSequence, Sending, Step
from wiretool.fuzz.targets.connection import FuzzConnection
from wiretool.protocols.base.protocol import Protocol

#: The part of names that is a case's own; all have one length, so that names can be exchanged in the bytes.
_NAME = re.compile(rb"%s[0-9a-z]{2}" % TOKEN.encode())
#: Messages after the one that a sequence is about, and the share of those that its own session has.
FURTHER_MIN, FURTHER_MAX, OWN_SHARE = 2, 8, 0.6
#: Phases of one message in which it is tried, each in so many sessions.
SESSIONS_PER_TRANSITION = 2
#: A message, or all those of a call; the last one has its name.
Unit = tuple[Sending, ...]


def table_sequences(
    table: SessionTable, seeds: Sequence[FuzzSequence], protocol: Protocol, rng: random.Random
) -> Iterator[FuzzSequence]:
    """Yield a sequence for each message of the client in each phase that sessions of the seeds lead to.

    Seeds with several connections, in a setup of their own or with bytes that are not messages lead nowhere.
    """
    usable = plain_seeds(table, seeds, protocol)
    usable += _declared_calls(table, usable, protocol)
    pool, places = _unit_pool(table, usable), places_by_phase(table, usable)
    for phase, message in sorted(table.following):
        fitting = [(seed, at) for seed, at in places.get(phase, ()) if (_endpoint(seed), message) in pool]
        for seed, at in rng.sample(fitting, min(SESSIONS_PER_TRANSITION, len(fitting))):
            walk = _Walk(table, pool, protocol, seed, at, phase, rng)
            if walk.add(message):
                walk.extend()
                yield walk.sequence(f"session table: {message} in the phase {phase}")


def plain_seeds(table: SessionTable, seeds: Sequence[FuzzSequence], protocol: Protocol) -> list[FuzzSequence]:
    """Return the seeds that have one connection, the usual setup, and valid messages in the order of the table."""
    return [each for each in seeds if not each.setup and _is_plain(each, table, protocol)]


def places_by_phase(
    table: SessionTable, seeds: Sequence[FuzzSequence]
) -> Mapping[str, Sequence[tuple[FuzzSequence, int]]]:
    """Return the plain seeds that lead to each phase, with the number of their steps up to there."""
    places: dict[str, list[tuple[FuzzSequence, int]]] = {}
    for seed in seeds:
        phase = table.start
        for unit, end in units_of(seed, table):
            phase = table.following[phase, unit[-1].message]
            places.setdefault(phase, []).append((seed, end))
    return places


def _unit_pool(table: SessionTable, seeds: Sequence[FuzzSequence]) -> Mapping[tuple[str, str], Sequence[Unit]]:
    """Return the units of plain seeds by endpoint and name."""
    pool: dict[tuple[str, str], list[Unit]] = {}
    for seed in seeds:
        for unit, _ in units_of(seed, table):
            pool.setdefault((_endpoint(seed), unit[-1].message), []).append(unit)
    return pool


def _declared_calls(table: SessionTable, seeds: Sequence[FuzzSequence], protocol: Protocol) -> Iterator[FuzzSequence]:
    """Yield a session with each call of the table that no seed makes."""
    if table.streams is None:
        return
    known = {step.message for seed in seeds for step in seed.sendings}
    for name in sorted({message for _, message in table.following} - known):
        data = table.streams.session_with(name)
        if data:
            records = FuzzConnection(protocol, 1, count(1)).sent(data, 0)
            events: list[Event] = [Began(1, 0), *(Seen(1, 0, record) for record in records)]
            yield sequence_from(events, protocol, fault_adapter_of(protocol), origin=f"declaration of {name}")


def units_of(seed: FuzzSequence, table: SessionTable) -> Iterator[tuple[Unit, int]]:
    """Yield the units of a seed with one connection, each with the index of the step after it."""
    unit: Unit = ()
    for at, (step, after) in enumerate(zip_longest(seed.steps, seed.steps[1:])):
        if not isinstance(step, Sending):
            continue
        unit = (*unit, step)
        if not (table.streams and isinstance(after, Sending) and table.streams.are_one_call(step, after)):
            yield unit, at + 1
            unit = ()


def _is_plain(seed: FuzzSequence, table: SessionTable, protocol: Protocol) -> bool:
    phase, connection = table.start, FuzzConnection(protocol, 1, count(1))
    for unit, _ in units_of(seed, table):
        for step in unit:
            connection.sent(step.data, 0)
        if (phase, unit[-1].message) not in table.following or connection.is_broken:
            return False
        phase = table.following[phase, unit[-1].message]
    return bool(seed.sendings) and len({step.connection for step in seed.steps}) == 1


def _endpoint(seed: FuzzSequence) -> str:
    return endpoint_of(seed, seed.sendings[0].connection)


class _Walk:
    """A session that a seed begins and the table continues."""

    def __init__(
        self,
        table: SessionTable,
        pool: Mapping[tuple[str, str], Sequence[Unit]],
        protocol: Protocol,
        seed: FuzzSequence,
        at: int,
        phase: str,
        rng: random.Random,
    ) -> None:
        self._table, self._pool, self._seed, self._rng = table, pool, seed, rng
        self._steps: list[Step] = list(seed.steps[:at])
        self._phase = phase
        self._connection = FuzzConnection(protocol, 1, count(1))
        for step in seed.steps[:at]:
            if isinstance(step, Sending):
                self._connection.sent(step.data, 0)
        self._endpoint = _endpoint(seed)
        found = _NAME.search(b"".join(step.data for step in seed.sendings))
        self._name = found.group() if found else b""

    def add(self, message: str) -> bool:
        """Add a message of this name: one of the seed itself, or of another one with the names of this one.

        Return False where it is not valid after the messages before it, as an event longer than its block.
        """
        own = [unit for unit, _ in units_of(self._seed, self._table) if unit[-1].message == message]
        others = self._pool[self._endpoint, message]
        unit = self._rng.choice(own if own and self._rng.random() < OWN_SHARE else others)
        made = [self._sent(step, data) for step, data in zip(unit, self._fitted(unit), strict=True)]
        if self._connection.is_broken:
            return False
        self._steps += made
        self._phase = self._table.following[self._phase, message]
        return True

    def extend(self) -> None:
        """Add some messages that the table allows."""
        for _ in range(self._rng.randint(FURTHER_MIN, FURTHER_MAX)):
            names = [
                message
                for phase, message in sorted(self._table.following)
                if phase == self._phase and (self._endpoint, message) in self._pool
            ]
            if not names or len(self._steps) >= MESSAGES_MAX:
                return
            if not self.add(self._rng.choice(names)):
                return

    def sequence(self, origin: str) -> FuzzSequence:
        """Return the sequence so far."""
        steps = self._steps
        if not any(isinstance(step, Connect) for step in steps):
            steps = [Connect(self._seed.sendings[0].connection, self._endpoint), *steps]
        return FuzzSequence(tuple(steps), origin)

    def _fitted(self, unit: Unit) -> list[bytes]:
        """Return the bytes of messages with the names of the seed, those of a call on its next stream."""
        made = [_NAME.sub(self._name, step.data) if self._name else step.data for step in unit]
        streams = self._table.streams
        if streams is None or not streams.number_of(unit[-1].data):
            return made
        number = streams.next_after(self._steps, self._seed.sendings[0].connection)
        return [streams.moved_to(data, number) for data in made]

    def _sent(self, step: Sending, data: bytes) -> Sending:
        """Send a message with these bytes; return it as it is read in this session."""
        records = self._connection.sent(data, 0)
        step = replace(step, connection=self._seed.sendings[0].connection)
        if data == step.data or step.record is None:
            return step
        if [each.message for each in records] != [step.message]:
            return replace(step, data=data, record=None, depends=False, issued={})
        record = msgspec.structs.replace(step.record, raw=data, fields=records[0].fields)
        return replace(step, data=data, record=record)
