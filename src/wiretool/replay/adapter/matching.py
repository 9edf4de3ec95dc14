"""The fourth role: which live reply answers which request."""

from collections.abc import Mapping, Sequence

from wiretool.analysis.dialogues import Dialogue
from wiretool.records import Record
from wiretool.replay.adapter.analysis import Analysis
from wiretool.replay.adapter.values import Breach
from wiretool.replay.playing.id_map import Values


class Matching(Analysis):
    """Live messages matched to recorded ones, and followed."""

    def wants_answer(self, request: Record) -> bool:
        """Whether a frame of the client is one to which something is said."""
        return True

    def pair(self, request: Record, live: Record) -> None:
        """Note the live request that stands for a recorded one."""

    def follow(self, record: Record) -> None:
        """Follow the live side: each record of both sides in turn, those of the preparation too."""

    def breach(self, live: Record, recorded: Record | None) -> Breach | None:
        """Return the rule that a live message breaks by what was followed; `recorded` is its counterpart, if any."""
        return None

    def settles(self, reply: Record, waiting: Mapping[int, Record]) -> Sequence[int]:
        """Of the requests that wait on a connection, by number, those that a reply to a later one settles as well."""
        return ()

    def match(self, live: Record, unheard: Mapping[int, Record], values: Values, dialogue: Dialogue) -> int | None:
        """The number of what the server was recorded to say unasked, and has not said yet, that this is; None for none.

        `unheard` has it in the order of the recording.
        """
        return next((number for number, record in unheard.items() if record.message == live.message), None)

    def is_expected(self, reply: Record) -> bool:
        """Whether what the server said unasked is waited for: not so signs of life, which come when they come."""
        return True

    def is_awaited(self, reply: Record) -> bool:
        """Whether a recorded reply is waited for before what was said after it is said again."""
        return True
