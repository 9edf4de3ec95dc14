"""What of a frame is the caller's own: what it asks of what, whatever ids stand in it."""

from collections.abc import Hashable, Sequence
from typing import Any

from wiretool.codec.message import Issued, Position, Role, Varies
from wiretool.faults.dialects.dialect import Form, Kind
from wiretool.faults.places import Pattern, values_at, with_value
from wiretool.records import Record
from wiretool.replay.manners.manner import Difference, Excuse, Manner, Place, is_noise
from wiretool.sessions.dialogues import Dialogue, Recording
from wiretool.sessions.subjects import Subject, Subjects

#: Ids of clients: each stands for another in the other capture, within its connection.
CLIENT_ID = Issued("client id")


class Eye(Manner):
    """A manner that sees the ids of clients as it sees those of servers: another run has others."""

    def __init__(self, manner: Manner) -> None:
        super().__init__(manner.protocol)
        self._manner = manner
        self._known_ids: dict[Kind, Sequence[Pattern]] = {}

    def form(self, record: Record) -> Form:
        return self._manner.form(record)

    def roles(self, record: Record) -> Sequence[tuple[Pattern, Role]]:
        return [*self._manner.roles(record), *((pattern, CLIENT_ID) for pattern in self._ids(record))]

    def places(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        found = [*self._manner.places(record, form, request), *self.ids(record, form)]
        return found + [Place(steps, None, Varies(), None) for steps in self.dialect.carriage_in(record, form)]

    def has_ids(self, record: Record) -> bool:
        """Whether ids of clients may stand in such a frame."""
        return bool(self._ids(record))

    def ids(self, record: Record, form: Form) -> Sequence[Place]:
        """The ids of clients in a frame."""
        found = [each for pattern in self._ids(record) for each in values_at(form, pattern)]
        return [Place(steps, value, CLIENT_ID, record.connection) for steps, value in found if value is not None]

    def _ids(self, record: Record) -> Sequence[Pattern]:
        kind = record.side, record.message
        if kind not in self._known_ids:
            self._known_ids[kind] = self.dialect.client_ids(kind)
        return self._known_ids[kind]

    def own(self, record: Record) -> Hashable:
        """What a frame says, without values that a server or the run has made up."""
        made: Any = self.form(record)
        for place in self.places(record, made):
            if is_noise(place.role) or isinstance(place.role, Issued | Position):
                made = with_value(made, place.steps, None)
        return record.message, repr(made)

    # -- what the protocol's own manner knows --------------------------------------------------------------------------

    def study(self, recording: Recording) -> None:
        self._manner.study(recording)

    def wants_answer(self, request: Record) -> bool:
        return self._manner.wants_answer(request)

    def hear(self, record: Record) -> None:
        self._manner.hear(record)

    def settles(self, reply: Record, waiting: Any) -> Sequence[int]:
        return self._manner.settles(reply, waiting)

    def is_expected(self, reply: Record) -> bool:
        return self._manner.is_expected(reply)

    def excuse(self, difference: Difference, recorded: Record, live: Record, request: Record | None) -> Excuse | None:
        return self._manner.excuse(difference, recorded, live, request)

    def excuse_missing(self, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        return self._manner.excuse_missing(recorded, request, dialogue)

    def excuse_extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        return self._manner.excuse_extra(live, request, dialogue)


def subjects_of(recording: Recording) -> dict[int, tuple[Subject, ...]]:
    """What each frame is about, by its number."""
    subjects = Subjects()
    records = (record for dialogue in recording.dialogues for record in dialogue.records)
    return {record.n: subjects.of(record) for record in records if record.kind == "frame"}
