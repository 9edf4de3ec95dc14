"""A mock server whose messages are mutated on their way to the client."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from wiretool.errors import EncodeError
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.client.reply_fault import LEGAL_KINDS, FaultKind, ReplyFault
from wiretool.fuzz.sequences.rewriting import Rewriter
from wiretool.fuzz.sequences.sequence import Edit, Sending
from wiretool.fuzz.targets.connection import FuzzConnection
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record
from wiretool.server.mock import Action, Close, Link, Mock, Send

NS_PER_S = 1_000_000_000
#: Bytes of a message that arrive one at a time, and the time between two of them.
BYTEWISE_MAX, BYTE_NS = 96, 1_000_000
#: How long a message waits for the one that is to overtake it.
SWAP_NS = NS_PER_S // 2
#: Messages that the log of a clean run keeps.
REPLIES_MAX = 4096


@dataclass(slots=True)
class RunLog:
    """The events of one run, as far as oracles need them."""

    #: Indices of the faults that had an effect, in order.
    acted: list[int] = field(default_factory=list)
    connections: int = 0
    client_messages: int = 0
    #: Bytes of the client that do not decode, sent after well-formed messages only: message and problem.
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: True while every fault was one of the network.
    is_legal: bool = True
    #: True while every message that arrived decodes without a problem.
    is_well_formed: bool = True
    #: Whether the mock closed idle connections after an illegal message.
    has_closed_idle: bool = False
    #: Connections that were open when the client was stopped; None where it ended by itself.
    open_when_late: int | None = None
    #: Seconds without traffic at that time.
    quiet_s: float = 0.0
    #: Messages of the server, with the number of each among those of its name; kept in clean runs.
    replies: list[tuple[int, Sending]] = field(default_factory=list)


class _MutatedFlow:
    """The server's direction of one connection: bytes that are not due yet."""

    def __init__(self, number: int, protocol: Protocol, numbers: Iterable[int]) -> None:
        self.number = number
        numbers = iter(numbers)
        #: The connection as the server sees it, and as the client does.
        self.view = FuzzConnection(protocol, number, numbers)
        self.arrived = FuzzConnection(protocol, number, numbers)
        #: Bytes of the server that are not a whole message yet.
        self.unframed = b""
        self.queue: deque[tuple[int, Action]] = deque()
        #: A message that waits to be overtaken, with the index of its fault and the end of its waiting.
        self.swapped: tuple[bytes, int, int] | None = None
        self.is_cut = False

    def push(self, action: Action, due_ns: int) -> None:
        """Add an action after all others of the connection."""
        if self.queue:
            due_ns = max(due_ns, self.queue[-1][0])
        self.queue.append((due_ns, action))

    def take(self, size: int) -> bytes:
        """Return the next bytes of the server."""
        data, self.unframed = self.unframed[:size], self.unframed[size:]
        return data


