"""Recognise the conversation of a case in recorded traffic, and judge what the server replied there.

A recording exercises a case where the client's messages are those that the case sends: literal values are equal, and
placeholders are bound to what is found. A name that the case makes up must be new there, as it is in an active run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
from wiretool.conformance.case_run import NS_PER_S, SETTLE_S, first_difference_in, has_problem
from wiretool.conformance.observed import Closing, Missing, Observed, ObservedConnection
from wiretool.conformance.values import Bindings, Number, Subset, Text, Uuid, Value, first_difference, resolved
from wiretool.errors import EncodeError
from wiretool.protocols.conversation import Protocol, let_go
from wiretool.protocols.encoder import SentMessage

#: Connections that are tried for the second label of a case, in the order in which they were opened.
NEIGHBOURS_MAX = 4
#: The longest chain of names in one value that is looked into.
_DEPTH_MAX = 8


@dataclass(frozen=True, slots=True)
class Sighting:
    """A place in a recording where a case was exercised, and the verdict there."""

    verdict: Verdict
    why: str = ""
    expected: str = ""
    connection: int = 0
    #: The record that the verdict is about.
    n: int = 0
    time_ns: int = 0


class _NoMatch(Exception):
    """The recording does not show this case here."""


class _Undecided(Exception):
    """A gap, or the end of the capture, leaves open what the server replied."""


class _Judged(Exception):
    """The server's reply decides the case."""

    def __init__(self, sighting: Sighting) -> None:
        super().__init__()
        self.sighting = sighting


class NameIndex:
    """Where each name and number of the clients is seen first, by the number of its record."""

    def __init__(self, connections: Sequence[ObservedConnection]) -> None:
        self._first: dict[Any, int] = {}
        for connection in connections:
            for message in connection.sent_by("client"):
                for value in _leaves(message.fields, 0):
                    known = self._first.get(value, message.n)
                    self._first[value] = min(known, message.n)

    def is_new(self, value: Any, n: int) -> bool:
        """Return whether no message before record `n` has a value."""
        return self._first.get(value, n) >= n


def _leaves(value: Any, depth: int) -> list[Any]:
    if depth > _DEPTH_MAX:
        return []
    if isinstance(value, Mapping):
        return [leaf for each in value.values() for leaf in _leaves(each, depth + 1)]
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in _leaves(each, depth + 1)]
    return [value] if isinstance(value, str | int) else []


@dataclass(slots=True)
class _Cursor:
    """The progress along one connection, by label."""

    connection: ObservedConnection
    #: The next item of the connection for each side.
    client_at: int = 0
    server_at: int = 0
    #: When the client's last message was sent.
    sent_ns: int = 0
    #: Whether it left together with the next one.
    is_held: bool = False
    ignored: list[str] = field(default_factory=list)


