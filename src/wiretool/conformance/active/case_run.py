"""One active run of one case: a state machine over its steps, without sockets and clocks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wiretool.conformance.active.case_connection import CaseConnection
from wiretool.conformance.active.change import change_of
from wiretool.conformance.active.endings import OUTCOME_WORDS, lost_event
from wiretool.conformance.active.outcomes import find_outcome
from wiretool.conformance.case import (
    CLOSED,
    NOTHING,
    Case,
    Conformance,
    Connect,
    Expect,
    ExpectAll,
    Finish,
    Incoming,
    Reply,
    Reset,
    Send,
    SendBytes,
    Step,
    Verdict,
    Wait,
)
from wiretool.conformance.results import CaseResult, Event
from wiretool.conformance.values import Bindings, resolved
from wiretool.net.calling import caller
from wiretool.protocols.base.protocol import Protocol

NS_PER_S = 1_000_000_000
#: After the last step: how long another message would be one too many.
SETTLE_S = 0.05
#: Whether a step is done, or waits for something to happen.
_DONE, _WAITS = True, False


class CaseRun:
    """Carries out the steps of a case. Each call returns the acts that follow from it."""

    def __init__(
        self,
        case: Case,
        part: Conformance,
        protocol: Protocol,
        *,
        token: str,
        numbers: Iterator[int],
        patience_ns: int,
    ) -> None:
        self.case = case
        self._part = part
        self._protocol = protocol
        self._numbers = numbers
        self._patience_ns = patience_ns
        self._bindings = Bindings(token)
        self._ignored = part.ignore | case.ignore
        self._at = 0
        #: Since when the present step waits.
        self._since_ns: int | None = None
        #: Of ExpectAll: the replies that are still missing.
        self._missing: list[Reply] | None = None
        self._connections: dict[str, CaseConnection] = {}
        #: Connections that the case ended itself, or that it saw the server end.
        self._ended: set[str] = set()
        self._labels: dict[int, str] = {}
        self._acts: list[caller.Act] = []
        self._events: list[Event] = []
        self._started_ns = 0
        #: The best verdict so far that is not a plain pass.
        self._graded: Reply | None = None
        self.wake_ns: int | None = None
        self.result: CaseResult | None = None
        #: Whether the server refused or reset a connection, and has sent nothing in the case.
        self.is_cut = False

    def has(self, number: int) -> bool:
        """Return whether a connection is one of this case."""
        return number in self._labels

    # -- what happened -------------------------------------------------------------------------------------------------

    def start(self, now_ns: int) -> list[caller.Act]:
        """Begin with the first step."""
        self._started_ns = now_ns
        return self._advance(now_ns)

    def opened(self, number: int, now_ns: int) -> list[caller.Act]:
        """The server has accepted a connection."""
        self._connection(number).is_open = True
        return self._advance(now_ns)

    def received(self, number: int, data: bytes, now_ns: int) -> list[caller.Act]:
        """The server has sent bytes."""
        connection, label = self._connection(number), self._labels[number]
        for incoming in connection.feed(data):
            self._note(now_ns, label, "server", incoming.name, incoming.fields, incoming.problems)
            if self._part.may_end_after(incoming):
                self._ended.add(label)
            for name, fields in self._part.auto_reply(incoming):
                self._send(label, connection.encode(name, fields), name, fields, now_ns)
        return self._advance(now_ns)

    def lost(self, number: int, why: str, now_ns: int) -> list[caller.Act]:
        """The connection is gone; `why` is the report of the network, empty for an orderly end."""
        if why and all(event.side == "client" for event in self._events):
            self.is_cut = True
        connection = self._connection(number)
        if not connection.ended:
            connection.why_lost = why
        return self.ended(number, lost_event(why) if why else CLOSED, now_ns)

    def ended(self, number: int, how: str, now_ns: int) -> list[caller.Act]:
        """The server has closed a connection, or it was lost."""
        connection, label = self._connection(number), self._labels[number]
        if not connection.is_open:
            self._finish(Verdict.ERROR, now_ns, f"connection {label}: {how}")
        elif not connection.ended:
            for incoming in connection.end(how):
                self._note(now_ns, label, "server", incoming.name, incoming.fields, incoming.problems)
            self._note(now_ns, label, "server", how)
        return self._advance(now_ns)

    def woken(self, now_ns: int) -> list[caller.Act]:
        """It is `wake_ns` or later."""
        return self._advance(now_ns)

    def stop(self, why: str, now_ns: int) -> list[caller.Act]:
        """End the case before its last step."""
        if self.result is None:
            self._finish(Verdict.ERROR, now_ns, why)
        return self._take_acts()

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _advance(self, now_ns: int) -> list[caller.Act]:
        self.wake_ns = None
        while self.result is None:
            if self._at == len(self.case.steps):
                self._settle(now_ns)
                break
            if self._do(self.case.steps[self._at], now_ns) is _WAITS:
                break
            self._at += 1
            self._since_ns = self._missing = None
        return self._take_acts()

    def _take_acts(self) -> list[caller.Act]:
        acts, self._acts = self._acts, []
        return acts

    def _do(self, step: Step, now_ns: int) -> bool:
        if isinstance(step, Wait):
            return self._is_past(step.seconds, now_ns) or self._is_decided()
        connection = self._ready(step)
        if connection is None:
            return _WAITS
        if isinstance(step, Send):
            fields = resolved(step.fields, self._bindings)
            valid = connection.encode(step.message, fields)
            data = step.change(valid) if step.change else valid
            self._send(step.on, data, step.message, fields, now_ns, is_held=step.is_held)
            self._events[-1] = self._events[-1]._replace(change=change_of(valid, data))
        elif isinstance(step, SendBytes):
            data = step.data if isinstance(step.data, bytes) else step.data(self._bindings)
            self._send(step.on, data, step.words, {"bytes": data.hex()}, now_ns, is_held=step.is_held)
        elif isinstance(step, Finish):
            self._ended.add(step.on)
            self._acts.append(caller.Finish(connection.number))
            self._note(now_ns, step.on, "client", "(sends no more)")
        elif isinstance(step, Reset):
            self._ended.add(step.on)
            self._acts.append(caller.Abort(connection.number))
            self._note(now_ns, step.on, "client", "(connection reset)")
        elif isinstance(step, Expect):
            return self._expect(step, connection, now_ns)
        elif isinstance(step, ExpectAll):
            return self._expect_all(step, connection, now_ns)
        return _DONE

    def _is_decided(self) -> bool:
        """Return whether waiting changes nothing: later steps open no connection, and all that are open have ended."""
        labels = {step.on for step in self.case.steps[self._at :] if not isinstance(step, Wait)}
        reset = {step.on for step in self.case.steps[: self._at] if isinstance(step, Reset)}
        ended = {label for label, connection in self._connections.items() if connection.ended}
        return bool(labels) and labels <= ended and self._connections.keys() <= ended | reset

    def _ready(self, step: Connect | Send | SendBytes | Expect | ExpectAll | Finish | Reset) -> CaseConnection | None:
        """Return the connection of a step, None while it is being opened."""
        connection = self._connections.get(step.on)
        if connection is None:
            connection = self._connections[step.on] = CaseConnection(self._protocol, next(self._numbers))
            self._labels[connection.number] = step.on
            endpoint = step.endpoint if isinstance(step, Connect) else ""
            self._acts.append(caller.Dial(connection.number, self._part.server, endpoint or self._part.endpoint))
        return connection if connection.is_open else None

    def _send(
        self,
        label: str,
        data: bytes,
        name: str,
        fields: Mapping[str, Any],
        now_ns: int,
        *,
        is_held: bool = False,
    ) -> None:
        connection = self._connections[label]
        connection.note_sent(data)
        connection.held += data
        if not is_held:
            self._acts.append(caller.Send(connection.number, bytes(connection.held)))
            connection.held.clear()
        self._note(now_ns, label, "client", name, fields)

    # -- replies -------------------------------------------------------------------------------------------------------

    def _expect(self, step: Expect, connection: CaseConnection, now_ns: int) -> bool:
        incoming = self._next(connection)
        if incoming is None and not connection.ended:
            if not self._is_past(self._wait_s(step.within_s), now_ns):
                return _WAITS
            return self._judge(step, NOTHING, None, now_ns)
        if step.after_s and not self._is_past(step.after_s, now_ns):
            since_ns = now_ns if self._since_ns is None else self._since_ns
            waited_s = (now_ns - since_ns) / NS_PER_S
            what = f"{incoming.name} came" if incoming else connection.end_words
            self._fail(
                step, step.outcomes, f"{what} after {waited_s:.3f} s, before {step.after_s:g} s", now_ns, incoming
            )
            return _WAITS
        return self._judge(step, incoming.name if incoming else CLOSED, incoming, now_ns)

    def _judge(self, step: Expect, name: str, incoming: Incoming | None, now_ns: int) -> bool:
        """Decide an expectation by the outcome. Return whether the case goes on."""
        outcomes = tuple(each for each in step.outcomes if each.is_possible(self._bindings))
        words = self._connections[step.on].end_words if name == CLOSED else OUTCOME_WORDS.get(name, "")
        outcome, why = self._fitting(outcomes, name, incoming, words)
        if outcome is None:
            self._fail(step, outcomes, why, now_ns, incoming)
            return _WAITS
        if outcome.verdict is Verdict.FAIL:
            self._fail(step, outcomes, outcome.why, now_ns, incoming)
            return _WAITS
        if name == CLOSED:
            self._ended.add(step.on)
        if outcome.verdict is not Verdict.PASS:
            self._graded = outcome
        if outcome.verdict in (Verdict.UNSUPPORTED, Verdict.NOT_EXERCISED):
            self._finish(outcome.verdict, now_ns, outcome.why)
            return _WAITS
        if outcome.is_last:
            self._at = len(self.case.steps) - 1
        return _DONE

    def _fitting(
        self, outcomes: Sequence[Reply], name: str, incoming: Incoming | None, words: str = ""
    ) -> tuple[Reply | None, str]:
        """Return the first outcome that fits, or None with the reason: `words` where the outcome is not a message."""
        outcome, self._bindings, why = find_outcome(outcomes, name, incoming, self._bindings, words=words)
        return outcome, why

    def _expect_all(self, step: ExpectAll, connection: CaseConnection, now_ns: int) -> bool:
        if self._missing is None:
            self._missing = list(step.replies)
        while self._missing:
            incoming = self._next(connection)
            if incoming is None:
                if connection.ended:
                    self._fail(step, self._missing, connection.end_words, now_ns)
                elif self._is_past(self._wait_s(step.within_s), now_ns):
                    self._fail(step, self._missing, OUTCOME_WORDS[NOTHING], now_ns)
                return _WAITS
            outcome, why = self._fitting(self._missing, incoming.name, incoming)
            if outcome is None:
                self._fail(step, self._missing, why, now_ns, incoming)
                return _WAITS
            self._missing.remove(outcome)
        return _DONE

    def _next(self, connection: CaseConnection) -> Incoming | None:
        """Return the next message that means something; those that are ignored are taken out."""
        while connection.inbox:
            incoming = connection.inbox.popleft()
            if incoming.name not in self._ignored or incoming.problems or self._is_awaited(incoming.name):
                return incoming
        return None

    def _is_awaited(self, name: str) -> bool:
        step = self.case.steps[self._at] if self._at < len(self.case.steps) else None
        if isinstance(step, Expect):
            return any(each.message == name for each in step.outcomes)
        return isinstance(step, ExpectAll) and any(each.message == name for each in step.replies)

    # -- time ----------------------------------------------------------------------------------------------------------

    def _wait_s(self, within_s: float | None) -> float:
        return self._patience_ns / NS_PER_S if within_s is None else within_s

    def _is_past(self, seconds: float, now_ns: int) -> bool:
        """Return whether so long has passed since the present step began to wait; else it is woken then."""
        if self._since_ns is None:
            self._since_ns = now_ns
        due_ns = self._since_ns + round(seconds * NS_PER_S)
        if now_ns >= due_ns:
            return True
        self.wake_ns = due_ns
        return False

    # -- the end -------------------------------------------------------------------------------------------------------

    def _settle(self, now_ns: int) -> None:
        """After the last step: a message, or the end of a connection, that nothing asked for is a failure."""
        for label, connection in self._connections.items():
            incoming = self._next(connection)
            if incoming is not None:
                self._mark(label, incoming)
                self._finish(Verdict.FAIL, now_ns, f"unexpected {incoming.name}", expected="no further message")
                return
            if connection.ended and label not in self._ended:
                self._mark(label)
                self._finish(Verdict.FAIL, now_ns, connection.end_words, expected="an open connection")
                return
        if not self._is_past(SETTLE_S, now_ns):
            return
        graded = self._graded
        self._finish(graded.verdict if graded else Verdict.PASS, now_ns, graded.why if graded else "")

    def _fail(
        self,
        step: Expect | ExpectAll,
        expected: Sequence[Reply],
        difference: str,
        now_ns: int,
        incoming: Incoming | None = None,
    ) -> None:
        self._mark(step.on, incoming)
        words = " or ".join(each.describe(self._bindings) for each in expected if each.verdict is not Verdict.FAIL)
        self._finish(Verdict.FAIL, now_ns, f"{difference}; expected {words}", expected=words, difference=difference)

    def _mark(self, label: str, incoming: Incoming | None = None) -> None:
        """Mark a message in the transcript; without one, the last entry of the connection."""
        for at in range(len(self._events) - 1, -1, -1):
            event = self._events[at]
            if event.on == label and (incoming is None or event.fields is incoming.fields):
                self._events[at] = event._replace(is_marked=True)
                return

    def _finish(self, verdict: Verdict, now_ns: int, why: str, *, expected: str = "", difference: str = "") -> None:
        self.result = CaseResult(
            self.case, verdict, why, expected, difference, (now_ns - self._started_ns) / NS_PER_S, tuple(self._events)
        )
        self.wake_ns = None
        self._acts += [caller.Abort(each.number) for each in self._connections.values() if each.is_open]

    def _connection(self, number: int) -> CaseConnection:
        return self._connections[self._labels[number]]

    def _note(
        self,
        now_ns: int,
        label: str,
        side: Any,
        name: str,
        fields: Mapping[str, Any] | None = None,
        problems: tuple[str, ...] = (),
    ) -> None:
        self._events.append(Event(now_ns, label, side, name, fields, problems))
