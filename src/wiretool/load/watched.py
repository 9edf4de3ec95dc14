"""What users say and hear, with an eye on what takes long: in the place of what they have where that is to be kept."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from math import inf
from typing import Protocol

from wiretool.load.following import Following, Piece, Reads
from wiretool.load.intervals import Writer
from wiretool.load.keeping import Framed, Keeper, frames_in
from wiretool.load.loops import Source

#: Of what is on the way, the oldest first: when each was due, and when it was sent.
Times = Iterator[tuple[float, float]]


class Answers(Framed, Protocol):
    """Reads what a server says to the appends on one connection."""

    def feed(self, data: bytes) -> int:
        """The number of the last event that these bytes acknowledge, 0 for none."""


class WatchedAppends:
    """The appends of a writer, and what the server says to them."""

    def __init__(
        self,
        keeper: Keeper,
        writer: Writer,
        source: Source,
        answers: Answers,
        times: Callable[[], Times],
        operation: str = "append",
    ) -> None:
        self.events, self.last, self.size = source.events, source.last, source.size
        self._operation = operation
        self._keeper = keeper
        self._writer = writer
        self._source = source
        self._answers = answers
        self._times = times
        #: Of each that is on the way, the number of its last event and its bytes.
        self._frames: deque[tuple[int, bytes]] = deque()

    def next(self) -> bytes:
        """The frame of the next append."""
        frame = bytes(self._source.next())
        self.last, self.size = self._source.last, self._source.size
        self._frames.append((self.last, frame))
        return frame

    def feed(self, data: bytes) -> int:
        """The number of the last event that these bytes acknowledge, 0 for none; what took long is kept."""
        times = self._times()
        oldest = next(times, None)
        # No other that is on the way takes longer.
        if oldest is None or not self._keeper.is_slow(oldest[0]):
            acknowledged = self._answers.feed(data)
            self._forget(acknowledged)
            return acknowledged
        return self._feed_slowly(data, chain((oldest,), times))

    def _feed_slowly(self, data: bytes, times: Times) -> int:
        """The same, frame by frame."""
        most = 0
        for part, frame in frames_in(self._answers, data):
            if acknowledged := self._answers.feed(part):
                most = max(most, acknowledged)
                self._answered(acknowledged, frame, times)
        return most

    def _forget(self, acknowledged: int) -> None:
        while self._frames and self._frames[0][0] <= acknowledged:
            self._frames.popleft()

    def _answered(self, acknowledged: int, reply: bytes, times: Times) -> None:
        """All that one frame of the server answers."""
        keeper, now = self._keeper, self._keeper.clock()
        keeper.reply(reply)
        while self._frames and self._frames[0][0] <= acknowledged:
            last, frame = self._frames.popleft()
            due_s, sent_s = next(times)
            if now - due_s > keeper.slowest.floor:
                about = f"writer {self._writer.wire_id}, events {last - self.events + 1} to {last}"
                keeper.keep(self._operation, about, due_s=due_s, sent_s=sent_s, answered_s=now, request=frame)


class WatchedReads:
    """The reads of one segment, and what the server says to them."""

    def __init__(self, keeper: Keeper, following: Following, reads: Reads) -> None:
        self.pause_s = reads.pause_s
        self._keeper = keeper
        self._following = following
        self._reads = reads
        self._frame: bytes | bytearray = b""
        #: When the read was sent that is on the way, if it is to be answered at once, and what came since.
        self._since_s = inf
        self._pieces: list[bytes] = []

    def at(self, offset: int) -> bytes | bytearray:
        """The frame that asks for what is at that offset; it may be the same object each time."""
        self._frame = self._reads.at(offset)
        self._since_s = self._keeper.clock() if self._following.is_behind else inf
        self._pieces = []
        return self._frame

    def feed(self, data: bytes) -> Piece | None:
        """What the server said, once that is whole; what took long is kept, but for a read that waited for appends."""
        piece = self._reads.feed(data)
        if self._since_s < inf:
            self._pieces.append(data)
            if piece is not None and piece.data:
                self._answered(piece)
        return piece

    def _answered(self, piece: Piece) -> None:
        keeper, since_s, now = self._keeper, self._since_s, self._keeper.clock()
        if now - since_s > keeper.slowest.floor:
            about = f"{len(piece.data):,} bytes of {self._following.segment} from {self._following.offset} on"
            keeper.reply(*self._pieces)
            keeper.keep("fetch", about, due_s=since_s, sent_s=since_s, answered_s=now, request=self._frame)
