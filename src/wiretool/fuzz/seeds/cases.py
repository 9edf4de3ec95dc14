"""Sequences from conformance cases: each case runs against the built-in mock, and the session is the seed."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from wiretool.codec.message import Side
from wiretool.conformance.active.in_memory import START_NS, InMemory
from wiretool.conformance.active.mock_run import MOCK_PATIENCE_S, mock_of
from wiretool.conformance.active.run import ConformanceCaller
from wiretool.conformance.case import Case, Conformance
from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import CaseResult
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.seeds.building import Began, Event, Left, Seen, SentBytes, sequence_from
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.fuzz.targets.connection import FuzzConnection
from wiretool.protocols.base.protocol import Protocol

#: The part of names that each run on a server replaces by its own; of letters that no protocol uses so.
TOKEN = "zq7k"


class SessionLog:
    """Notes the sessions of a run in memory; it takes the place of a recording in a file."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self._connections: dict[int, FuzzConnection] = {}
        self._doors: dict[tuple[str, int], str] = {}
        self._numbers = count(1)
        self.events: list[Event] = []

    def name_doors(self, doors: Sequence[Any]) -> None:
        """Note the endpoint of each port."""
        self._doors = {("127.0.0.1", door.port): door.name for door in doors}

    def take(self) -> list[Event]:
        """Return the events since the last call."""
        events, self.events = self.events, []
        return events

    def opened(self, connection: int, client: tuple[str, int], server: tuple[str, int], now_ns: int) -> None:
        """A client connected."""
        self._connections[connection] = FuzzConnection(self.protocol, connection, self._numbers)
        self.events.append(Began(connection, now_ns, self._doors.get(server, "")))

    def sent(self, connection: int, side: Side, data: bytes, now_ns: int, *, comment: str = "") -> None:
        """A side sent bytes; those of the client that are not frames stay as they are."""
        known = self._connections[connection]
        if side == "server":
            self.events += [Seen(connection, now_ns, each.record) for each in known.received(data, now_ns)]
            return
        records = known.sent(data, now_ns)
        whole = b"".join(record.raw for record in records)
        if whole == data:
            self.events += [Seen(connection, now_ns, record) for record in records]
        else:
            self.events.append(SentBytes(connection, now_ns, data))

    def finished(self, connection: int, side: Side, now_ns: int) -> None:
        """A side has sent its last byte."""
        if side == "client":
            self.events.append(Left(connection, now_ns, is_reset=False))

    def lost(self, connection: int, side: Side, now_ns: int) -> None:
        """A side reset the connection; a client does so after each case."""

    def forget(self, connection: int) -> None:
        """Nothing more comes of a connection."""
        self._connections.pop(connection, None)


def case_sequences(part: Conformance, *, seed: int = 0) -> Iterator[tuple[Case, FuzzSequence]]:
    """Yield each case that the built-in mock passes, with its session."""
    numbers, now_ns = count(1), START_NS
    for variant in dict.fromkeys(case.variant for case in part.cases):
        protocol = part.protocol_in(variant)
        log = SessionLog(protocol)
        found: list[tuple[CaseResult, list[Event]]] = []
        caller = ConformanceCaller(
            [case for case in part.cases if case.variant == variant],
            part,
            token=TOKEN,
            patience_s=MOCK_PATIENCE_S,
            numbers=numbers,
            on_result=_noting(found, log),
        )
        mock = mock_of(part, variant, seed)
        log.name_doors(mock.doors)
        stage = InMemory(caller, mock, recording=log, now_ns=now_ns)  # type: ignore[arg-type]
        stage.run()
        now_ns = stage.now_ns
        for result, events in found:
            if result.verdict is Verdict.PASS and isinstance(result.case, Case) and events:
                yield (
                    result.case,
                    sequence_from(
                        events,
                        protocol,
                        fault_adapter_of(protocol),
                        origin=result.case.id,
                        setup=variant,
                        has_pauses=True,
                    ),
                )


def _noting(found: list[tuple[CaseResult, list[Event]]], log: SessionLog) -> Callable[[CaseResult], None]:
    return lambda result: found.append((result, log.take()))
