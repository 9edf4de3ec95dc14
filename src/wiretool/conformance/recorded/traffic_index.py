"""An index of a recording: names of its clients, automatic replies, and connections by their first messages."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wiretool.conformance.case import Case, Conformance, Incoming, Send, SendBytes
from wiretool.conformance.recorded.observed import Observed, ObservedConnection

#: The deepest nesting of a value in which names are looked up.
_DEPTH_MAX = 8
#: The number of messages by which connections are indexed.
_PREFIX_MAX = 12


class TrafficIndex:
    """Facts of a recording as a whole, collected once for all cases."""

    def __init__(self, part: Conformance, connections: Sequence[ObservedConnection]) -> None:
        self._part = part
        #: Records of messages with which a client only reacts, as acknowledgements of settings.
        self.automatic = frozenset(n for each in connections for n in _automatic_replies(each, part))
        #: Each name and number of the clients, and the record that has it first.
        self._first: dict[Any, int] = {}
        #: Connections by the names of their client's first messages, of as many as the key has, and of all.
        self._by_prefix: dict[tuple[str, ...], list[ObservedConnection]] = defaultdict(list)
        self._by_all: dict[tuple[str, ...], list[ObservedConnection]] = defaultdict(list)
        #: Servers whose packets were captured: one that sends nothing on a connection is silent there.
        captured = {connection.server for connection in connections if connection.has_server}
        for connection in connections:
            self._add_names(connection)
            if connection.is_whole and connection.server in captured:
                self._add_connection(connection)

    def is_new(self, value: Any, n: int) -> bool:
        """Return whether no message before record `n` has a value."""
        return self._first.get(value, n) >= n

    def candidates(self, case: Case, label: str) -> list[ObservedConnection]:
        """Return the connections whose client may have sent what a case sends on a label, by number."""
        names = _sent_names(case, label, self._part.ignore)
        found = list(self._by_prefix.get(names, ()))
        for length in range(len(names)):
            found += self._by_all.get(names[:length], ())
        return sorted(found, key=lambda each: each.number)

    def _add_names(self, connection: ObservedConnection) -> None:
        for message in connection.sent_by("client"):
            for value in _leaves(message.fields, 0):
                known = self._first.get(value, message.n)
                self._first[value] = min(known, message.n)

    def _add_connection(self, connection: ObservedConnection) -> None:
        names = tuple(
            message.name
            for message in connection.sent_by("client")
            if message.n not in self.automatic and message.name not in self._part.ignore
        )
        for length in range(min(len(names), _PREFIX_MAX) + 1):
            self._by_prefix[names[:length]].append(connection)
        if len(names) < _PREFIX_MAX:
            self._by_all[names].append(connection)


def _sent_names(case: Case, label: str, ignored: frozenset[str]) -> tuple[str, ...]:
    """Return the names of the first messages that a case sends on a label, up to irregular bytes."""
    names: list[str] = []
    for step in case.steps:
        if not isinstance(step, Send | SendBytes) or step.on != label:
            continue
        if isinstance(step, SendBytes) or step.change is not None or len(names) == _PREFIX_MAX:
            break
        if step.message not in ignored:
            names.append(step.message)
    return tuple(names)


def _automatic_replies(connection: ObservedConnection, part: Conformance) -> Iterator[int]:
    """Yield the records of messages that a client sends by itself when one of the server arrives."""
    waiting: list[tuple[str, Mapping[str, Any]]] = []
    for message in connection.messages:
        if message.side == "server":
            if not message.problems:
                waiting += part.auto_reply(Incoming(message.name, message.side, message.fields))
        elif (reply := next((each for each in waiting if _is_reply(message, *each)), None)) is not None:
            waiting.remove(reply)
            yield message.n


def _is_reply(message: Observed, name: str, fields: Mapping[str, Any]) -> bool:
    return message.name == name and all(message.fields.get(key) == value for key, value in fields.items())


def _leaves(value: Any, depth: int) -> Iterator[str | int]:
    if depth > _DEPTH_MAX:
        return
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each, depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each, depth + 1)
    elif isinstance(value, str | int):
        yield value
