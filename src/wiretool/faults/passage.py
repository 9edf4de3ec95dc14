"""One message on its way through the rules: what goes on, what goes back, and when."""

import random
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Literal

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import EncodeError
from wiretool.faults.actions import (
    Action,
    Answer,
    CutAfter,
    Delay,
    Drop,
    Duplicate,
    How,
    Keep,
    Reorder,
    Reset,
    Set,
    Stale,
    Stall,
    WrongChecksum,
    WrongLength,
)
from wiretool.faults.adapter import FaultAdapter, Form
from wiretool.faults.standing import Standing
from wiretool.protocols.base.conversation import Conversation
from wiretool.records import Record

#: Actions that change what its receiver makes of later frames, where a frame hangs on those before it.
_DISTURBING = (Drop, Duplicate, Reorder, Set, Stale, Answer)
#: Actions that make the frame anew of its fields, and those that change bytes of the frame, which that would undo.
_ON_FIELDS = (Set, Stale)
_ON_BYTES = (WrongLength, WrongChecksum, CutAfter)


def in_order(standings: Sequence[Standing]) -> list[Standing]:
    """Rules in the order in which they act: what changes bytes waits until no more fields are changed."""
    on_fields = [at for at, each in enumerate(standings) if isinstance(each.rule.action, _ON_FIELDS)]
    count = on_fields[-1] + 1 if on_fields else 0
    return [*sorted(standings[:count], key=lambda each: isinstance(each.rule.action, _ON_BYTES)), *standings[count:]]


class Alteration(IntEnum):
    """Degrees to which the actions so far have changed a message."""

    NONE = 0
    #: Its bytes are others.
    CHANGED = 1
    #: Nothing is left that a further action could be done to.
    FINAL = 2
    #: It was taken out of what its side says: dropped, or answered.
    TAKEN_OUT = 3


class Passage:
    """A message: the frame that completed it, and the frames of it that came before. Actions are done one by one."""

    def __init__(
        self,
        record: Record,
        parts: Sequence[Record],
        dialect: FaultAdapter,
        conversation: Conversation,
        rng: random.Random,
    ) -> None:
        self.record = record
        self.side: Side = record.side
        self._dialect = dialect
        self._conversation = conversation
        self._rng = rng
        own = [part.raw for part in parts if not dialect.is_aside(part)]
        self._first = own[0] if own else record.raw
        #: What goes on in its place.
        self.data = b"".join([*own, record.raw])
        #: Frames that stand inside the message and are none of it: they go on, whatever becomes of it.
        self.asides = b"".join(part.raw for part in parts if dialect.is_aside(part))
        #: All of it as it came.
        self.whole = b"".join([*(part.raw for part in parts), record.raw])
        self.alteration = Alteration.NONE
        self.copies = 0
        self.delay_ns = 0
        self.stalls: list[tuple[int, int | None]] = []
        #: The rules by which the next one may overtake it, and for how long.
        self.reorderers: list[Standing] = []
        self.reorder_within_ns = 0
        self.back = b""
        #: How the server is to keep it, where that is otherwise than it says.
        self.kept: How | None = None
        self.ending: Literal["", "fin", "reset"] = ""
        self._form: Form | None = None
        #: What of it is wrong on purpose.
        self._spoilt: set[str] = set()

    def apply(self, action: Action, rule: int) -> None:
        """Do it; EncodeError where it cannot be done to this message, and then nothing is done."""
        why = self._dialect.why_fixed(self.side, self._first) if isinstance(action, _DISTURBING) else ""
        if why:
            raise EncodeError(why, path=self.record.message)
        if isinstance(action, Stall):
            self.stalls.append((rule, action.duration_ns))
        else:
            _DEEDS[type(action)](self, action)

    @property
    def goes_on(self) -> bytes:
        """The bytes that go on."""
        return self.asides + self.data if self.alteration else self.whole

    def _replace(self, data: bytes, alteration: Alteration) -> None:
        self.data, self.alteration = data, alteration

    def _delay(self, action: Delay) -> None:
        self.delay_ns += action.duration_ns

    def _drop(self, action: Drop) -> None:
        self._replace(b"", Alteration.TAKEN_OUT)

    def _duplicate(self, action: Duplicate) -> None:
        if len(self.data) * (self.copies + action.copies) > limits.FAULT_HELD_BYTES:
            raise EncodeError(f"{action.copies} copies of {len(self.data)} bytes", path=self.record.message)
        self.copies += action.copies

    def _reorder(self, action: Reorder) -> None:
        self.reorder_within_ns = action.within_ns

    def _keep(self, action: Keep) -> None:
        self.kept = action.how

    def _cut(self, action: CutAfter) -> None:
        self._replace(self.data[: action.count], Alteration.FINAL)
        self.ending = "fin"

    def _reset(self, action: Reset) -> None:
        self._replace(b"", Alteration.FINAL)
        self.ending = "reset"

    def _set(self, action: Set) -> None:
        self._reform(self._dialect.changed(self._fields(), action.changes))

    def _stale(self, action: Stale) -> None:
        self._reform(self._dialect.staler(self.record, self._fields(), action))

    def _fields(self) -> Form:
        return self._dialect.form(self.record) if self._form is None else self._form

    def _reform(self, form: Form) -> None:
        data = self._dialect.frame(self.record, form, self._first, self._conversation, self._rng)
        self._replace(data, Alteration.CHANGED)
        self._form = form

    def _wrong_length(self, action: WrongLength) -> None:
        self._spoil("length", self._dialect.with_length(self.data, action.by))

    def _wrong_checksum(self, action: WrongChecksum) -> None:
        self._spoil("checksum", self._dialect.with_wrong_checksum(self.data))

    def _spoil(self, what: str, data: bytes) -> None:
        """Each is made wrong once: twice might be right again."""
        if what in self._spoilt:
            raise EncodeError(f"its {what} is wrong already", path=self.record.message)
        self._spoilt.add(what)
        self._replace(data, Alteration.CHANGED)

    def _answer(self, action: Answer) -> None:
        answer = self._dialect.answer(action, self.record, self._conversation)
        if self.side == "server":
            self._replace(answer, Alteration.FINAL)
        else:
            self._replace(self._dialect.instead(self.record), Alteration.TAKEN_OUT)
            self.back = answer


_DEEDS: Mapping[type, Callable[[Passage, Any], None]] = {
    Delay: Passage._delay,
    Drop: Passage._drop,
    Duplicate: Passage._duplicate,
    Reorder: Passage._reorder,
    Keep: Passage._keep,
    CutAfter: Passage._cut,
    Reset: Passage._reset,
    Set: Passage._set,
    Stale: Passage._stale,
    WrongLength: Passage._wrong_length,
    WrongChecksum: Passage._wrong_checksum,
    Answer: Passage._answer,
}
