"""Many frames of a Pravega connection at once: their fields as columns, whatever class they are of.

What the session makes of them, which reply answers what and what is appended, goes through the state of session.py:
for stretches of appends and acks as arrays, else in a loop over the few columns that matter. A frame that is out of
the ordinary is read by the session itself, in its turn.
"""

from collections.abc import Callable, Sequence

from wiretool.codec.hops import Prefix
from wiretool.protocols.base.columns import BulkConversation, Frames, Group
from wiretool.protocols.pravega.append_columns import FRAMES_MIN, PravegaColumns
from wiretool.protocols.pravega.bulk_blocks import CATALOGUE, join_blocks
from wiretool.protocols.pravega.bulk_turns import TurnReader
from wiretool.protocols.pravega.framing import HEADER_BYTES, PAYLOAD_BYTES_MAX
from wiretool.protocols.pravega.group_builder import GroupBuilder
from wiretool.protocols.pravega.session import PravegaConversation

_PREFIXES = {side: Prefix(HEADER_BYTES, 4, HEADER_BYTES, 0, PAYLOAD_BYTES_MAX[side]) for side in PAYLOAD_BYTES_MAX}


class PravegaBulk(BulkConversation):
    """The column path of one connection."""

    together = PravegaColumns(_PREFIXES)

    def __init__(self, conversation: PravegaConversation) -> None:
        self._conversation = conversation

    def read(self, frames: Frames, read_one: Callable[[int], None]) -> Sequence[Group]:
        if len(frames.starts) < FRAMES_MIN or not CATALOGUE.are_worth_columns(frames):
            for row in range(len(frames.starts)):
                read_one(row)
            return []
        found = CATALOGUE.kinds_of(frames)
        joins = join_blocks(found)
        segments: dict[str | None, int] = {}
        TurnReader(found, joins, segments, read_one).read_connection(self._conversation, 0, len(frames.starts))
        return GroupBuilder(joins, list(segments)).groups(found)
