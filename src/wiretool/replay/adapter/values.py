"""Values that replay and its adapters exchange: places, differences, verdicts, and what is sent."""

from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from wiretool.analysis.dialogues import Dialogue
from wiretool.codec.message import Credential, Message, Role, Varies
from wiretool.records import Record

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


def is_noise(role: Role) -> bool:
    """Whether a value may be anything."""
    return isinstance(role, Varies | Credential)
