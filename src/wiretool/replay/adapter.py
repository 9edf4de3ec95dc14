"""How a protocol is spoken again, as far as its declarations say it."""

import random
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import msgspec

from wiretool.codec.message import Credential, Issued, Message, Named, Position, Role, Varies, fields_of
from wiretool.faults.adapter import Form, dialect_of
from wiretool.faults.places import Pattern, roles_in, values_at, with_value
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record
from wiretool.replay.carrier import Carrier
from wiretool.replay.values import Values
from wiretool.server.options import MockOptions
from wiretool.sessions.dialogues import Dialogue, Recording

#: Stands for what is not there.
ABSENT = "(absent)"
#: Says messages on a connection, each list at once, and is given the replies to all of them.
Talk = Generator[Sequence[Message], Sequence[Record], None]
#: Where in a form, and what of it is not as expected: recorded (as it should be now), and live.
Steps = tuple[str | int, ...]


class Verdict(IntEnum):
    """From what is well to what is not; of several in one exchange the last counts."""

    #: The server said what it was recorded to say.
    SAME = 0
    #: The same, once values that servers make up are exchanged for those of this one.
    MAPPED = 1
    #: What differs is another in each run.
    NOISE = 2
    #: It differs for a reason that is known.
    EXPLAINED = 3
    #: It was not recorded what the server answered, or the request could not be said.
    UNKNOWN = 4
    EXTRA = 5
    MISSING = 6
    DIFFERENT = 7

    @property
    def is_finding(self) -> bool:
        """Whether the replay has failed by it."""
        return self >= Verdict.EXTRA


class Difference(NamedTuple):
    """A place in a reply that is not as it should be; no steps where the message itself is not."""

    steps: Steps
    expected: Any
    live: Any
    #: In which of the replies, from 0; -1 stands for the request.
    at: int = 0


class Excuse(NamedTuple):
    """Why a difference is none of the server's."""

    verdict: Verdict
    why: str


class Breach(NamedTuple):
    """A rule of the protocol that a live message breaks, by what the live side said before it."""

    #: Where in the message it shows.
    difference: Difference
    why: str
    #: The number of the earlier live message that it contradicts; 0 where it is no single one.
    against: int = 0


class Wait(NamedTuple):
    """A reply on another connection that is waited for, though its client had not heard it yet: no longer than that."""

    dialogue: Dialogue
    reply: Record
    span_ns: int


