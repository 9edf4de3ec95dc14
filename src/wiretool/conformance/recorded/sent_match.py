"""The client's side of a conversation: whether it sent what a case sends, and the names that it chose."""

from collections.abc import Mapping
from typing import Any

from wiretool.conformance.active.case_connection import CaseConnection
from wiretool.conformance.case import Finish, Reset, Send, SendBytes
from wiretool.conformance.recorded.match_state import FollowedConnection, MatchState
from wiretool.conformance.recorded.observed import Closing, Observed
from wiretool.conformance.recorded.sighting import NotShown
from wiretool.conformance.values import Bindings, Number, Subset, Text, Uuid, Value, first_difference, resolved
from wiretool.errors import EncodeError
from wiretool.protocols.base.encoder import SentMessage


def match_send(state: MatchState, step: Send, followed: FollowedConnection) -> None:
    """Match a message of the case with the client's next one."""
    if followed.raw_left:
        _match_raw(state, _encoded(state, step), followed.raw_left, followed)
        return
    message = state.take_sent(followed, step)
    before = set(state.bindings.values)
    if step.change is not None or not _has_fields(state, step, message):
        if step.change is None and not message.problems and not _may_omit_parts(step, message):
            raise NotShown
        _bind_alike(state, step, message)
        _match_raw(state, _encoded(state, step), message.raw, followed)
    _check_new(state, step, before)


def match_bytes(state: MatchState, step: SendBytes, followed: FollowedConnection) -> None:
    """Match irregular bytes of the case with those that the client sends next."""
    try:
        data = step.data if isinstance(step.data, bytes) else step.data(state.bindings)
    except AssertionError:  # a name in them is not bound
        raise NotShown from None
    _match_raw(state, data, followed.raw_left or state.take_sent(followed).raw, followed)


def match_closing(state: MatchState, step: Finish | Reset, followed: FollowedConnection) -> None:
    """Require that the client ends the connection next, as the case does."""
    at = followed.next_of_client(state.is_automatic)
    item = None if at is None else followed.items[at]
    how = "fin" if isinstance(step, Finish) else "rst"
    if at is None or not isinstance(item, Closing) or item.how != how or item.time_ns < state.waits_until_ns:
        raise NotShown
    followed.client_at = at + 1
    state.now_ns = max(state.now_ns, item.time_ns)


# -- bytes -------------------------------------------------------------------------------------------------------------


def _match_raw(state: MatchState, data: bytes, raw: bytes, followed: FollowedConnection) -> None:
    """Match bytes that may be several frames, or a part of one that the next step completes."""
    followed.raw_left = b""
    while len(raw) < len(data) and data.startswith(raw):
        raw += state.take_sent(followed).raw
    if not raw.startswith(data):
        raise NotShown
    followed.raw_left = raw[len(data) :]


def _encoded(state: MatchState, step: Send, bindings: Bindings | None = None) -> bytes:
    """Return the bytes of a message, changed as the case changes them."""
    try:
        fields = resolved(step.fields, bindings or state.bindings)
        pending = state.protocol.open_encoder().encode(SentMessage(step.message, "client", fields))
    except (AssertionError, EncodeError):  # a name in it is not bound
        raise NotShown from None
    if pending.data is None:
        raise NotShown
    return step.change(pending.data) if step.change is not None else pending.data


def _may_omit_parts(step: Send, message: Observed) -> bool:
    """Return whether a message with more fields may be that of the case: the objects in it have defaults."""
    return message.name == step.message and any(isinstance(each, Mapping | list) for each in step.fields.values())


def _bind_alike(state: MatchState, step: Send, message: Observed) -> None:
    """Bind the names of a message that the case changes, as far as it can still be decoded."""
    if message.name != step.message:
        return
    for name, expected in step.fields.items():
        attempt, found = state.bindings.copy(), message.fields.get(name)
        if found is not None and first_difference(expected, found, attempt, name) is None:
            state.bindings = attempt


def _has_fields(state: MatchState, step: Send, message: Observed) -> bool:
    """Return whether a message has the fields of the case, and binds its names."""
    if message.name != step.message:
        return False
    attempt = state.bindings.copy()
    for name, expected in step.fields.items():
        found = message.fields.get(name)
        if first_difference(expected, found, attempt, name) is not None or _has_other_parts(expected, found):
            return False
    if message.problems and not _has_expected_problems(state, step, message, attempt):
        return False
    state.bindings = attempt
    return True


def _has_expected_problems(state: MatchState, step: Send, message: Observed, bindings: Bindings) -> bool:
    """Return whether the message of the case has problems of the same kinds, even where it comes first."""
    read = CaseConnection(state.protocol, 0, "server").feed(_encoded(state, step, bindings))
    kinds = {problem.partition(":")[0] for each in read for problem in each.problems}
    return {problem.partition(":")[0] for problem in message.problems} <= kinds


# -- names -------------------------------------------------------------------------------------------------------------


def _check_new(state: MatchState, step: Send, before: set[str]) -> None:
    """Require that no message has the names that are bound here, before this conversation."""
    chosen = _chosen_values(step.fields)
    keys = {each.key for each in chosen if isinstance(each, Uuid | Number)} - before
    names = [each.resolve(state.bindings) for each in chosen if isinstance(each, Text)]
    names += [state.bindings.values[key] for key in keys if key in state.bindings.values]
    if not all(state.index.is_new(name, state.start_n) for name in names):
        raise NotShown


def _chosen_values(value: Any) -> list[Value]:
    """Return the placeholders in a value for which a client chooses names and numbers."""
    if isinstance(value, Text | Uuid | Number):
        return [value]
    if isinstance(value, Subset):
        return _chosen_values(value.fields)
    if isinstance(value, Mapping):
        return [each for inner in value.values() for each in _chosen_values(inner)]
    if isinstance(value, list | tuple):
        return [each for inner in value for each in _chosen_values(inner)]
    return []


def _has_other_parts(expected: Any, found: Any) -> bool:
    """Return whether a message has an object or a list that the case does not send; numbers and text are free."""
    if isinstance(expected, Subset):
        expected = expected.fields
        more = (value for name, value in found.items() if name not in expected)
        if any(isinstance(value, Mapping | list) and value for value in more):
            return True
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        return any(_has_other_parts(value, found.get(name)) for name, value in expected.items())
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        return any(_has_other_parts(one, other) for one, other in zip(expected, found, strict=True))
    return False
