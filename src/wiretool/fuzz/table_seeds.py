"""Seeds from the session table of a protocol: each message that a client may send in each phase, and what may follow.

The messages come from the sessions of the conformance cases, so that their values are valid. A session of a case leads
to the phase; from there on, the table decides which message may be next.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

import msgspec

from wiretool.fuzz.building import MESSAGES_MAX
from wiretool.fuzz.case_seeds import TOKEN
from wiretool.fuzz.connection import FuzzConnection
from wiretool.fuzz.mutations.order import endpoint_of
from wiretool.fuzz.part import SessionTable
from wiretool.fuzz.sequence import Connect, FuzzSequence, Sending, Step
from wiretool.protocols.conversation import Protocol, let_go

#: The part of names that is a case's own; all have one length, so that names can be exchanged in the bytes.
_NAME = re.compile(rb"%s[0-9a-z]{2}" % TOKEN.encode())
#: Messages after the one that a sequence is about, and the share of those that its own session has.
FURTHER_MIN, FURTHER_MAX, OWN_SHARE = 2, 8, 0.6
#: Phases of one message in which it is tried, each in so many sessions.
SESSIONS_PER_TRANSITION = 2


def table_sequences(
    table: SessionTable, seeds: Sequence[FuzzSequence], protocol: Protocol, rng: random.Random
) -> Iterator[FuzzSequence]:
    """Yield a sequence for each message of the client in each phase that sessions of the seeds lead to.

    Seeds with several connections, in a setup of their own or with bytes that are not messages lead nowhere.
    """
    usable = [each for each in seeds if not each.setup and _is_plain(each, table, protocol)]
    pool, places = _message_pool(usable), _places_by_phase(usable, table)
    for phase, message in sorted(table.following):
        fitting = [(seed, at) for seed, at in places.get(phase, ()) if (_endpoint(seed), message) in pool]
        for seed, at in rng.sample(fitting, min(SESSIONS_PER_TRANSITION, len(fitting))):
            walk = _Walk(table, pool, protocol, seed, at, phase, rng)
            if walk.add(message):
                walk.extend()
                yield walk.sequence(f"session table: {message} in the phase {phase}")


def _message_pool(seeds: Sequence[FuzzSequence]) -> Mapping[tuple[str, str], Sequence[Sending]]:
    """Return the messages of the seeds by endpoint and name."""
    pool: dict[tuple[str, str], list[Sending]] = {}
    for seed in seeds:
        for step in seed.sendings:
            pool.setdefault((_endpoint(seed), step.message), []).append(step)
    return pool


def _places_by_phase(
    seeds: Sequence[FuzzSequence], table: SessionTable
) -> Mapping[str, Sequence[tuple[FuzzSequence, int]]]:
    """Return the seeds that lead to each phase, with the number of their steps up to there."""
    places: dict[str, list[tuple[FuzzSequence, int]]] = {}
    for seed in seeds:
        phase = table.start
        for at, step in enumerate(seed.steps):
            if isinstance(step, Sending):
                phase = table.following[phase, step.message]
                places.setdefault(phase, []).append((seed, at + 1))
    return places


def _is_plain(seed: FuzzSequence, table: SessionTable, protocol: Protocol) -> bool:
    """Return whether a seed has one connection, and valid messages that the table has in its order."""
    phase, connection = table.start, FuzzConnection(protocol, 1, count(1))
    for step in seed.sendings:
        connection.sent(step.data, 0)
        if (phase, step.message) not in table.following or connection.is_broken:
            return False
        phase = table.following[phase, step.message]
    return bool(seed.sendings) and len({step.connection for step in seed.steps}) == 1


def _endpoint(seed: FuzzSequence) -> str:
    return endpoint_of(seed, seed.sendings[0].connection)


class _Walk:
    """A session that a seed begins and the table continues."""

    def __init__(
        self,
        table: SessionTable,
        pool: Mapping[tuple[str, str], Sequence[Sending]],
        protocol: Protocol,
        seed: FuzzSequence,
        at: int,
        phase: str,
        rng: random.Random,
    ) -> None:
        self._table, self._pool, self._protocol, self._seed, self._rng = table, pool, protocol, seed, rng
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
        own = [step for step in self._seed.sendings if step.message == message]
        others = self._pool[self._endpoint, message]
        step = self._renamed(self._rng.choice(own if own and self._rng.random() < OWN_SHARE else others))
        self._connection.sent(step.data, 0)
        if self._connection.is_broken:
            return False
        self._steps.append(replace(step, connection=self._seed.sendings[0].connection))
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

    def _renamed(self, step: Sending) -> Sending:
        """Return a message with the names of the seed, read again."""
        data = _NAME.sub(self._name, step.data) if self._name else step.data
        if data == step.data or step.record is None:
            return step
        reading = self._protocol.open(True).read("client", data, 0, len(data), 1)
        let_go(reading.defects)
        if reading.message != step.message:
            return replace(step, data=data, record=None, depends=False, issued={})
        record = msgspec.structs.replace(step.record, raw=data, fields=reading.fields)
        return replace(step, data=data, record=record)
