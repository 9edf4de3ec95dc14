"""What of a frame is the caller's own: what it asks of what, whatever ids stand in it."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.analysis.subjects import Subject, Subjects
from wiretool.codec.message import Issued, Position, Role, Varies
from wiretool.faults.adapter import Form, Kind
from wiretool.faults.places import Pattern, values_at, with_value
from wiretool.records import Record
from wiretool.replay.adapter import Breach, Difference, Excuse, Place, ReplayAdapter, is_noise
from wiretool.replay.playing.id_map import Values

#: Ids of clients: each stands for another in the other capture, within its connection.
CLIENT_ID = Issued("client id", is_unique=False)


class Eye(ReplayAdapter):
    """A manner that sees the ids of clients as it sees those of servers: another run has others."""

    def __init__(self, manner: ReplayAdapter) -> None:
        super().__init__(manner.protocol)
        self._manner = manner
        self.name_role = manner.name_role
        self._known_ids: dict[Kind, Sequence[Pattern]] = {}
        #: Names of the first recording of which it is known what they are in the second, as no server told it.
        self._bound: set[str] = set()

    def form(self, record: Record) -> Form:
        return self._manner.form(record)

    def roles(self, record: Record) -> Sequence[tuple[Pattern, Role]]:
        return [*self._manner.roles(record), *((pattern, CLIENT_ID) for pattern in self._ids(record))]

    def places(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        found = [*self._manner.places(record, form, request), *self.ids(record, form)]
        found += [place for place in self.made_names(record, form) if place.value in self._bound]
        return found + [Place(steps, None, Varies(), None) for steps in self.dialect.carriage_in(record, form)]

    def has_ids(self, record: Record) -> bool:
        """Whether ids of clients may stand in such a frame."""
        return bool(self._ids(record))

    def ids(self, record: Record, form: Form) -> Sequence[Place]:
        """The ids of clients in a frame."""
        found = [each for pattern in self._ids(record) for each in values_at(form, pattern)]
        return [Place(steps, value, CLIENT_ID, record.connection) for steps, value in found if value is not None]

    def made_names(self, record: Record, form: Form) -> Iterator[Place]:
        """The names in a frame of which a server has made up a part."""
        role = self.name_role
        if role is None:
            return
        for pattern in [pattern for pattern, each in self._manner.roles(record) if each == role]:
            for steps, value in values_at(form, pattern):
                if isinstance(value, str) and self.stem(value) != value:
                    yield Place(steps, value, role, None)

    def bind_names(self, values: Values, recorded: Record, live: Record) -> None:
        """Of two requests that are one: the made-up names are one, too, where no server has told what they are."""
        told = {place.steps: place.value for place in self.made_names(live, self.form(live))}
        for place in self.made_names(recorded, self.form(recorded)):
            role, name = place.role, told.get(place.steps)
            if name is None or not isinstance(role, Issued) or self.stem(name) != self.stem(place.value):
                continue
            if not (values.knows(role, None, place.value) or values.is_taken(role, None, name)):
                values.bind(role.kind, None, place.value, name)
                self._bound.add(place.value)

    def _ids(self, record: Record) -> Sequence[Pattern]:
        kind = record.side, record.message
        if kind not in self._known_ids:
            self._known_ids[kind] = self.dialect.client_ids(kind)
        return self._known_ids[kind]

    def own(self, record: Record) -> Hashable:
        """What a frame says, without values that a server or the run has made up."""
        form: Form = self.form(record)
        made: Any = form
        for place in self.places(record, form):
            if is_noise(place.role) or isinstance(place.role, Issued | Position):
                is_name = place.role == self.name_role
                made = with_value(made, place.steps, self.stem(place.value) if is_name else None)
        for place in self.made_names(record, form):
            made = with_value(made, place.steps, self.stem(place.value))
        return record.message, repr(made)

    # -- what the protocol's own manner knows --------------------------------------------------------------------------

    def study(self, recording: Recording) -> None:
        self._manner.study(recording)

    def anchor(self, values: Values) -> None:
        self._manner.anchor(values)

    def told(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        return self._manner.told(record, form, request)

    def stem(self, name: str) -> str:
        return self._manner.stem(name)

    def apart(self, recording: Recording) -> Mapping[Dialogue, str]:
        return self._manner.apart(recording)

    def untaken(self, recording: Recording) -> Mapping[int, str]:
        return self._manner.untaken(recording)

    def wants_answer(self, request: Record) -> bool:
        return self._manner.wants_answer(request)

    def follow(self, record: Record) -> None:
        self._manner.follow(record)

    def breach(self, live: Record, recorded: Record | None) -> Breach | None:
        return self._manner.breach(live, recorded)

    def pair(self, request: Record, live: Record) -> None:
        self._manner.pair(request, live)

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


def subjects_of(
    recording: Recording, manners: Mapping[str, ReplayAdapter] | None = None
) -> dict[int, tuple[Subject, ...]]:
    """What each frame is about, by its number.

    What servers made up in a name gives way to which of its kind it is: the first, the second, and so on.
    """
    subjects = Subjects()
    records = (record for dialogue in recording.dialogues for record in dialogue.records)
    about = {record.n: (record.protocol, subjects.of(record)) for record in records if record.kind == "frame"}
    places: dict[Subject, dict[str, int]] = {}

    def told(subject: Subject, manner: ReplayAdapter | None) -> Subject:
        stem = subject.name if manner is None or manner.name_role is None else manner.stem(subject.name)
        if stem == subject.name:
            return subject
        known = places.setdefault(subject._replace(name=stem), {})
        return subject._replace(name=f"{stem}#{known.setdefault(subject.name, len(known))}")

    known = manners or {}
    return {n: tuple(told(each, known.get(name)) for each in found) for n, (name, found) in sorted(about.items())}
