"""The second role: frames with changes."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side, fields_of
from wiretool.errors import EncodeError
from wiretool.faults.actions import Answer, Change, Stale
from wiretool.faults.adapter.checking import Checking
from wiretool.faults.adapter.messages import Form
from wiretool.faults.places import (
    changed_at,
    with_value,
)
from wiretool.protocols.base.conversation import Conversation
from wiretool.records import Record


class Changing(Checking):
    """A frame changed, or made. EncodeError for what cannot be done with this one."""

    def form(self, record: Record) -> Form:
        """The fields of a frame in their JSON form."""
        fields = record.fields
        if isinstance(fields, Message):
            return json_form(fields)
        names = {field.name for field in fields_of(self._class_of((record.side, record.message)))}
        return {name: value for name, value in (fields or {}).items() if name in names}

    def changed(self, form: Form, changes: Sequence[Change]) -> Form:
        """The form with the changes made."""
        made: Any = form
        for change in changes:
            made = with_value(made, change.steps, change.value)
        return dict(made)

    def staler(self, record: Record, form: Form, action: Stale) -> Form:
        """The form with lower epochs or offsets; EncodeError where none can be lower."""
        made: Any = form
        for place in self.stale_places((record.side, record.message), action.what):
            made = changed_at(made, place, self.lower(action))
        if made is form:
            raise EncodeError(f"no {action.what} in it can be lower", path=record.message)
        return dict(made)

    def lower(self, action: Stale) -> Callable[[Any], Any]:
        """What becomes of one value: lower, but not below 0, and 0 or what stands for nothing stays."""
        return lambda value: max(value - action.by, 0) if type(value) is int and value > 0 else value

    def frame(self, record: Record, form: Form, first: bytes, conversation: Conversation, rng: random.Random) -> bytes:
        """The frame of `record` with other fields; `first` are the bytes of its first frame, should it have several."""
        message = self.protocol.from_json(record.message, record.side, form)
        return self.protocol.encode(message, record.side)

    def answer(self, action: Answer, record: Record, conversation: Conversation) -> bytes:
        """The frame of the server that answers `record`: what was given, and what it takes over."""
        cls = self._class_of(("server", action.message))
        form, source = self.form(record), self._wires((record.side, record.message))
        taken: dict[str, Any] = {}
        for field in fields_of(cls):
            name = self._source(field.name, field.wire, source)
            if name and name in form:
                taken[field.name] = form[name]
        message = self.protocol.from_json(action.message, "server", self.changed(taken, action.changes))
        return self.protocol.encode(message, "server")

    def instead(self, record: Record) -> bytes:
        """What goes on in place of a request that was answered here."""
        return b""

    def with_length(self, frame: bytes, by: int) -> bytes:
        """The frame with a length that is off by so much."""
        assert self.length is not None
        at, size = self.length
        length = int.from_bytes(frame[at : at + size], "big") + by
        if not 0 <= length < 256**size:
            raise EncodeError(f"a length of {length} does not fit {size} bytes")
        return frame[:at] + length.to_bytes(size, "big") + frame[at + size :]

    def with_wrong_checksum(self, frame: bytes) -> bytes:
        """The frame with a checksum that is wrong."""
        raise EncodeError(f"frames of {self.protocol.name} have no checksum")

    def with_right_checksum(self, frame: bytes) -> bytes:
        """Return the frame with the checksum that fits its payload, or as it is where frames have none."""
        return frame

    def why_fixed(self, side: Side, frame: bytes) -> str:
        """Why this frame must go on as it is and in its place, or empty where it need not."""
        return ""