class Place(NamedTuple):
    """A value with a role in one frame."""

    steps: Steps
    value: Any
    role: Role
    #: What a value counts within.
    within: Hashable
    #: The server makes it up here, whatever it was said of before.
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom clients speak now: what is given here takes the place of what was recorded."""

    #: What they call the server, in HTTP.
    host: str = ""
    #: Proof of what they may do, in messages that carry one.
    token: str | None = None
    #: Headers of HTTP, by name.
    headers: Sequence[tuple[str, str]] = ()


class Manner:
    """A protocol of which no more is to be known than what it declares; others say more."""

    #: Whether bytes of the client that are no frame are said again as they are.
    is_said_raw = True
    #: Whether its server is prepared before those of other protocols.
    is_first = False
    #: The role of the names of what requests are about, of which servers may have made up a part.
    name_role: Issued | None = None

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.dialect = dialect_of(protocol)
        self.identity = Identity()

    @property
    def server(self) -> str:
        """The protocol by which a mock is called that has a door for this one."""
        return self.protocol.name

    def study(self, recording: Recording) -> None:
        """Look over a recording before it is spoken again: what one frame means, another may tell."""

    def untaken(self, recording: Recording) -> Mapping[int, str]:
        """The requests, by number, that the recorded server never took and clients made again later, and why."""
        return {}

    def apart(self, recording: Recording) -> Mapping[Dialogue, str]:
        """The connections of the protocol that are not spoken again, and why."""
        return {}

    # -- what a frame says ---------------------------------------------------------------------------------------------

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

    # -- what is said again --------------------------------------------------------------------------------------------

    def is_said(self, record: Record) -> bool:
        """Whether a frame of the client is spoken again."""
        return True

    def waits(self, record: Record) -> Sequence[Wait]:
        """What servers had done already when a frame of the client came, though no client knew of it."""
        return ()

    def is_basis(self, record: Record) -> bool:
        """Whether what a client says later means nothing without this: it is said whatever else is chosen."""
        return False

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

    def is_carriage(self, record: Record) -> bool:
        """Whether a frame only serves to carry others, and is neither said again nor heard."""
        return False

    def carrier(self, dialogue: Dialogue) -> Carrier | None:
        """What carries frames on a live connection; None where they are bytes as they are."""
        return None

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
        for place in Manner.places(self, record, form) if form else ():  # also those that mean nothing elsewhere
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

    def stem(self, name: str) -> str:
        """What no server made up of the name of what a request is about."""
        return name

    def door(self, dialogue: Dialogue) -> str:
        """Which of the addresses of a server a connection goes to: the name of a mock's door, empty for its first."""
        return ""

    def is_greeted(self, dialogue: Dialogue) -> bool:
        """Whether a connection begins with words of our own: its first ones were not recorded."""
        return not dialogue.is_opened

    def greeting(self, dialogue: Dialogue) -> Talk:
        """What has to be said before the first recorded frame, where the recording begins in the middle."""
        yield from ()

    # -- the server before the recording -------------------------------------------------------------------------------

    def anchor(self, values: Values) -> None:
        """Fix the positions in what the recording itself creates: they begin at the same place on every server."""

    def prepare(self, recording: Recording, values: Values) -> Talk:
        """Brings the server into the state that the recording takes for granted, and learns where things are now."""
        yield from ()

    def preparations(self, recording: Recording, values: Values) -> Iterable[tuple[str, Talk]]:
        """What is said to which recorded server before all, in turn: most know of one, whose address says nothing."""
        return (("", self.prepare(recording, values)),)

    def meanwhile(self, record: Record, values: Values) -> Talk | None:
        """What others, of whom nothing was recorded, had done to the server before a frame was said, or heard."""
        return None

    def mock_options(self, recording: Recording, options: MockOptions) -> MockOptions:
        """The options of a mock that is such a server as was recorded."""
        return options

    def options_with_copies(
        self, recording: Recording, copies: Sequence[Recording], options: MockOptions
    ) -> MockOptions:
        """The same, of one that copies find as well: most bring what they need by their preparation."""
        return self.mock_options(recording, options)

    def delays(self, recording: Recording) -> Mapping[int, int]:
        """Requests that were done late, by number, and the frames behind which they are said, to be done at once."""
        return {}

    def unfinished(self, recording: Recording) -> Mapping[int, Record]:
        """The numbers of answers to requests, and these, that a server does some time after it has answered."""
        return {}

    def finish(self, request: Record, answer: Record, values: Values) -> Talk:
        """Asks until the server has done such a request."""
        yield from ()

    def is_timed(self) -> bool:
        """Whether servers of the recording did something by the clock, so that it cannot go faster than it did."""
        return False

    # -- what is answered ----------------------------------------------------------------------------------------------

    def wants_answer(self, request: Record) -> bool:
        """Whether a frame of the client is one to which something is said."""
        return True

    def reflex(self, live: Record, rng: random.Random) -> bytes:
        """What is said at once to what the server says, whatever was recorded: no more than a sign of life."""
        return b""

    def pair(self, request: Record, live: Record) -> None:
        """Note the live request that stands for a recorded one."""

    def follow(self, record: Record) -> None:
        """Follow the live side: each record of both sides in turn, those of the preparation too."""

    def breach(self, live: Record, recorded: Record | None) -> Breach | None:
        """Return the rule that a live message breaks by what was followed; `recorded` is its counterpart, if any."""
        return None

    def settles(self, reply: Record, waiting: Mapping[int, Record]) -> Sequence[int]:
        """Of the requests that wait on a connection, by number, those that a reply to a later one settles as well."""
        return ()

    def match(self, live: Record, unheard: Mapping[int, Record], values: Values, dialogue: Dialogue) -> int | None:
        """The number of what the server was recorded to say unasked, and has not said yet, that this is; None for none.

        `unheard` has it in the order of the recording.
        """
        return next((number for number, record in unheard.items() if record.message == live.message), None)

    def is_expected(self, reply: Record) -> bool:
        """Whether what the server said unasked is waited for: not so signs of life, which come when they come."""
        return True

    def is_awaited(self, reply: Record) -> bool:
        """Whether a recorded reply is waited for before what was said after it is said again."""
        return True

    def excuse(self, difference: Difference, recorded: Record, live: Record, request: Record | None) -> Excuse | None:
        """Why a difference between a recorded reply and the live one is no finding; None where it is one."""
        return None

    def excuse_missing(self, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Why a recorded reply that did not come is no finding; None where it is one."""
        return None

    def excuse_extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        """Why a reply that was not recorded is no finding; None where it is one."""
        return None

    def excuse_end(self, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
        """Why it is no finding that the server ended a connection, or, where it was recorded to, did not."""
        return None


@cache
def _roles(cls: type[Message]) -> Sequence[tuple[Pattern, Role]]:
    return tuple(roles_in(cls))


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else repr(value)


def is_noise(role: Role) -> bool:
    """Whether a value may be anything."""
    return isinstance(role, Varies | Credential)
