"""The first role of a replay adapter: the meaning of the frames of a recording."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.codec.message import Issued, Message, Position, Role
from wiretool.faults.adapter import Form, fault_adapter_of
from wiretool.faults.places import Pattern, roles_in, values_at
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record
from wiretool.replay.adapter.values import Identity, Place, Steps


class Analysis:
    """Values with a role in frames, and which frames are sent again."""

    #: The role of the names of what requests are about, of which servers may have made up a part.
    name_role: Issued | None = None

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.dialect = fault_adapter_of(protocol)
        self.identity = Identity()

    def study(self, recording: Recording) -> None:
        """Look over a recording before it is spoken again: what one frame means, another may tell."""

    def untaken(self, recording: Recording) -> Mapping[int, str]:
        """The requests, by number, that the recorded server never took and clients made again later, and why."""
        return {}

    def apart(self, recording: Recording) -> Mapping[Dialogue, str]:
        """The connections of the protocol that are not spoken again, and why."""
        return {}

    def form(self, record: Record) -> Form:
        """The fields of a frame in their JSON form; of one that is no declared message, what is known of it."""
        fields = record.fields
        if isinstance(fields, Message) or (
            fields is not None and (record.side, record.message) in self.dialect.declared
        ):
            return self.dialect.form(record)
        return fields if fields is not None else {"raw": record.raw.hex()}

    def roles(self, record: Record) -> Sequence[tuple[Pattern, Role]]:
        """Where in such frames values with a role stand."""
        cls = self.dialect.declared.get((record.side, record.message))
        return () if cls is None else _roles(cls)

    def places(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        """The values with a role in a frame; `request` is what it answers, as it was recorded."""
        found = []
        for pattern, role in self.roles(record):
            for steps, value in values_at(form, pattern):
                within = self.within(role, steps, form, record, request)
                found.append(Place(steps, value, role, within))
        return found

    def told(self, record: Record, form: Form, request: Record | None = None) -> Sequence[Place]:
        """What follows from what a server says, and clients then say, though it does not stand there as such."""
        return ()

    def within(self, role: Role, steps: Steps, form: Form, record: Record, request: Record | None) -> Hashable:
        """What a value counts within: what the field says that its role names, in the frame or in its request."""
        name = role.within if isinstance(role, Issued | Position) else ""
        if not name:
            return None
        if name in form:
            return _hashable(form[name])
        asked = getattr(request.fields, name, None) if request is not None else None
        return _hashable(asked)

    def is_said(self, record: Record) -> bool:
        """Whether a frame of the client is spoken again."""
        return True

    def is_basis(self, record: Record) -> bool:
        """Whether what a client says later means nothing without this: it is said whatever else is chosen."""
        return False

    def stem(self, name: str) -> str:
        """What no server made up of the name of what a request is about."""
        return name

    def door(self, dialogue: Dialogue) -> str:
        """Which of the addresses of a server a connection goes to: the name of a mock's door, empty for its first."""
        return ""


@cache
def _roles(cls: type[Message]) -> Sequence[tuple[Pattern, Role]]:
    return tuple(roles_in(cls))


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else repr(value)
