"""What became of an exchange when it was spoken again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wiretool.analysis.dialogues import Dialogue
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Verdict

#: How the end of a connection is named, in place of a message.
END_NAME = "end"


class End(NamedTuple):
    """How a connection ended, where the two sides differ in it: `closed` by the server, or `open`."""

    recorded: str
    live: str


class Accounted(NamedTuple):
    """A difference that is not a finding, and why."""

    difference: Difference
    verdict: Verdict
    why: str


@dataclass(eq=False, slots=True)
class Outcome:
    """An exchange, or something that the server did by itself, and what became of it."""

    dialogue: Dialogue
    #: The recorded request; None where the server spoke unasked, or ended the connection.
    request: Record | None
    recorded: Sequence[Record] = ()
    live: list[Record] = field(default_factory=list)
    verdict: Verdict = Verdict.SAME
    #: Those that are findings; and those that are accounted for.
    differences: list[Difference] = field(default_factory=list)
    accounted: list[Accounted] = field(default_factory=list)
    #: Each reason once.
    reasons: list[str] = field(default_factory=list)
    #: A reply to a later request settled this one as well: in the recording, and now.
    was_covered: bool = False
    is_covered: bool = False
    #: The recorded connection that this one stands for, where it is of the other side only.
    counterpart: Dialogue | None = None
    #: Of a connection as a whole: the number of its exchanges.
    many: int = 1
    is_connection: bool = False
    #: The recording has nothing of it: its request is one of the other side.
    is_live_only: bool = False
    #: Of an outcome that is about the end of the connection.
    end: End | None = None

    @property
    def is_judged(self) -> bool:
        """Whether the live side could be held against what was recorded."""
        return self.verdict is not Verdict.UNKNOWN

    @property
    def is_exchange(self) -> bool:
        """Return whether the recording has it: not an additional message, broken bytes or the end of a connection."""
        is_frame = bool(self.recorded) and self.recorded[0].kind == "frame"
        return not self.is_live_only and (self.request is not None or is_frame or self.is_connection)

    def note(self, verdict: Verdict, why: str = "", differences: Sequence[Difference] = ()) -> None:
        """Something more was seen of it."""
        self.verdict = max(self.verdict, verdict)
        self.differences += differences
        if why and why not in self.reasons:
            self.reasons.append(why)

    def account(self, verdict: Verdict, why: str, difference: Difference) -> None:
        """Record a difference that is not a finding: one that a rule explains also gives the outcome its reason."""
        self.note(verdict, why if verdict in (Verdict.EXPLAINED, Verdict.UNKNOWN) else "")
        self.accounted.append(Accounted(difference, verdict, why))
