"""What the column path says of a stretch of captures: columns of many frames, and Records of all else."""

from collections.abc import Sequence
from dataclasses import dataclass

from wiretool.codec.columns import Integers
from wiretool.codec.message import Side
from wiretool.protocols.bulk import Frames, Group
from wiretool.records import Record


@dataclass(frozen=True, slots=True)
class FrameRun:
    """Frames of one connection as columns of one length, in the order of their numbers `frames.numbers`.

    Each is of one of the `groups`. `offsets` count in the stream of each side, times are ns since the epoch.
    """

    connection: int
    client: str
    server: str
    protocol: str
    frames: Frames
    offsets: Integers
    first_packets: Integers
    last_packets: Integers
    times: Integers
    groups: Sequence[Group]

    def side(self, row: int) -> Side:
        """Who sent a frame."""
        return "server" if self.frames.is_server[row] else "client"


@dataclass(frozen=True, slots=True)
class Batch:
    """The records numbered from `first_n` on, `count` of them: some as columns in `runs`, the others as they are."""

    first_n: int
    count: int
    runs: Sequence[FrameRun]
    records: Sequence[Record]
