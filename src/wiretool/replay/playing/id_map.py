"""What recorded values are now: those that a server made up, and places in what grows."""

import re
from collections.abc import Hashable, Mapping
from types import NoneType
from typing import Any

from wiretool.codec.message import Issued, Position

#: A kind of value, and within what it counts.
Space = tuple[str, Hashable]
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ADDRESS = re.compile(r"\S+:\d+")
#: Types of values that are known by themselves.
_HASHABLE = (str, int, float, bytes, tuple, NoneType)
#: The parts of a name that a server makes up: numbers, and ids in hexadecimal.
_MADE_UP = re.compile(r"[0-9a-f]{16,}|[0-9]+")


class Values:
    """Recorded value -> live value, learnt from replies and from the preparation."""

    def __init__(self) -> None:
        self._live: dict[Space, dict[Hashable, Any]] = {}
        self._recorded: dict[Space, dict[Hashable, Hashable]] = {}
        self._shifts: dict[Space, int] = {}

    def bind(self, kind: str, within: Hashable, recorded: Any, live: Any) -> None:
        """The server says `live` where it was recorded to say `recorded`."""
        space, key = (kind, within), _key(recorded)
        known, back = self._live.setdefault(space, {}), self._recorded.setdefault(space, {})
        before = _key(known.get(key))
        if key in known and before != _key(live) and back.get(before) == key:
            del back[before]
        known[key] = live
        back.setdefault(_key(live), key)

    def shift(self, kind: str, within: Hashable, by: int) -> None:
        """Places in this begin `by` later than they did."""
        self._shifts[kind, within] = by

    def shift_of(self, kind: str, within: Hashable) -> int:
        """How much later places in this begin now."""
        return self._shifts.get((kind, within), 0)

    def has_shift(self, kind: str, within: Hashable) -> bool:
        """Return whether it is known how much later places in this begin now."""
        return (kind, within) in self._shifts

    def knows(self, role: Issued | Position, within: Hashable, recorded: Any) -> bool:
        """Whether it is known what a recorded value is now."""
        if recorded in role.besides:
            return True
        if isinstance(role, Position):
            return self.has_shift(role.kind, within)
        return _key(recorded) in self._live.get((role.kind, within), ())

    def known(self, kind: str, within: Hashable) -> Mapping[Hashable, Any]:
        """All recorded values of a kind that are known, and what they are now."""
        return self._live.get((kind, within), {})

    def is_taken(self, role: Issued, within: Hashable, live: Any) -> bool:
        """Return whether a value stands for a recorded one by now."""
        return _key(live) in self._recorded.get((role.kind, within), ())

    def reuse_conflict(self, role: Issued, within: Hashable, recorded: Any, live: Any) -> str:
        """Return why a value cannot stand for a recorded one as well as for another; empty if it can."""
        key = _key(recorded)
        other = self._recorded.get((role.kind, within), {}).get(_key(live), key)
        if not role.is_unique or other == key:
            return ""
        return f"{role.kind} {live!r} already stands for the recorded {other!r}: the recording has two"

    def live_of(self, role: Issued | Position, within: Hashable, recorded: Any) -> Any:
        """What a recorded value is now; itself where that is not known."""
        if recorded in role.besides:
            return recorded
        if isinstance(role, Position):
            return recorded + self._shifts.get((role.kind, within), 0) if type(recorded) is int else recorded
        return self._live.get((role.kind, within), {}).get(_key(recorded), recorded)

    def learn(self, role: Issued | Position, within: Hashable, recorded: Any, live: Any) -> None:
        """Take over what the server says of a value that was not known."""
        if not isinstance(role, Position):
            self.bind(role.kind, within, recorded, live)
        elif type(recorded) is int and type(live) is int and live not in role.besides:
            self.shift(role.kind, within, live - recorded)


def _key(value: Any) -> Hashable:
    """Return what a value is known by: a client may send a list or an object where an id belongs."""
    return value if isinstance(value, _HASHABLE) else repr(value)


def form_conflict(role: Issued, recorded: Any, live: Any, *, is_name: bool = False) -> str:
    """Return why a server cannot make up `live` where it made up `recorded`; empty if it can.

    Of a name only numbers and ids are the server's.
    """
    if role.is_opaque:
        return ""
    if live in role.besides:
        return f"{role.kind}: {live!r} means that there is none"
    wanted, form = _form(recorded), _form(live)
    if wanted != form:
        return f"{role.kind}: {form} where the recording has {wanted}"
    if is_name and _MADE_UP.sub("#", recorded) != _MADE_UP.sub("#", live):
        return f"{role.kind}: another name, not just another number or id in it"
    return ""


def _form(value: Any) -> str:
    """Return in words what form a value has."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return f"a value of type {type(value).__name__}"
    if isinstance(value, int):
        return "a negative number" if value < 0 else "a number"
    if not value:
        return "an empty text"
    if _UUID.fullmatch(value):
        return "a UUID"
    return "an address" if _ADDRESS.fullmatch(value) else "a text"
