"""Tells lies: rewrites the message that is sent otherwise."""

from typing import Any

from tests.bench.census.lie import CONSTANT, TIES, Lie, Steps, same, values_in
from tests.bench.census.play import Reply, Rewrite, encoded
from wiretool.errors import EncodeError
from wiretool.faults.actions import Answer, Change
from wiretool.faults.adapter import FaultAdapter
from wiretool.faults.places import with_value
from wiretool.protocols.base.conversation import Conversation


def teller(lie: Lie) -> Rewrite:
    """Return what tells the lie when its message comes."""
    held: list[bytes] = []
    #: What this run said in the place of another message of the honest one.
    other: list[Reply] = []

    def rewrite(reply: Reply, dialect: FaultAdapter, conversation: Conversation) -> bytes:
        raw = reply.record.raw
        if lie.other is not None and reply.at == lie.other.at and reply.record.message == lie.other.record.message:
            other.append(reply)
        if lie.kind == "reorder":
            return _reordered(lie, reply, held)
        is_due = reply.at == lie.reply.at or lie.kind == "always"
        if not is_due or reply.record.message != lie.reply.record.message or reply.protocol != lie.reply.protocol:
            return raw
        made = _made(lie, reply, dialect, conversation, other[0] if other else lie.other)
        if made is None or made == raw:
            return raw
        lie.is_told = True
        lie.count += 1
        return made

    return rewrite


def _reordered(lie: Lie, reply: Reply, held: list[bytes]) -> bytes:
    assert lie.other is not None
    raw = reply.record.raw
    if reply.at == lie.reply.at:
        held.append(raw)
        return b""
    if reply.at == lie.other.at and held:
        lie.is_told = held[0] != raw
        return raw + held.pop()
    return raw


def _made(
    lie: Lie, reply: Reply, dialect: FaultAdapter, conversation: Conversation, other: Reply | None
) -> bytes | None:
    if lie.kind == "drop":
        return b""
    if lie.kind == "double":
        return reply.record.raw * 2
    if lie.kind == "replace":
        return _replaced(lie, reply, dialect, conversation, other)
    changes = lie.changes if lie.kind != "always" else _moved(lie, reply)
    try:
        form = dialect.changed(reply.form, [Change(steps, value) for steps, value in changes])
    except EncodeError:
        return None
    lie.form = form if reply.at == lie.reply.at else lie.form
    return encoded(reply, form, dialect, conversation)


def _moved(lie: Lie, reply: Reply) -> list[tuple[Steps, Any]]:
    """The change in another message of the kind: numbers move as far as in the first, all else says the same."""
    was, values = dict(values_in(lie.reply.form)), dict(values_in(reply.form))
    found = []
    for steps, now in lie.changes:
        value = values.get(steps)
        if type(value) is not type(was[steps]):
            continue
        is_number = type(value) in (int, float) and now not in (0, CONSTANT)
        found.append((steps, value + now - was[steps] if is_number else now))
    return found


def _replaced(
    lie: Lie, reply: Reply, dialect: FaultAdapter, conversation: Conversation, other: Reply | None
) -> bytes | None:
    if lie.failure:
        assert reply.request is not None
        try:
            return dialect.answer(Answer(lie.failure, ()), reply.request, conversation)
        except EncodeError:
            return None
    if lie.other is None or other is None:
        return None
    lie.form = _tied(lie.other.form, reply)
    if other.record.message == reply.record.message:
        was = dict(values_in(reply.form))
        lie.changes = [(steps, value) for steps, value in values_in(lie.form) if not same(value, was.get(steps))]
    made = _tied(other.form, reply)
    record = reply.record if reply.protocol == "pravega-controller" else other.record
    sent = Reply(reply.at, reply.protocol, record, made, reply.request, reply.dialogue, 0, 0)
    return encoded(sent, made, dialect, conversation)


def _tied(form: Any, reply: Reply) -> Any:
    """Return the fields of another message, with what ties it to the request of the reply that it replaces."""
    for name in TIES:
        if name in form and name in reply.form:
            form = with_value(form, (name,), reply.form[name])
    return form
