"""One run of a sequence: a state machine over its steps, without sockets and clocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from wiretool.consistency.model import Anomaly, Consistency
from wiretool.errors import EncodeError
from wiretool.fuzz.read_back import Follower, ReadBack
from wiretool.fuzz.sequences.rewriting import Rewriter
from wiretool.fuzz.sequences.sequence import Connect, Finish, FuzzSequence, Pause, Reset, Sending, Step
from wiretool.fuzz.targets.connection import FuzzConnection, Received
from wiretool.net.calling import caller
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record
from wiretool.replay.playing.id_map import Values

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Patience:
    """Times to wait, ns: for a due reply, and for a server to end a connection that the client has finished."""

    reply_ns: int
    close_ns: int


@dataclass(frozen=True, slots=True)
class RunSetting:
    """The protocol and the server of a run."""

    protocol: Protocol
    rewriter: Rewriter
    #: The name of the mock server, by the protocol of its first endpoint.
    server: str
    patience: Patience
    #: Other revisions in which a reply to broken bytes may come.
    revisions: Sequence[Protocol] = ()


class Exchanged(NamedTuple):
    """A message of the server with the step that it answers, None for an unsolicited one."""

    received: Received
    step: int | None
    phase: str
    connection: FuzzConnection
    #: From the request, ns; 0 for an unsolicited message.
    latency_ns: int


class Unanswered(NamedTuple):
    """A request without its reply."""

    request: Record
    step: int
    connection: FuzzConnection


@dataclass(slots=True)
class Outcome:
    """The result of one run, for the oracles."""

    sequence: FuzzSequence
    connections: list[FuzzConnection] = field(default_factory=list)
    exchanged: list[Exchanged] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)
    #: Connections that the server refused or reset before it sent anything, with the reason.
    refused: list[str] = field(default_factory=list)
    #: Steps after which a reply was waited for in vain before the next step.
    deferred: set[int] = field(default_factory=set)
    #: The step after which the run ended, and the phase there.
    last_step: int = 0
    sent_messages: int = 0
    #: In memory: the exception that the mock raised, and the time of its slowest call.
    error: BaseException | None = None
    slowest_s: float = 0.0
    slowest_step: int = 0
    #: Reads that contradict acknowledgements, and the number of acknowledged events that were compared.
    anomalies: list[Anomaly] = field(default_factory=list)
    judged_events: int = 0
    #: Bytes that the target holds after the run beyond those before, where they are known.
    grown_bytes: int = 0
    #: Bytes that were taken at one time in the run, where they are known.
    peak_bytes: int = 0
    #: Branches of the mock that no run before took, where they are known.
    new_branches: int = 0

    def records(self) -> list[Record]:
        """Return the records of all connections in order."""
        return sorted((record for each in self.connections for record in each.records), key=lambda record: record.n)


class SequenceRun:
    """Carries out the steps of a sequence. Each call returns the acts that follow from it."""

    def __init__(
        self,
        sequence: FuzzSequence,
        setting: RunSetting,
        numbers: Iterator[int],
        *,
        names: tuple[bytes, bytes] | None = None,
        model: Consistency | None = None,
        may_stay: bool = False,
    ) -> None:
        """`numbers` gives the connections numbers that no other run has.

        `names` is a part of names in the sequence, and its replacement on a server that keeps its state. With a
        consistency `model`, acknowledged events are read back at the end. `may_stay`: the target keeps
        connections that the sequence leaves open.
        """
        self.sequence = sequence
        self.outcome = Outcome(sequence)
        self._steps = sequence.steps
        self._setting = setting
        self._patience = patience = setting.patience
        self._rewriter = setting.rewriter
        self._numbers = numbers
        self._names = names
        self._may_stay = may_stay
        self._record_numbers = count(1)
        self._ids = Values()
        self._at = 0
        self._by_label: dict[int, FuzzConnection] = {}
        self._by_number: dict[int, FuzzConnection] = {}
        self._sent_ns: dict[int, int] = {}
        #: The request whose reply the next step waits for, and its connection.
        self._awaited: tuple[FuzzConnection, int] | None = None
        self._since_ns: int | None = None
        self._is_leaving = self._has_replies = False
        self._follower = None if model is None else Follower(model)
        self._read_back = None
        if self._follower is not None:
            self._read_back = ReadBack(self._follower, setting.protocol, self._open_for_question, patience.reply_ns)
        #: Connections that only read back.
        self._asking: set[int] = set()
        self.wake_ns: int | None = None
        self.is_over = False

    def has(self, number: int) -> bool:
        """Return whether a connection belongs to this run."""
        return number in self._by_number

    # -- events --------------------------------------------------------------------------------------------------------

    def start(self, now_ns: int) -> list[caller.Act]:
        """Begin with the first step."""
        return self._advance(now_ns)

    def opened(self, number: int, now_ns: int) -> list[caller.Act]:
        """The server has accepted a connection."""
        self._by_number[number].is_open = True
        return self._advance(now_ns)

    def received(self, number: int, data: bytes, now_ns: int) -> list[caller.Act]:
        """The server has sent bytes."""
        connection = self._by_number[number]
        phase = connection.phase
        for received in connection.received(data, now_ns):
            self._note(connection, received, phase, now_ns)
            phase = connection.phase
        if self._awaited is not None and self._awaited[1] in connection.open_requests:
            return []  # the reply that the next step waits for is still due
        return self._advance(now_ns)

    def ended(self, number: int, now_ns: int) -> list[caller.Act]:
        """The server has sent its last byte."""
        return self._end(number, "closed", now_ns)

    def lost(self, number: int, why: str, now_ns: int) -> list[caller.Act]:
        """The connection is gone, or was refused."""
        if not self._by_number[number].is_open:
            self.outcome.refused.append(why)
        return self._end(number, "reset", now_ns)

    def woken(self, now_ns: int) -> list[caller.Act]:
        """It is `wake_ns` or later."""
        return self._advance(now_ns)

    def stop(self) -> list[caller.Act]:
        """End the run where it is."""
        self.is_over = True
        return [caller.Abort(number) for number, each in self._by_number.items() if each.ended != "reset"]

    def _end(self, number: int, how: str, now_ns: int) -> list[caller.Act]:
        connection = self._by_number[number]
        if not connection.ended:
            phase = connection.phase
            for received in connection.end():
                self._note(connection, received, phase, now_ns)
            connection.ended = how
        return self._advance(now_ns)

    def _note(self, connection: FuzzConnection, received: Received, phase: str, now_ns: int) -> None:
        record = received.record
        if self._follower is not None:
            self._follower.note_received(connection, received)
        step = connection.answer(record)
        if connection.number in self._asking:
            if self._read_back is not None:
                self._read_back.received(received)
            return
        latency_ns = now_ns - self._sent_ns.get(record.reply_to or 0, now_ns)
        if step is not None:
            sending = self._steps[step]
            assert isinstance(sending, Sending)
            if issued := sending.issued.get(record.message):
                self._rewriter.learn(issued, record, self._ids)
        self.outcome.exchanged.append(Exchanged(received, step, phase, connection, latency_ns))

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _advance(self, now_ns: int) -> list[caller.Act]:
        acts: list[caller.Act] = []
        self.wake_ns = None
        while not self.is_over:
            if self._awaits_reply(now_ns):
                break
            if self._at == len(self._steps):
                self._leave(acts, now_ns)
                break
            if not self._do(self._steps[self._at], acts, now_ns):
                break
            self.outcome.last_step = self._at
            self._at += 1
            self._since_ns = None
        return acts

    def _awaits_reply(self, now_ns: int) -> bool:
        if self._awaited is None:
            return False
        connection, request = self._awaited
        if request in connection.open_requests and not connection.ended and self._is_within(
            self._patience.reply_ns, now_ns
        ):  # fmt: skip
            return True
        if request in connection.open_requests and not connection.ended:
            self.outcome.deferred.add(connection.open_requests[request])
        self._awaited = self._since_ns = None
        return False

    def _do(self, step: Step, acts: list[caller.Act], now_ns: int) -> bool:
        """Carry out a step; return whether it is done."""
        if isinstance(step, Pause):
            return not self._is_within(round(step.seconds * NS_PER_S), now_ns)
        connection = self._by_label.get(step.connection)
        if connection is None:
            endpoint = step.endpoint if isinstance(step, Connect) else ""
            connection = self._by_label[step.connection] = self._open(endpoint, acts)
            self.outcome.connections.append(connection)
        if connection.ended:
            return True  # the server has ended it: the rest of its steps has no effect
        if not connection.is_open:
            return False
        if isinstance(step, Sending):
            self._send(step, connection, acts, now_ns)
        elif isinstance(step, Finish):
            acts.append(caller.Finish(connection.number))
        elif isinstance(step, Reset):
            connection.ended = "left"
            acts.append(caller.Abort(connection.number))
        return True

    def _open(self, endpoint: str, acts: list[caller.Act]) -> FuzzConnection:
        number = next(self._numbers)
        connection = self._by_number[number] = FuzzConnection(
            self._setting.protocol, number, self._record_numbers, self._setting.revisions
        )
        acts.append(caller.Dial(number, self._setting.server, endpoint))
        return connection

    def _open_for_question(self, endpoint: str, acts: list[caller.Act]) -> FuzzConnection:
        connection = self._open(endpoint, acts)
        self._asking.add(connection.number)
        return connection

    def _send(self, step: Sending, connection: FuzzConnection, acts: list[caller.Act], now_ns: int) -> None:
        try:
            data = self._rewriter.with_live_values(step, self._ids, connection.conversation)
        except EncodeError:
            data = step.data
        if self._names is not None:
            data = data.replace(*self._names)
        acts.append(caller.Send(connection.number, data))
        self.outcome.sent_messages += 1
        records = connection.sent(data, now_ns)
        if self._follower is not None:
            self._follower.note_sent(connection, records)
        if self._at in self.sequence.unanswered:
            return
        for number in connection.expect(records, step=self._at):
            self._sent_ns[number] = now_ns
            if step.waits and self._at not in self.sequence.deferred:
                self._awaited, self._since_ns = (connection, number), now_ns

    # -- the end -------------------------------------------------------------------------------------------------------

    def _leave(self, acts: list[caller.Act], now_ns: int) -> None:
        """Wait for the replies that are due, read back, end the connections and wait for the server to do so."""
        alive = [each for each in self._by_number.values() if not each.ended]
        if not self._has_replies:
            waiting = [each for each in alive if each.open_requests and not each.is_broken]
            if waiting and self._is_within(self._patience.reply_ns, now_ns):
                return
            self._note_unanswered(waiting)
            self._has_replies, self._since_ns = True, None
        if self._read_back is not None and not self._ask(acts, now_ns):
            return
        if self.sequence.stays_open and self._may_stay:
            self.is_over = True
            return
        if not self._is_leaving:
            self._is_leaving, self._since_ns = True, None
            acts += [caller.Finish(each.number) for each in alive if each.is_open]
        alive = [each for each in alive if not each.ended]
        if alive and self._is_within(self._patience.close_ns, now_ns):
            return
        self.is_over = True
        acts += [caller.Abort(number) for number, each in self._by_number.items() if each.ended != "left"]

    def _ask(self, acts: list[caller.Act], now_ns: int) -> bool:
        """Read back what was acknowledged; return whether that is done."""
        assert self._read_back is not None
        assert self._follower is not None
        if not self._read_back.advance(now_ns, acts):
            self.wake_ns = self._read_back.wake_ns
            return False
        self._read_back = None
        self._follower.end()
        self.outcome.anomalies = self._follower.anomalies
        self.outcome.judged_events = self._follower.model.judged
        return True

    def _note_unanswered(self, connections: list[FuzzConnection]) -> None:
        for connection in connections:
            requests = {record.n: record for record in connection.records}
            for number, step in connection.open_requests.items():
                self.outcome.unanswered.append(Unanswered(requests[number], step, connection))

    def _is_within(self, span_ns: int, now_ns: int) -> bool:
        """Return whether less time has passed since the step began to wait; if so, it is woken at its end."""
        if self._since_ns is None:
            self._since_ns = now_ns
        due_ns = self._since_ns + span_ns
        if now_ns >= due_ns:
            return False
        self.wake_ns = due_ns
        return True
