"""The fifth role: differences that are no findings."""

from wiretool.analysis.dialogues import Dialogue
from wiretool.records import Record
from wiretool.replay.adapter.values import Difference, Excuse


class Explanation:
    """Known reasons for differences between a recorded reply and a live one."""

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
