"""What a rule does to a frame. Each action has one spelling, `text`, that reads back as the same action."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from wiretool.codec.jsonform import nearest
from wiretool.errors import UsageError
from wiretool.filter.names import spelt
from wiretool.units import DURATION

#: How long a frame waits for the next one to overtake it, unless the rule says.
REORDER_WITHIN_NS = 100_000_000

#: Units in which durations are shown.
_UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "min": 60_000_000_000, "h": 3_600_000_000_000}
NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """A field, by the steps that lead to it, and what it shall be, in the JSON form."""

    steps: tuple[str | int, ...]
    value: Any

    @property
    def text(self) -> str:
        """`segment="scope/stream/0"`"""
        return f"{spelt(self.steps)}={json.dumps(self.value)}"


@dataclass(frozen=True, slots=True)
class Delay:
    """The frame goes on so much later, and what is behind it in its direction not before it."""

    duration_ns: int

    @property
    def text(self) -> str:
        return f"delay {duration_text(self.duration_ns)}"


@dataclass(frozen=True, slots=True)
class Stall:
    """From this frame on nothing more goes on in its direction, for a while or until the rule is removed."""

    duration_ns: int | None = None

    @property
    def text(self) -> str:
        return "stall" if self.duration_ns is None else f"stall {duration_text(self.duration_ns)}"


@dataclass(frozen=True, slots=True)
class Drop:
    """The frame does not go on."""

    @property
    def text(self) -> str:
        return "drop"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """So many copies follow the frame."""

    copies: int = 1

    @property
    def text(self) -> str:
        return f"duplicate {self.copies}"


@dataclass(frozen=True, slots=True)
class Reorder:
    """The next frame of its direction overtakes it, if that comes in time."""

    within_ns: int = REORDER_WITHIN_NS

    @property
    def text(self) -> str:
        return f"reorder {duration_text(self.within_ns)}"


@dataclass(frozen=True, slots=True)
class CutAfter:
    """So many bytes of the frame go on, then the connection ends."""

    count: int

    @property
    def text(self) -> str:
        return f"cut after {self.count}"


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset where the frame would have been."""

    @property
    def text(self) -> str:
        return "reset"


@dataclass(frozen=True, slots=True)
class Set:
    """Fields of the message are changed."""

    changes: tuple[Change, ...]

    @property
    def text(self) -> str:
        return "set " + ", ".join(change.text for change in self.changes)


@dataclass(frozen=True, slots=True)
class WrongLength:
    """The header of the frame claims so many bytes more than there are."""

    by: int = 1

    @property
    def text(self) -> str:
        return f"wrong length {self.by:+}"


@dataclass(frozen=True, slots=True)
class WrongChecksum:
    """The checksum of the frame is that of another payload."""

    @property
    def text(self) -> str:
        return "wrong checksum"


@dataclass(frozen=True, slots=True)
class Answer:
    """In place of a request that does not go on this goes back; in place of a reply it goes on."""

    message: str
    changes: tuple[Change, ...] = ()

    @property
    def text(self) -> str:
        return " ".join([f"answer {self.message}", ", ".join(change.text for change in self.changes)]).rstrip()


@dataclass(frozen=True, slots=True)
class Stale:
    """Every epoch, or every offset, in the message is that much lower."""

    what: Literal["epoch", "offset"]
    by: int = 1

    @property
    def text(self) -> str:
        return f"stale {self.what} {self.by}"


#: How a server may keep what it acknowledges: not at all, twice, or behind what comes next.
How = Literal["nothing", "twice", "late"]
HOWS: tuple[How, ...] = ("nothing", "twice", "late")


@dataclass(frozen=True, slots=True)
class Keep:
    """The server acknowledges what is appended and keeps it otherwise: only a mock of ours does that."""

    how: How

    @property
    def text(self) -> str:
        return f"keep {self.how}"


Action = (
    Delay
    | Stall
    | Drop
    | Duplicate
    | Reorder
    | CutAfter
    | Reset
    | Set
    | WrongLength
    | WrongChecksum
    | Answer
    | Stale
    | Keep
)

#: The words that an action begins with, and its key in TOML.
KEYS = {
    "delay": "delay",
    "stall": "stall",
    "drop": "drop",
    "duplicate": "duplicate",
    "reorder": "reorder",
    "cut": "cut_after",
    "reset": "reset",
    "set": "set",
    "wrong length": "wrong_length",
    "wrong checksum": "wrong_checksum",
    "answer": "answer",
    "stale epoch": "stale_epoch",
    "stale offset": "stale_offset",
    "keep": "keep",
}


def how_from(text: str) -> How:
    """That word; UsageError for what is none."""
    for how in HOWS:
        if text == how:
            return how
    raise UsageError(f"keep {text}{nearest(text, HOWS)}; expected {', '.join(HOWS)}")


def duration_text(duration_ns: int) -> str:
    """`200ms`: in the largest unit of which it is a whole number."""
    unit = max((unit for unit in _UNITS_NS if duration_ns % _UNITS_NS[unit] == 0), key=_UNITS_NS.__getitem__)
    return f"{duration_ns // _UNITS_NS[unit]}{unit}"


def duration_ns(text: str, name: str = "duration") -> int:
    """Return the nanoseconds of `0.2s`; UsageError for anything else, and without a unit."""
    return round(DURATION.parse(text, name, needs_unit=True) * NS_PER_S)