class MutatedMock(Mock):
    """Wraps a mock. It counts the server's messages by name, and applies each fault to the message that it names."""

    def __init__(
        self, mock: Mock, protocol: Protocol, faults: Sequence[ReplyFault], *, idle_ns: int, keeps_replies: bool = False
    ) -> None:
        """Only connections of `protocol` are mutated.

        After an illegal message the mock closes all connections once nothing was sent for `idle_ns`.
        """
        super().__init__()
        self._mock = mock
        self._protocol = protocol
        self._rewriter = Rewriter(fault_adapter_of(protocol))
        self._faults: dict[tuple[str, int], list[tuple[int, ReplyFault]]] = {}
        for index, fault in enumerate(faults):
            self._faults.setdefault((fault.message, fault.nth), []).append((index, fault))
        self._idle_ns = idle_ns
        self._keeps_replies = keeps_replies
        self._flows: dict[int, _MutatedFlow] = {}
        #: Open connections of other protocols.
        self._others: set[int] = set()
        self._counts: Counter[str] = Counter()
        self._numbers = count(1)
        self._last_ns = 0
        self.doors = mock.doors
        self.outbox = mock.outbox
        self.log = RunLog()

    # -- events --------------------------------------------------------------------------------------------------------

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        return self._mock.greet(connection, door, now_ns)

    def forget(self) -> None:
        self._mock.forget()

    def bound(self, door: str, host: str, port: int) -> None:
        self._mock.bound(door, host, port)

    def keep(self, connection: int, how: str) -> None:
        self._mock.keep(connection, how)

    def opened(self, connection: int, door: str, now_ns: int) -> list[Action]:
        self.log.connections += 1
        self._last_ns = now_ns
        if any(each.name == door and each.protocol == self._protocol.name for each in self.doors):
            self._flows[connection] = _MutatedFlow(connection, self._protocol, self._numbers)
        else:
            self._others.add(connection)
        return self._passed(self._mock.opened(connection, door, now_ns), now_ns)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        self._last_ns = now_ns
        flow = self._flows.get(connection)
        if flow is not None:
            if flow.is_cut:
                return []
            self._observe(flow, data, now_ns)
        return self._passed(self._mock.received(connection, data, now_ns), now_ns)

    def full(self, connection: int, now_ns: int) -> list[Action]:
        return self._passed(self._mock.full(connection, now_ns), now_ns)

    def drained(self, connection: int, now_ns: int) -> list[Action]:
        return self._passed(self._mock.drained(connection, now_ns), now_ns)

    def ended(self, connection: int, now_ns: int) -> list[Action]:
        return self._passed(self._mock.ended(connection, now_ns), now_ns)

    def lost(self, connection: int, now_ns: int) -> list[Action]:
        self._others.discard(connection)
        flow = self._flows.pop(connection, None)
        if flow is not None:
            flow.view.end_client()
            self._note_problems(flow)
        return self._passed(self._mock.lost(connection, now_ns), now_ns)

    def woken(self, now_ns: int) -> list[Action]:
        actions = self._mock.woken(now_ns) if self._mock.wake_ns is not None and self._mock.wake_ns <= now_ns else []
        for flow in self._flows.values():
            if flow.swapped is not None and flow.swapped[2] <= now_ns:
                flow.push(Send(flow.number, flow.swapped[0]), now_ns)
                flow.swapped = None
        idle_ns = self._idle_at_ns
        if idle_ns is not None and idle_ns <= now_ns:
            actions = [*actions, *self._close_idle(now_ns)]
        return self._passed(actions, now_ns)

    def stopped(self, now_ns: int) -> list[Action]:
        return self._passed(self._mock.stopped(now_ns), now_ns)

    @property
    def wake_ns(self) -> int | None:
        flows = [flow for flow in self._flows.values() if not flow.is_cut]
        times = [self._mock.wake_ns, self._idle_at_ns]
        times += [flow.queue[0][0] for flow in flows if flow.queue]
        times += [flow.swapped[2] for flow in flows if flow.swapped is not None]
        return min((each for each in times if each is not None), default=None)

    def note_late(self, now_ns: int) -> None:
        """Note the open connections of a client that is about to be stopped, and how long nothing was sent."""
        self.log.open_when_late = self._open_count
        self.log.quiet_s = (now_ns - self._last_ns) / NS_PER_S

    @property
    def _open_count(self) -> int:
        return len(self._others) + sum(not flow.is_cut for flow in self._flows.values())

    # -- idle connections ----------------------------------------------------------------------------------------------

    @property
    def _idle_at_ns(self) -> int | None:
        if self.log.is_legal or not self._open_count:
            return None
        return self._last_ns + self._idle_ns

    def _close_idle(self, now_ns: int) -> list[Action]:
        self.log.has_closed_idle = True
        for flow in self._flows.values():
            if not flow.is_cut:
                flow.swapped = None
                flow.push(Close(flow.number), now_ns)
        others, self._others = self._others, set()
        return [Close(number) for number in sorted(others)]

    # -- messages ------------------------------------------------------------------------------------------------------

    def _observe(self, flow: _MutatedFlow, data: bytes, now_ns: int) -> None:
        flow.arrived.sent(data, now_ns)
        self.log.client_messages += sum(record.kind == "frame" for record in flow.view.sent(data, now_ns))
        self._note_problems(flow)

    def _note_problems(self, flow: _MutatedFlow) -> None:
        if self.log.is_well_formed:
            self.log.problems += flow.view.client_problems
        flow.view.client_problems.clear()

    def _passed(self, actions: Iterable[Action], now_ns: int) -> list[Action]:
        """Return the actions that are due: of other connections at once, of mutated ones by their faults."""
        due: list[Action] = []
        for action in actions:
            flow = self._flows.get(action.connection)
            if flow is None:
                due.append(action)
                self._last_ns = now_ns
                if isinstance(action, Close):
                    self._others.discard(action.connection)
            elif isinstance(action, Close):
                self._finish(flow, action, now_ns)
            elif not flow.is_cut:
                flow.unframed += action.data
                for received in flow.view.received(action.data, now_ns):
                    self._deliver(flow, received.record, flow.take(received.record.length), now_ns)
        return due + self._due(now_ns)

    def _due(self, now_ns: int) -> list[Action]:
        found: list[Action] = []
        for flow in self._flows.values():
            while flow.queue and not flow.is_cut and flow.queue[0][0] <= now_ns:
                action = flow.queue.popleft()[1]
                found.append(action)
                self._last_ns = now_ns
                flow.is_cut = isinstance(action, Close)
        return found

    def _finish(self, flow: _MutatedFlow, action: Close, now_ns: int) -> None:
        if flow.swapped is not None:
            flow.push(Send(flow.number, flow.swapped[0]), now_ns)
            flow.swapped = None
        if flow.unframed:
            flow.push(Send(flow.number, flow.take(len(flow.unframed))), now_ns)
        flow.push(action, now_ns)

    def _deliver(self, flow: _MutatedFlow, record: Record, data: bytes, now_ns: int) -> None:
        name = record.message
        self._counts[name] += 1
        nth = self._counts[name]
        if self._keeps_replies and record.kind == "frame" and len(self.log.replies) < REPLIES_MAX:
            self.log.replies.append((nth, Sending(record.connection, data, name, record)))
        overtaken, flow.swapped = flow.swapped, None
        parts, due_ns = [data], now_ns
        edits: tuple[Edit, ...] = ()
        for index, fault in self._faults.get((name, nth), ()):
            edits += fault.edits
            if fault.kind is FaultKind.SWAP:
                flow.swapped = b"".join(parts), index, now_ns + SWAP_NS
                parts = []
                continue
            parts, due_ns = self._mutated(flow, record, parts, replace(fault, edits=edits), index, due_ns)
        if self._has_problem_arrived(flow, b"".join(parts), now_ns):
            self.log.is_well_formed = False
        step_ns = BYTE_NS if len(parts) > 1 and len(parts[0]) == 1 else 0
        for at, part in enumerate(parts):
            flow.push(Send(flow.number, part), due_ns + at * step_ns)
        ends = [fault for _, fault in self._faults.get((name, nth), ()) if fault.kind in _ENDS]
        if ends:
            flow.push(Close(flow.number, is_abort=ends[0].kind is FaultKind.RESET), due_ns + len(parts) * step_ns)
        if overtaken is not None:
            flow.push(Send(flow.number, overtaken[0]), due_ns)
            self._note(overtaken[1], FaultKind.SWAP)

    def _mutated(
        self, flow: _MutatedFlow, record: Record, parts: list[bytes], fault: ReplyFault, index: int, due_ns: int
    ) -> tuple[list[bytes], int]:
        """Return the parts of a message after a fault, and when the first one is due."""
        kind = fault.kind
        whole = b"".join(parts)
        if kind is FaultKind.EDIT:
            made = self._edited(flow, record, fault)
            if made is None or made == whole:
                return parts, due_ns
            parts = [made]
        elif kind is FaultKind.DROP:
            parts = []
        elif kind is FaultKind.DOUBLE:
            parts = parts * (1 + fault.times)
        elif kind is FaultKind.DELAY:
            due_ns += round(fault.seconds * NS_PER_S)
        elif kind is FaultKind.BYTEWISE:
            head, rest = whole[:BYTEWISE_MAX], whole[BYTEWISE_MAX:]
            parts = [*(head[at : at + 1] for at in range(len(head))), *([rest] if rest else [])]
        else:
            parts = [whole[: fault.cut]] if fault.cut else []
        self._note(index, kind)
        return parts, due_ns

    def _edited(self, flow: _MutatedFlow, record: Record, fault: ReplyFault) -> bytes | None:
        """Return the bytes of a live message with the edits of a fault; None where it has none."""
        try:
            return self._rewriter.encode(record, fault.edits, flow.view.conversation)
        except EncodeError:
            return None

    def _has_problem_arrived(self, flow: _MutatedFlow, data: bytes, now_ns: int) -> bool:
        """Decode bytes as the client does; return whether they break the protocol."""
        return any(each.problems or each.violations for each in flow.arrived.received(data, now_ns))

    def _note(self, index: int, kind: FaultKind) -> None:
        self.log.acted.append(index)
        self.log.is_legal = self.log.is_legal and kind in LEGAL_KINDS
        if kind in (FaultKind.DROP, FaultKind.DOUBLE, FaultKind.SWAP):
            self.log.is_well_formed = False


_ENDS = frozenset({FaultKind.CLOSE, FaultKind.RESET})
