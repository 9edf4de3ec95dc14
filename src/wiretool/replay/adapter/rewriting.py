"""The second role: recorded requests with the values of the live server."""

import random
from collections.abc import Sequence
from typing import Any

import msgspec

from wiretool.analysis.dialogues import Dialogue
from wiretool.codec.message import Credential, Issued, Message, Named, Position, Role, fields_of
from wiretool.faults.places import with_value
from wiretool.protocols.base.conversation import Conversation
from wiretool.records import Record
from wiretool.replay.adapter.analysis import Analysis
from wiretool.replay.adapter.values import (
    Place,
    Talk,
    Wait,
)
from wiretool.replay.carrier import Carrier
from wiretool.replay.playing.id_map import Values


class Rewriting(Analysis):
    """Frames of clients as they are sent now, and what is sent beside them."""

    #: Whether bytes of the client that are no frame are said again as they are.
    is_said_raw = True

    def renewed(self, record: Record, values: Values, conversation: Conversation, rng: random.Random) -> bytes:
        """The frame of the client with what its values are now; EncodeError where that cannot be written."""
        if not self.may_change(record):
            return record.raw
        form = self.form(record)
        made: Any = form
        for place in self.places(record, form):
            live = self._live(place, values)
            if live != place.value:
                made = with_value(made, place.steps, live)
        return record.raw if made is form else self.dialect.frame(record, made, record.raw, conversation, rng)

    def may_change(self, record: Record) -> bool:
        """Whether anything in such frames of the client may be another now."""
        return any(isinstance(role, Issued | Position | Credential) for _, role in self.roles(record))

    def _live(self, place: Place, values: Values) -> Any:
        """What is said now in the place of a recorded value."""
        if isinstance(place.role, Credential) and self.identity.token is not None:
            return self.identity.token
        if isinstance(place.role, Issued | Position):
            return values.live_of(place.role, place.within, place.value)
        return place.value

    def signed(self, message: Message) -> Message:
        """A message of our own, with the proof of what we may do."""
        names = [field.name for field in fields_of(type(message)) if isinstance(field.role, Credential)]
        token = self.identity.token
        return msgspec.structs.replace(message, **dict.fromkeys(names, token)) if names and token else message

    def alias(self, record: Record, number: int) -> Record:
        """The frame as another client, of that number, says or hears it: with names of its own."""
        form = self.form(record) if record.kind == "frame" and self.roles(record) else {}
        made: Any = form
        for place in Analysis.places(self, record, form) if form else ():  # also those that mean nothing elsewhere
            name = self.other_name(place.role, place.value, number)
            if name != place.value:
                made = with_value(made, place.steps, name)
        if made is form:
            return record
        fields = self.protocol.from_json(record.message, record.side, made)
        raw = self.dialect.frame(record, made, record.raw, self.protocol.open(True), random.Random(number))
        return msgspec.structs.replace(record, fields=fields, raw=raw)

    def other_name(self, role: Role, name: Any, number: int) -> Any:
        """What the client of that number calls something, where names are the clients'."""
        return f"{name}-{number}" if isinstance(role, Named) and isinstance(name, str) else name

    def is_carriage(self, record: Record) -> bool:
        """Whether a frame only serves to carry others, and is neither said again nor heard."""
        return False

    def carrier(self, dialogue: Dialogue) -> Carrier | None:
        """What carries frames on a live connection; None where they are bytes as they are."""
        return None

    def is_greeted(self, dialogue: Dialogue) -> bool:
        """Whether a connection begins with words of our own: its first ones were not recorded."""
        return not dialogue.is_opened

    def greeting(self, dialogue: Dialogue) -> Talk:
        """What has to be said before the first recorded frame, where the recording begins in the middle."""
        yield from ()

    def reflex(self, live: Record, rng: random.Random) -> bytes:
        """What is said at once to what the server says, whatever was recorded: no more than a sign of life."""
        return b""

    def waits(self, record: Record) -> Sequence[Wait]:
        """What servers had done already when a frame of the client came, though no client knew of it."""
        return ()
