"""The test case of a fuzz run: the steps of a client on its connections, in order."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from wiretool.codec.message import Issued, Position
from wiretool.records import Record

#: The setup of a server for the sessions of a capture begins so; the name of the capture follows.
CAPTURE_SETUP = "capture "


class SetField(NamedTuple):
    """A field of the message takes another value; the encoder repairs lengths and checksums."""

    steps: tuple[str | int, ...]
    value: Any


class Splice(NamedTuple):
    """Bytes of the encoded message are replaced; nothing else is repaired."""

    offset: int
    removed: int
    inserted: bytes


Edit = SetField | Splice


class IssuedValue(NamedTuple):
    """A value in a message that the server issued, or a position in data that it stores."""

    steps: tuple[str | int, ...]
    role: Issued | Position
    scope: Any
    recorded: Any


class Change(NamedTuple):
    """A mutation of one message."""

    mutation: str
    #: The field or part of the frame that it touches.
    region: str


@dataclass(frozen=True, slots=True)
class Sending:
    """A client sends one message, or bytes."""

    connection: int
    #: The bytes with the values of the recording.
    data: bytes
    #: The name of the message; empty for bytes that are not one.
    message: str = ""
    #: The message as it was recorded, before edits; None where only its bytes are known.
    record: Record | None = None
    edits: tuple[Edit, ...] = ()
    #: Values that the replies to this message issue, by the name of the reply.
    issued: Mapping[str, tuple[IssuedValue, ...]] = field(default_factory=dict)
    #: Whether the bytes depend on values that the server issues.
    depends: bool = False
    changes: tuple[Change, ...] = ()
    #: Whether the next step waits for the reply.
    waits: bool = True

    def changed(self, change: Change, **fields: Any) -> "Sending":
        """Return the sending with other fields, marked with the mutation that changed it."""
        return replace(self, changes=(*self.changes, change), **fields)


class Connect(NamedTuple):
    """A client opens a connection to an endpoint of the server, empty for the main one."""

    connection: int
    endpoint: str = ""


class Finish(NamedTuple):
    """A client ends its direction of a connection (FIN)."""

    connection: int


class Reset(NamedTuple):
    """A client resets a connection."""

    connection: int


class Pause(NamedTuple):
    """Nothing is sent for this time."""

    seconds: float
    connection: int = 0


Step = Connect | Sending | Finish | Reset | Pause


@dataclass(frozen=True, slots=True)
class FuzzSequence:
    """Steps in order, their origin, and the mutations that were applied."""

    steps: tuple[Step, ...]
    #: The capture, conformance case or session table it was derived from.
    origin: str
    #: Mutations of the order of steps; those of single messages are in `Sending.changes`.
    changes: tuple[Change, ...] = ()
    #: The setup of the server that the origin requires, by its name in `Conformance.variants`.
    setup: str = ""
    #: The connections are left open at the end, while the server goes on with others.
    stays_open: bool = False
    #: Steps whose request the reference server leaves without a reply.
    unanswered: frozenset[int] = frozenset()
    #: Steps whose reply the reference server sends only after later steps.
    deferred: frozenset[int] = frozenset()

    @property
    def sendings(self) -> tuple[Sending, ...]:
        """The steps that send bytes."""
        return tuple(step for step in self.steps if isinstance(step, Sending))

    @property
    def endpoints(self) -> frozenset[str]:
        """The names of the endpoints to which it connects; empty for the main one."""
        return frozenset(step.endpoint for step in self.steps if isinstance(step, Connect))

    @property
    def size_bytes(self) -> int:
        """All bytes that are sent."""
        return sum(len(step.data) for step in self.sendings)

    def all_changes(self) -> tuple[Change, ...]:
        """Return the mutations of messages and of their order."""
        return (*self.changes, *(change for step in self.sendings for change in step.changes))

    def with_steps(self, steps: tuple[Step, ...], change: Change | None = None) -> "FuzzSequence":
        """Return the sequence with other steps; `change` names the mutation that reordered them."""
        return replace(self, steps=steps, changes=self.changes if change is None else (*self.changes, change))
