"""The first message of cases, compared with each connection once: many cases begin alike."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from wiretool.conformance.case import Case, Conformance, Connect, Send, Wait
from wiretool.conformance.match_state import FollowedConnection, MatchState
from wiretool.conformance.observed import ObservedConnection
from wiretool.conformance.sent_match import match_send
from wiretool.conformance.sighting import NotShown
from wiretool.conformance.traffic_index import TrafficIndex
from wiretool.conformance.values import Value


class OpeningIndex:
    """Finds the connections on which a case may begin."""

    def __init__(self, part: Conformance, index: TrafficIndex) -> None:
        self._part = part
        self._index = index
        #: Whether a connection begins with a message, by the message and the number of the connection.
        self._fits: dict[tuple[Hashable, int], bool] = {}

    def connections(self, case: Case) -> list[ObservedConnection]:
        """Return the connections whose first message may be that of a case."""
        label = next(step.on for step in case.steps if not isinstance(step, Wait))
        candidates = self._index.candidates(case, label)
        step = next((each for each in case.steps if not isinstance(each, Connect)), None)
        if not isinstance(step, Send):
            return candidates
        key = (case.variant, _key(step.fields), step.message, step.change, _ignored(case, self._part))
        return [each for each in candidates if self._is_fitting(key, case, step, each)]

    def _is_fitting(self, key: Hashable, case: Case, step: Send, connection: ObservedConnection) -> bool:
        pair = (key, connection.number)
        if pair not in self._fits:
            state = MatchState(case, self._part, self._part.protocol_in(case.variant), self._index)
            state.begin(connection)
            try:
                match_send(state, step, FollowedConnection(connection))
                self._fits[pair] = True
            except NotShown:
                # A client that sent nothing may still show a case that the server decides before.
                self._fits[pair] = not connection.sent_by("client")
        return self._fits[pair]


def _ignored(case: Case, part: Conformance) -> frozenset[str]:
    """Return the messages that no step of a case sends, and that may come at any time."""
    return part.ignore - {step.message for step in case.steps if isinstance(step, Send)}


def _key(value: Any) -> Hashable:
    """Return a key that equal values and equal placeholders share."""
    if isinstance(value, Value):
        return (type(value), _key(vars(value)))
    if isinstance(value, Mapping):
        return tuple((name, _key(each)) for name, each in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return tuple(_key(each) for each in value)
    assert isinstance(value, Hashable)
    return (type(value), value)
