"""The bytes of a message with edits applied, and with live values in the place of recorded ones."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from wiretool.codec.message import Message
from wiretool.faults.actions import Change
from wiretool.faults.adapter import FaultAdapter, Form
from wiretool.fuzz.sequences.sequence import Edit, IssuedValue, Sending, SetField, Splice
from wiretool.protocols.base.conversation import Conversation
from wiretool.records import Record
from wiretool.replay.playing.id_map import Values


class Rewriter:
    """Encodes messages of one protocol again."""

    def __init__(self, adapter: FaultAdapter) -> None:
        self._adapter = adapter

    def encode(self, record: Record, edits: Sequence[Edit], conversation: Conversation, form: Any = None) -> bytes:
        """Return the frame of a recorded message with edits. EncodeError where the edited message has no bytes."""
        fields = [edit for edit in edits if isinstance(edit, SetField)]
        splices = [edit for edit in edits if isinstance(edit, Splice)]
        data = record.raw
        if fields or form is not None:
            made = form_of(self._adapter, record) if form is None else form
            made = self._adapter.changed(made, [Change(edit.steps, edit.value) for edit in fields])
            data = self._adapter.frame(record, made, record.raw, conversation, random.Random(record.n))
        return spliced(data, splices)

    def with_live_values(self, sending: Sending, ids: Values, conversation: Conversation) -> bytes:
        """Return the bytes of a message with the values that the live server issued."""
        if not sending.depends or sending.record is None:
            return sending.data
        changes = [
            Change(value.steps, live)
            for value in sending.issued[""]
            if (live := ids.live_of(value.role, value.scope, value.recorded)) != value.recorded
        ]
        if not changes:
            return sending.data
        made = self._adapter.changed(form_of(self._adapter, sending.record), changes)
        return self.encode(sending.record, sending.edits, conversation, made)

    def learn(self, issued: Sequence[IssuedValue], reply: Record, ids: Values) -> None:
        """Note the values that a live reply issues in the place of recorded ones."""
        form = form_of(self._adapter, reply)
        for value in issued:
            live = _value_at(form, value.steps)
            if type(live) is type(value.recorded) and live not in value.role.besides:
                ids.learn(value.role, value.scope, value.recorded, live)


def _value_at(form: Any, steps: Sequence[str | int]) -> Any:
    """Return the value at the end of some steps; None where the form has no such place."""
    for step in steps:
        if type(form) is dict or isinstance(form, Mapping):
            form = form.get(step)
        elif isinstance(form, Sequence) and type(step) is int and step < len(form):
            form = form[step]
        else:
            return None
    return form


def spliced(data: bytes, splices: Sequence[Splice]) -> bytes:
    """Return bytes with splices applied one after the other; those beyond the end have no effect."""
    for offset, removed, inserted in splices:
        data = data[:offset] + inserted + data[offset + removed :]
    return data


def form_of(adapter: FaultAdapter, record: Record) -> Form:
    """Return the fields of a record in their JSON form; of one that no declaration has, as far as they are known."""
    if (record.side, record.message) in adapter.declared or isinstance(record.fields, Message):
        return adapter.form(record)
    return record.fields if record.fields is not None else {}
