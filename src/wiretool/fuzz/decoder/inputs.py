"""Makes the inputs of a run on the decoder: recorded sessions, mutated at every level, as packets."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from wiretool.fuzz.decoder.capture import ONE_TABLE_BYTES, FuzzCapture, TcpPacket
from wiretool.fuzz.decoder.mutations import (
    PACKETS_MAX,
    SEGMENT_BYTES,
    FieldPlaces,
    interleaved,
    mutate_bytes,
    mutate_packets,
    mutate_turns,
)
from wiretool.fuzz.decoder.turns import TurnLog, TurnSession, packets_of
from wiretool.fuzz.mutations.base import Mutation
from wiretool.fuzz.sequences.run import SequenceRun
from wiretool.fuzz.sequences.sequence import Change, FuzzSequence
from wiretool.fuzz.session import FuzzSession
from wiretool.fuzz.targets.base import MEMORY_PATIENCE, setting_of
from wiretool.fuzz.targets.memory import MemoryTarget

#: Shares of inputs that are made of an earlier input, and of a freshly mutated sequence.
QUEUE_SHARE, SEQUENCE_SHARE = 0.35, 0.25
#: Sizes of tables of the column path, bytes of packets.
TABLE_BYTES = (ONE_TABLE_BYTES, ONE_TABLE_BYTES, 3000, 500, 1)
#: Recorded sessions, and earlier inputs, that are kept.
SESSIONS_KEPT, QUEUE_MAX = 512, 2048
STACKED_MAX = 5
TRIES_MAX = 8


class CaptureMaker:
    """Makes mutated captures of one protocol; all choices come from `rng`."""

    def __init__(self, session: FuzzSession, mutations: Sequence[Mutation], rng: random.Random) -> None:
        self._session = session
        self._mutations = mutations
        self._rng = rng
        self._numbers = count(1)
        self._recorded: dict[int, TurnSession] = {}
        self._places: dict[str, FieldPlaces] = {}
        self._queue: list[FuzzCapture] = []

    def keep(self, capture: FuzzCapture) -> None:
        """Keep a capture that showed something new, for further mutations."""
        if len(self._queue) < QUEUE_MAX:
            self._queue.append(capture)
        else:
            self._queue[self._rng.randrange(QUEUE_MAX)] = capture

    def seeds(self) -> Sequence[Callable[[], FuzzCapture]]:
        """Return functions that make the capture of each seed as it is."""
        return [lambda index=index: self._plain(self._seed(index)) for index in range(len(self._session.seeds))]  # type: ignore[misc]

    def _plain(self, recorded: TurnSession) -> FuzzCapture:
        protocol = self._session.protocol_in(recorded.setup).name
        packets = tuple(packets_of(recorded, 1460))
        return FuzzCapture(packets, recorded.ports, protocol, TABLE_BYTES[0], origin=recorded.origin)

    def make(self) -> FuzzCapture:
        """Return the next mutated capture."""
        rng = self._rng
        if self._queue and rng.random() < QUEUE_SHARE:
            capture = rng.choice(self._queue[-64:] if rng.random() < 0.5 else self._queue)
            return self._mutated(replace(capture, table_bytes=rng.choice(TABLE_BYTES)), at_least=1)
        return self._mutated(self._from_session(), at_least=0)

    def _mutated(self, capture: FuzzCapture, *, at_least: int) -> FuzzCapture:
        for _ in range(self._stacked(at_least)):
            capture = mutate_packets(capture, self._rng)
        return capture

    def _stacked(self, at_least: int) -> int:
        number = at_least
        while number < STACKED_MAX and self._rng.random() < 0.5:
            number += 1
        return number

    # -- sessions ------------------------------------------------------------------------------------------------------

    def _from_session(self) -> FuzzCapture:
        rng = self._rng
        recorded, changes = self._any_session()
        for _ in range(self._stacked(0)):
            made = self._mutated_session(recorded)
            if made is not None:
                recorded, changes = made[0], (*changes, made[1])
        packets, ports = self._packets(recorded), recorded.ports
        if rng.random() < 0.15:
            other = self._seed(rng.randrange(len(self._session.seeds)))
            if other.setup == recorded.setup:
                packets, ports = _joined(packets, ports, self._packets(other), other, rng)
        name = self._session.protocol_in(recorded.setup).name
        return FuzzCapture(
            tuple(packets[:PACKETS_MAX]),
            ports,
            name if rng.random() < 0.5 else "auto",
            rng.choice(TABLE_BYTES),
            (rng.choice((1000, 2**32 - 300)), rng.choice((5000, 2**32 - 90))),
            recorded.origin,
            changes,
        )

    def _mutated_session(self, recorded: TurnSession) -> tuple[TurnSession, Change] | None:
        if self._rng.random() < 0.15:
            return mutate_turns(recorded, self._rng)
        return mutate_bytes(recorded, self._rng, self._places_in(recorded.setup))

    def _packets(self, recorded: TurnSession) -> list[TcpPacket]:
        size = self._rng.choice(SEGMENT_BYTES)
        size = max(size, sum(len(turn.data) for turn in recorded.turns) // PACKETS_MAX + 1)
        return packets_of(recorded, size, has_handshake=self._rng.random() < 0.9)

    def _any_session(self) -> tuple[TurnSession, tuple[Change, ...]]:
        rng, seeds = self._rng, self._session.seeds
        index = rng.randrange(len(seeds))
        if rng.random() >= SEQUENCE_SHARE:
            return self._seed(index), ()
        sequence = seeds[index]
        context = self._session.context(sequence.setup)
        for _ in range(TRIES_MAX):
            made = rng.choice(self._mutations).apply(sequence, rng, context)
            if made is not None:
                return self._record(made), made.all_changes()
        return self._seed(index), ()

    def _seed(self, index: int) -> TurnSession:
        found = self._recorded.get(index)
        if found is None:
            if len(self._recorded) >= SESSIONS_KEPT:
                self._recorded.clear()
            found = self._recorded[index] = self._record(self._session.seeds[index])
        return found

    def _record(self, sequence: FuzzSequence) -> TurnSession:
        """Run a sequence on a fresh mock in memory, and return the bytes of both sides."""
        session = self._session
        setting = setting_of(session.part, session.protocol_in(sequence.setup), MEMORY_PATIENCE)
        run = SequenceRun(sequence, setting, self._numbers)
        log = TurnLog()
        MemoryTarget(lambda: session.make_mock(sequence.setup)).run(run, log)
        return TurnSession(tuple(log.turns), log.ports, sequence.origin, sequence.setup)

    def _places_in(self, setup: str) -> FieldPlaces:
        found = self._places.get(setup)
        if found is None:
            found = self._places[setup] = FieldPlaces(self._session.protocol_in(setup))
        return found


def _joined(
    packets: list[TcpPacket], ports: Mapping[int, int], more: list[TcpPacket], other: TurnSession, rng: random.Random
) -> tuple[list[TcpPacket], Mapping[int, int]]:
    """Return the packets of two sessions side by side, the connections of the second with further numbers."""
    first = max(ports, default=-1) + 1
    renumbered = [each._replace(connection=each.connection + first) for each in more]
    further = {connection + first: port for connection, port in other.ports.items()}
    return interleaved([packets, renumbered], rng), {**ports, **further}
