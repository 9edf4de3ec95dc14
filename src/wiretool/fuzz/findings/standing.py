"""The result of replaying a finding."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

#: Runs of a finding that must all be clean for it to be fixed.
RUNS = 3


class Standing(StrEnum):
    """The result of replaying a finding."""

    FAILS = "still fails"
    FIXED = "fixed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A finding that ran again."""

    folder: Path
    standing: Standing
    #: One sentence.
    text: str

    @property
    def is_fixed(self) -> bool:
        """True where no run found anything."""
        return self.standing is Standing.FIXED
