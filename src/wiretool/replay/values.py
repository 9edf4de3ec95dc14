"""What recorded values are now: those that a server made up, and places in what grows."""

from collections.abc import Hashable, Mapping
from typing import Any

from wiretool.codec.message import Issued, Position

#: A kind of value, and within what it counts.
Space = tuple[str, Hashable]


class Values:
    """Recorded value -> live value, learnt from replies and from the preparation."""

    def __init__(self) -> None:
        self._live: dict[Space, dict[Hashable, Any]] = {}
        self._shifts: dict[Space, int] = {}

    def bind(self, kind: str, within: Hashable, recorded: Hashable, live: Any) -> None:
        """The server says `live` where it was recorded to say `recorded`."""
        self._live.setdefault((kind, within), {})[recorded] = live

    def shift(self, kind: str, within: Hashable, by: int) -> None:
        """Places in this begin `by` later than they did."""
        self._shifts[kind, within] = by

    def shift_of(self, kind: str, within: Hashable) -> int:
        """How much later places in this begin now."""
        return self._shifts.get((kind, within), 0)

    def knows(self, role: Issued | Position, within: Hashable, recorded: Hashable) -> bool:
        """Whether it is known what a recorded value is now."""
        if recorded in role.besides:
            return True
        if isinstance(role, Position):
            return (role.kind, within) in self._shifts
        return recorded in self._live.get((role.kind, within), ())

    def known(self, kind: str, within: Hashable) -> Mapping[Hashable, Any]:
        """All recorded values of a kind that are known, and what they are now."""
        return self._live.get((kind, within), {})

    def is_taken(self, role: Issued, within: Hashable, live: Any) -> bool:
        """Whether a value stands for another recorded one by now."""
        return live in self._live.get((role.kind, within), {}).values()

    def live_of(self, role: Issued | Position, within: Hashable, recorded: Any) -> Any:
        """What a recorded value is now; itself where that is not known."""
        if recorded in role.besides:
            return recorded
        if isinstance(role, Position):
            return recorded + self._shifts.get((role.kind, within), 0) if type(recorded) is int else recorded
        return self._live.get((role.kind, within), {}).get(recorded, recorded)

    def learn(self, role: Issued | Position, within: Hashable, recorded: Any, live: Any) -> None:
        """Take over what the server says of a value that was not known."""
        if not isinstance(role, Position):
            self.bind(role.kind, within, recorded, live)
        elif type(recorded) is int and type(live) is int and live not in role.besides:
            self.shift(role.kind, within, live - recorded)