class ScriptMatch:
    """The attempt to find one case at one connection."""

    def __init__(
        self, case: Case, part: Conformance, protocol: Protocol, names: NameIndex, others: Sequence[ObservedConnection]
    ) -> None:
        self._case = case
        self._part = part
        self._protocol = protocol
        self._names = names
        self._others = others
        self._ignored = part.ignore | case.ignore
        self._bindings = Bindings(None)
        self._cursors: dict[str, _Cursor] = {}
        self._start_n = 0
        self._graded: Reply | None = None
        self._is_over = False

    def look(self, connection: ObservedConnection) -> Sighting | None:
        """Return the verdict where the case begins with this connection; None where it is not exercised there."""
        first = next((message.n for message in connection.sent_by("client")), 0)
        self._start_n = first
        label = next(step.on for step in self._case.steps if not isinstance(step, Wait))
        self._cursors[label] = _Cursor(connection, sent_ns=connection.opened_ns)
        try:
            for step in self._case.steps:
                self._follow(step)
                if self._is_over:
                    break
            self._settle()
        except (_NoMatch, _Undecided):
            return None
        except _Judged as judged:
            return judged.sighting
        last = self._cursors[label]
        verdict = self._graded.verdict if self._graded else Verdict.PASS
        why = self._graded.why if self._graded else ""
        return Sighting(verdict, why, "", last.connection.number, first, last.sent_ns)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _follow(self, step: Step) -> None:
        if isinstance(step, Wait):
            return
        cursor = self._cursor(step.on)
        if isinstance(step, Send):
            self._match_sent(step, cursor)
            cursor.is_held = step.is_held
        elif isinstance(step, SendBytes):
            self._match_bytes(step, cursor)
            cursor.is_held = step.is_held
        elif isinstance(step, Expect):
            self._judge(step.outcomes, cursor, step)
        elif isinstance(step, ExpectAll):
            self._judge_all(step, cursor)
        elif isinstance(step, Finish | Reset):
            self._match_closing(cursor)
        else:
            assert isinstance(step, Connect)

    def _cursor(self, label: str) -> _Cursor:
        """Return the cursor of a label; a new label takes the next connection that was opened."""
        if label not in self._cursors:
            used = {id(cursor.connection) for cursor in self._cursors.values()}
            opened_ns = min(cursor.connection.opened_ns for cursor in self._cursors.values())
            free = [each for each in self._others if id(each) not in used and each.opened_ns >= opened_ns]
            later = [each for each in free if each.number > min(c.connection.number for c in self._cursors.values())]
            if not later:
                raise _NoMatch
            connection = min(later, key=lambda each: each.number)
            self._cursors[label] = _Cursor(connection, sent_ns=connection.opened_ns)
        return self._cursors[label]

    def _next_sent(self, cursor: _Cursor) -> Observed:
        items = cursor.connection.items
        while cursor.client_at < len(items):
            item = items[cursor.client_at]
            cursor.client_at += 1
            if isinstance(item, Missing) and item.side == "client":
                raise _Undecided
            if cursor.is_held and not isinstance(item, Missing) and item.side == "server":
                raise _NoMatch
            if isinstance(item, Observed) and item.side == "client" and item.name not in self._automatic:
                cursor.sent_ns = item.time_ns
                return item
        raise _NoMatch

    @property
    def _automatic(self) -> frozenset[str]:
        """The client's messages that no step sends: acknowledgements that go out by themselves."""
        sent = {step.message for step in self._case.steps if isinstance(step, Send)}
        return self._part.ignore - sent

    def _match_sent(self, step: Send, cursor: _Cursor) -> None:
        message = self._next_sent(cursor)
        if step.change is not None:
            self._match_changed(step, message, cursor)
            return
        if message.name != step.message or message.problems:
            raise _NoMatch
        before = set(self._bindings.values)
        for name, expected in step.fields.items():
            if first_difference(expected, message.fields.get(name), self._bindings, name) is not None:
                raise _NoMatch
        if message.problems and not self._has_expected_problems(step, message):
            raise _NoMatch
        self._check_new(step, before)

    def _has_expected_problems(self, step: Send, message: Observed) -> bool:
        """Return whether the message of the case has problems of the same kinds."""
        data = self._encoded(step)
        reading = self._protocol.open(True).read("client", data, 0, len(data), 1)
        kinds = {defect.kind for defect in reading.defects}
        let_go(reading.defects)
        return {problem.partition(":")[0] for problem in message.problems} <= kinds

    def _check_new(self, step: Send, before: set[str]) -> None:
        """Names that are bound here must not have been used before this conversation."""
        for value in _made_up(step.fields):
            if isinstance(value, Text) and not self._names.is_new(value.resolve(self._bindings), self._start_n):
                raise _NoMatch
        for key, value in self._bindings.values.items():
            if key not in before and key in _made_up_keys(step.fields) and not self._names.is_new(value, self._start_n):
                raise _NoMatch

    def _match_changed(self, step: Send, message: Observed, cursor: _Cursor) -> None:
        assert step.change is not None
        self._match_raw(step.change(self._encoded(step)), message, cursor)

    def _encoded(self, step: Send) -> bytes:
        """Return the bytes of a message before its change."""
        try:
            fields = resolved(step.fields, self._bindings)
            pending = self._protocol.open_encoder().encode(SentMessage(step.message, "client", fields))
        except (AssertionError, EncodeError):
            raise _NoMatch from None
        if pending.data is None:
            raise _NoMatch
        return pending.data

    def _match_bytes(self, step: SendBytes, cursor: _Cursor) -> None:
        try:
            data = step.data if isinstance(step.data, bytes) else step.data(self._bindings)
        except AssertionError:
            raise _NoMatch from None
        self._match_raw(data, self._next_sent(cursor), cursor)

    def _match_raw(self, data: bytes, message: Observed, cursor: _Cursor) -> None:
        """The bytes may be several frames, or a part of one that the next step goes on with."""
        raw = message.raw
        while len(raw) < len(data) and data.startswith(raw):
            raw += self._next_sent(cursor).raw
        if raw != data:
            raise _NoMatch

    def _match_closing(self, cursor: _Cursor) -> None:
        later = (item for item in cursor.connection.items[cursor.client_at :] if not isinstance(item, Missing))
        own = next((item for item in later if item.side == "client"), None)
        if not isinstance(own, Closing):
            raise _NoMatch

    # -- replies -------------------------------------------------------------------------------------------------------

    def _next_reply(self, cursor: _Cursor, wanted: Sequence[Reply]) -> Observed | Closing | None:
        """Return the next message of the server or its end; None where nothing came."""
        awaited = {each.message for each in wanted}
        items = cursor.connection.items
        at = cursor.server_at
        while at < len(items):
            item = items[at]
            at += 1
            if isinstance(item, Missing) and item.side == "server":
                raise _Undecided
            if isinstance(item, Closing) and item.side == "server":
                return item
            if isinstance(item, Observed) and item.side == "server":
                if item.name in self._ignored and item.name not in awaited and not item.problems:
                    continue
                cursor.server_at = at
                return item
        return None

    def _judge(self, outcomes: tuple[Reply, ...], cursor: _Cursor, step: Expect | None) -> None:
        item = self._next_reply(cursor, outcomes)
        if step is not None and step.after_s and self._has_sent_more(cursor, item):
            raise _NoMatch
        if self._is_of_later_request(cursor, item):
            raise _NoMatch
        if isinstance(item, Closing) and item.how == "rst" and not cursor.connection.sent_by("server"):
            raise _Undecided  # the connection may not have been accepted
        if item is not None and self._was_silent_until(item, outcomes, cursor, step):
            cursor.server_at = cursor.connection.items.index(item)
            item = None
        if item is not None and any(each.message == NOTHING for each in outcomes) and self._has_asked(cursor, item):
            raise _NoMatch  # the client went on before the silence was over
        if item is None and not self._is_silence_known(cursor):
            raise _Undecided
        # Where the client did not wait as the case does, the end of the connection may have another cause.
        is_waited_for = isinstance(item, Closing) or any(each.message == NOTHING for each in outcomes)
        if item is not None and is_waited_for and self._went_on(cursor, item):
            raise _NoMatch
        name = item.name if isinstance(item, Observed) else CLOSED if item is not None else NOTHING
        outcome, why = self._fitting(outcomes, name, item if isinstance(item, Observed) else None)
        n = item.n if isinstance(item, Observed) else 0
        time_ns = item.time_ns if item is not None else cursor.sent_ns
        if outcome is not None and step is not None and step.after_s and item is not None:
            waited_s = (item.time_ns - cursor.sent_ns) / NS_PER_S
            if waited_s < step.after_s:
                what = f"{item.name} came" if isinstance(item, Observed) else "the connection was closed"
                outcome, why = None, f"{what} after {waited_s:.3f} s, before {step.after_s:g} s"
        if outcome is None or outcome.verdict is Verdict.FAIL:
            if item is not None and self._has_asked(cursor, item):
                raise _Undecided  # it may be about what the client sent since
            why = why or (outcome.why if outcome else "")
            words = " or ".join(each.describe(self._bindings) for each in outcomes)
            raise _Judged(
                Sighting(Verdict.FAIL, f"{why}; expected {words}", words, cursor.connection.number, n, time_ns)
            )
        if outcome.verdict is Verdict.NOT_EXERCISED:
            raise _NoMatch
        if outcome.verdict is Verdict.UNSUPPORTED:
            raise _Judged(Sighting(Verdict.UNSUPPORTED, outcome.why, "", cursor.connection.number, n, time_ns))
        if outcome.verdict is not Verdict.PASS:
            self._graded = outcome
        self._is_over = outcome.is_last

    def _has_sent_more(self, cursor: _Cursor, item: Observed | Closing | None) -> bool:
        """Return whether the client has sent more, or ended, before an outcome that silence brings about."""
        more = [each for each in cursor.connection.items[cursor.client_at :] if not isinstance(each, Missing)]
        until_ns = cursor.connection.recorded_until_ns if item is None else item.time_ns
        return any(each.side == "client" and each.time_ns <= until_ns for each in more)

    def _is_of_later_request(self, cursor: _Cursor, item: Observed | Closing | None) -> bool:
        """Return whether a reply is to a message of the client that the case has not sent, or not yet."""
        if not isinstance(item, Observed) or item.reply_to is None:
            return False
        later = cursor.connection.items[cursor.client_at :]
        return any(isinstance(each, Observed) and each.n == item.reply_to for each in later)

    def _went_on(self, cursor: _Cursor, item: Observed | Closing) -> bool:
        """Return whether the client sent more before this came, or closed the connection where the case does not."""
        closes = any(isinstance(step, Finish | Reset) for step in self._case.steps)
        later = cursor.connection.items[cursor.client_at :]
        return any(
            isinstance(each, Observed) or (isinstance(each, Closing) and not closes)
            for each in later
            if not isinstance(each, Missing) and each.side == "client" and each.time_ns <= item.time_ns
        )

    def _was_silent_until(
        self, item: Observed | Closing, outcomes: tuple[Reply, ...], cursor: _Cursor, step: Expect | None
    ) -> bool:
        """Return whether the silence that the case allows had lasted long enough when a reply came."""
        if step is None or step.within_s is None or all(each.message != NOTHING for each in outcomes):
            return False
        return item.time_ns - cursor.sent_ns >= round(step.within_s * NS_PER_S)

    def _has_asked(self, cursor: _Cursor, reply: Observed | Closing) -> bool:
        """Return whether the client sent something that the case has not sent yet, before a reply."""
        later = cursor.connection.items[cursor.client_at :]
        return any(
            isinstance(item, Observed)
            and item.side == "client"
            and item.name not in self._automatic
            and item.time_ns <= reply.time_ns
            for item in later
        )

    def _is_silence_known(self, cursor: _Cursor) -> bool:
        """Return whether the recording goes on after the client's last message, so that no reply means silence."""
        later = [
            item for item in cursor.connection.items if not isinstance(item, Missing) and item.time_ns > cursor.sent_ns
        ]
        return bool(later)

    def _judge_all(self, step: ExpectAll, cursor: _Cursor) -> None:
        missing = list(step.replies)
        while missing:
            item = self._next_reply(cursor, missing)
            if item is None and not self._is_silence_known(cursor):
                raise _Undecided
            name = item.name if isinstance(item, Observed) else CLOSED if item is not None else NOTHING
            outcome, why = self._fitting(tuple(missing), name, item if isinstance(item, Observed) else None)
            if outcome is None:
                words = " and ".join(each.describe(self._bindings) for each in missing)
                n = item.n if isinstance(item, Observed) else 0
                raise _Judged(Sighting(Verdict.FAIL, f"{why}; expected {words}", words, cursor.connection.number, n))
            missing.remove(outcome)

    def _fitting(self, outcomes: tuple[Reply, ...], name: str, item: Observed | None) -> tuple[Reply | None, str]:
        if item is not None and item.problems:
            outcomes = tuple(each for each in outcomes if has_problem(each, item.problems))
            if not outcomes:
                return None, f"{item.name}: {item.problems[0]}"
        why = {CLOSED: "the server closed the connection", NOTHING: "no reply came"}.get(name, "")
        for outcome in outcomes:
            if outcome.message != name:
                continue
            if item is None:
                return outcome, ""
            bindings = self._bindings.copy()
            difference = first_difference_in(outcome, Incoming(item.name, item.side, item.fields), bindings)
            if difference is None:
                self._bindings = bindings
                return outcome, ""
            why = why or f"{name}.{difference}"
        return None, why or f"{name} came"

    def _settle(self) -> None:
        """After the last step: a message that nothing asked for is a failure where the client sent no more."""
        for cursor in self._cursors.values():
            item = self._next_reply(cursor, ())
            if not isinstance(item, Observed):
                continue
            sent = [each for each in cursor.connection.items[cursor.client_at :] if isinstance(each, Observed)]
            if any(each.side == "client" and each.time_ns <= item.time_ns for each in sent):
                continue
            if item.time_ns <= cursor.sent_ns + round(SETTLE_S * NS_PER_S):
                why = f"unexpected {item.name}; expected no further message"
                raise _Judged(
                    Sighting(Verdict.FAIL, why, "no further message", cursor.connection.number, item.n, item.time_ns)
                )


def _made_up(value: Any) -> list[Value]:
    """Return the placeholders in a value for which a client makes names up."""
    if isinstance(value, Text | Uuid | Number):
        return [value]
    if isinstance(value, Subset):
        return _made_up(value.fields)
    if isinstance(value, Mapping):
        return [each for inner in value.values() for each in _made_up(inner)]
    if isinstance(value, list | tuple):
        return [each for inner in value for each in _made_up(inner)]
    return []


def _made_up_keys(value: Any) -> set[str]:
    return {each.key for each in _made_up(value) if isinstance(each, Uuid | Number)}
