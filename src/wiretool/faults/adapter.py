"""What a fault comes to in a protocol, as far as its declarations say it."""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

from wiretool.codec.json_types import JsonName
from wiretool.codec.jsonform import json_form, nearest
from wiretool.codec.message import REQUIRED, Message, Role, Side, fields_of
from wiretool.codec.types import WireType
from wiretool.errors import EncodeError
from wiretool.faults.actions import Action, Answer, Change, Keep, Set, Stale, WrongChecksum, WrongLength
from wiretool.faults.places import (
    Pattern,
    changed_at,
    check_place,
    client_ids_in,
    epochs_in,
    offsets_in,
    roles_in,
    with_value,
)
from wiretool.faults.remnants import Piece
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record

#: Who sends a message, and its name in a record.
Kind = tuple[Side, str]
Form = Mapping[str, Any]


class LengthField(NamedTuple):
    """Where in a frame its length stands, big-endian, and in how many bytes."""

    at: int
    size: int


class Dialect:
    """The messages of a protocol by their kind, and what can be done to the frame of each.

    Whatever cannot be done raises EncodeError: in `check` before a frame is seen, elsewhere for this one frame.
    """

    #: Where the length of every frame stands, if they have one.
    length: LengthField | None = None
    has_checksum = False
    #: Names of frames that are no declared message; either side may send them.
    extra_names: tuple[str, ...] = ("Unknown",)
    #: The sides whose first frames `opening` wants to see.
    greets: frozenset[Side] = frozenset()
    #: What the server keeps: the messages of clients whose data it appends, where our mock can be told how.
    appends: frozenset[str] = frozenset()
    #: Fields of an answer that are called otherwise in what is answered.
    synonyms: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.declared: Mapping[Kind, type[Message]] = {
            (side, cls.declaration.name): cls for cls in protocol.messages for side in _senders(cls)
        }
        sides: tuple[Side, Side] = ("client", "server")
        extra: set[Kind] = {(side, name) for side in sides for name in self.extra_names}
        self.kinds: frozenset[Kind] = frozenset(self.declared) | extra

    # -- when a rule is read -----------------------------------------------------------------------------------------

    def check(self, action: Action, kind: Kind) -> None:
        """EncodeError where the action can never be done to such a message."""
        if isinstance(action, Set):
            for change in action.changes:
                self.check_change(kind, change)
        elif isinstance(action, Answer):
            self.check_answer(action, kind)
        elif isinstance(action, Stale) and not self.stale_places(kind, action.what):
            raise EncodeError(f"has no {action.what}", path=kind[1])
        elif isinstance(action, Keep) and (kind[0] != "client" or kind[1] not in self.appends):
            known = (
                f"{', '.join(sorted(self.appends))} can be"
                if self.appends
                else f"nothing of {self.protocol.name} can be"
            )
            raise EncodeError(f"is not kept by the server: {known}", path=kind[1])
        elif isinstance(action, WrongLength):
            self.check_length(kind)
        elif isinstance(action, WrongChecksum) and not self.has_checksum:
            raise EncodeError(f"frames of {self.protocol.name} have no checksum")

    def check_change(self, kind: Kind, change: Change) -> None:
        """EncodeError where such a message has no such field, or the value does not fit it."""
        check_place(self._class_of(kind), change.steps, change.value)

    def check_length(self, kind: Kind) -> None:
        """EncodeError where the frames of such a message do not say how long they are."""
        if self.length is None:
            raise EncodeError(f"frames of {self.protocol.name} have no length")

    def check_answer(self, action: Answer, kind: Kind) -> None:
        """EncodeError where the server never says that, or cannot to this."""
        names = [name for side, name in self.declared if side == "server"]
        if action.message not in names:
            raise EncodeError(
                f"the server of {self.protocol.name} sends no {action.message}{nearest(action.message, names)}"
            )
        for change in action.changes:
            self.check_change(("server", action.message), change)
        given = {change.steps[0] for change in action.changes}
        source = self._wires(kind)
        for field in fields_of(self._class_of(("server", action.message))):
            if (
                field.default is REQUIRED
                and field.name not in given
                and not self._source(field.name, field.wire, source)
            ):
                raise EncodeError(
                    f"is missing: {kind[1]} has nothing to fill it with", path=f"{action.message}.{field.name}"
                )

    def stale_places(self, kind: Kind, what: str) -> Sequence[Pattern]:
        """Where in such a message epochs or offsets are."""
        cls = self.declared.get(kind)
        if cls is None:
            return ()
        return tuple(epochs_in(cls) if what == "epoch" else offsets_in(cls))

    def _class_of(self, kind: Kind) -> type[Message]:
        if kind not in self.declared:
            raise EncodeError("has no declared fields", path=kind[1])
        return self.declared[kind]

    def client_ids(self, kind: Kind) -> Sequence[Pattern]:
        """Where in such a message ids are that clients make up, of requests say."""
        cls = self.declared.get(kind)
        return () if cls is None else tuple(client_ids_in(cls))

    def role_places(self, kind: Kind) -> Sequence[tuple[Pattern, Role]]:
        """Return the places in the form of such a message whose fields are declared to have a role, with the role."""
        cls = self.declared.get(kind)
        return () if cls is None else tuple(roles_in(cls))

    # -- when a frame is there -----------------------------------------------------------------------------------------

    def is_carriage(self, record: Record) -> bool:
        """Whether a frame only serves to carry others, and says nothing that a caller asked or was told."""
        return False

    def carriage_in(self, record: Record, form: Form) -> Sequence[tuple[str | int, ...]]:
        """Where in a frame stands what belongs to its connection, and not to what is asked or told."""
        return ()

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

    def opening(self, record: Record) -> Record | None:
        """A frame of the greeting as it has to be for faults to work; None where it may stay as it is."""
        return None

    def is_greeting(self, record: Record) -> bool:
        """Whether `opening` wants to see what this side sends behind this frame."""
        return False

    def is_part(self, record: Record) -> bool:
        """Whether the frame is a part of a message that later frames complete."""
        return False

    def is_aside(self, record: Record) -> bool:
        """Whether the frame is none of the message that is being completed, though it stands inside it."""
        return False

    def piece(self, record: Record) -> Piece | None:
        """The call that the frame is a piece of, where calls take several frames and one side can end them alone."""
        return None

    def credit(self, record: Record) -> bytes:
        """What the receiver of a frame that was taken out would have said, so that its sender may go on for ever."""
        return b""

    def why_fixed(self, side: Side, frame: bytes) -> str:
        """Why this frame must go on as it is and in its place, or empty where it need not."""
        return ""

    # -- what an answer takes over -------------------------------------------------------------------------------------

    def _wires(self, kind: Kind) -> Mapping[str, WireType]:
        cls = self.declared.get(kind)
        return {field.name: field.wire for field in fields_of(cls)} if cls is not None else {}

    def _source(self, name: str, wire: WireType, source: Mapping[str, WireType]) -> str:
        """The field that fills `name`; empty where there is none."""
        if isinstance(wire, JsonName):
            return ""
        for known in (name, *self.synonyms.get(name, ())):
            if known in source and source[known].name == wire.name:
                return known
        return ""


def _senders(cls: type[Message]) -> tuple[Side, ...]:
    sender = cls.declaration.sender
    if sender == "both":
        return ("client", "server")
    return ("server",) if sender == "server" else ("client",)


@cache
def dialect_of(protocol: Protocol) -> Dialect:
    """The dialect of a protocol; of one without a dialect of its own, what its declarations allow."""
    make: Callable[[Protocol], Dialect] = protocol.part("faults") or Dialect
    return make(protocol)
