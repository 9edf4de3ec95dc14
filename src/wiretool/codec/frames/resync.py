"""Finds the next frame that can be trusted in bytes that begin anywhere.

A place where a frame might begin is believed for the chain of frames that follows it: the true chain goes on, one that
begins by chance, or inside a payload that holds frames itself, breaks soon.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Protocol

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import DecodeError

#: A chain this long that alone still holds is believed while more bytes are to come.
CHAIN_FRAMES = 4
CHAIN_POINTS = 8
#: Of several chains that hold, the better one is believed when it is this long; further it is not followed.
RIVAL_FRAMES = 64
#: A header without a whole frame behind it holds up the decision only where its frame is this small.
OPEN_FRAME_BYTES = 65_536
#: When a chain holds, others are looked for no further than this behind where the search began.
WINDOW_BYTES = 256 * 1024


class Framing(Protocol):
    """The part of a conversation that a search needs; see protocols/base/conversation.py for the meaning."""

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int: ...

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]: ...

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int: ...


@dataclass(slots=True)
class Chain:
    """Frames that follow one another from `start` on, as far as the bytes go."""

    start: int
    frames: int = 0
    points: int = 0
    first_points: int = 0
    #: Bytes of the frame at the end that is not whole yet; 0 when not even that is known.
    open_length: int = 0
    is_dead: bool = False
    is_whole: bool = False
    #: Where each frame ends, and the points up to there.
    marks: list[tuple[int, int]] = field(default_factory=list)

    @property
    def stop(self) -> int:
        """Where its last frame ends."""
        return self.marks[-1][0] if self.marks else self.start

    def points_until(self, at: int) -> int:
        """The points of the frames that end at `at` or before."""
        count = bisect_right(self.marks, at, key=itemgetter(0))
        return self.marks[count - 1][1] if count else 0

    @property
    def is_enough(self) -> bool:
        """Whether it is too long for chance."""
        return self.frames >= CHAIN_FRAMES and self.points >= CHAIN_POINTS

    @property
    def is_read_to_end(self) -> bool:
        """Return whether only the end of the bytes stopped it, maybe inside a frame whose length is known."""
        return self.is_whole or self.open_length > 0

    @property
    def is_believable_at_end(self) -> bool:
        """Whether it counts when no more bytes will come to test it."""
        return not self.is_dead and (self.points >= (2 if self.is_whole else 4))


class Work:
    """What the searches of one look at `data[at:end]` have in common.

    All bytes may be handed to `trust` once, and more the further a search has come: so what begins late is looked at
    too, however much was claimed in front of it. And where nothing goes on to the end, that is not tried again.
    """

    __slots__ = ("_at", "_left", "settled")

    def __init__(self, at: int, end: int) -> None:
        self._at = at
        self._left = limits.RESYNC_CLAIMED_BYTES + end - at
        #: No chain that begins before this is believable at the end.
        self.settled = at

    def advance(self, at: int) -> None:
        """A search has come as far as `at`."""
        if at > self._at:
            self._left += (at - self._at) * limits.RESYNC_OVERLAP_MAX
            self._at = at

    def allows(self, length: int) -> bool:
        """Whether a frame of so many bytes may be looked at; then it counts."""
        if length <= limits.RESYNC_FRAME_BYTES_FREE:
            return True
        if length > self._left:
            return False
        self._left -= length
        return True


def find_frame(
    framing: Framing, side: Side, data: bytes, at: int, *, final: bool, sure_points: int, work: Work | None = None
) -> int | None:
    """Where in `data[at:]` the next frame begins that can be trusted; None where more bytes are needed to tell.

    `final`: no more bytes will come. A first frame of `sure_points` at `at` itself is believed at once. `work` is what
    earlier searches in the same data, each further on than the last, have left.
    """
    work = work or Work(at, len(data))
    sure = None if final else sure_points
    chains, scanned = _chains(framing, side, data, at, work, work.settled if final else at, sure)
    alive = [chain for chain in chains if not chain.is_dead]
    if final:
        return _best_at_end(chains, alive, at, scanned, work)
    if alive and alive[0].start == at and alive[0].first_points >= sure_points:
        return at
    grown = [chain for chain in alive if chain.frames]
    if not grown or any(_holds_up(chain, grown[0]) for chain in alive):
        return None
    best = _best(grown)
    return best.start if best.is_enough and (len(grown) == 1 or best.frames >= RIVAL_FRAMES) else None


def chain_at_front(framing: Framing, side: Side, data: bytes, sure_points: int) -> Chain | None:
    """Return the chain from the first byte on that `find_frame` believes at once; None where it looks further."""
    if next(framing.candidates(side, data, 0, len(data)), None) != 0:
        return None
    chain = _walk(framing, side, data, 0, set(), Work(0, len(data)))
    return None if chain.is_dead or chain.first_points < sure_points else chain


def _holds_up(chain: Chain, first_grown: Chain) -> bool:
    return chain.frames == 0 and chain.start < first_grown.start and chain.open_length <= OPEN_FRAME_BYTES


def _best_at_end(chains: list[Chain], alive: list[Chain], at: int, scanned: int, work: Work) -> int | None:
    good = [chain for chain in alive if chain.is_believable_at_end or (chain.start == at and chain.frames)]
    if not good:
        work.settled = max(work.settled, scanned)
        good = [chain for chain in chains if chain.is_enough]
    return _best(good).start if good else None


def _best(chains: Sequence[Chain]) -> Chain:
    """The chain with the most points, and of those too long for chance, the most in the bytes that all have walked.

    A false frame may leap over many and land on the true chain: what counts is who made more of the bytes between.
    """
    long = [chain for chain in chains if chain.is_enough]
    until = min((chain.stop for chain in long), default=0)
    return max(long or chains, key=lambda chain: (chain.points_until(until), chain.points, -chain.start))


def _chains(
    framing: Framing, side: Side, data: bytes, at: int, work: Work, settled: int, sure_points: int | None
) -> tuple[list[Chain], int]:
    """The chains of frames in `data[at:]`, by their starts, and up to where they were looked for.

    Where one at `at` begins with a frame of `sure_points`, no others are looked for. One that runs into another is left
    to that one. None that begins before `settled` is believable at the end.
    """
    chains: list[Chain] = []
    joints: set[int] = set()
    limit = until = len(data)  # where the first chain ends that is too long for chance
    is_found = False
    starts = framing.candidates(side, data, at, len(data))
    while (start := next(starts, limit)) < limit:
        if is_found and start - at > WINDOW_BYTES:
            return chains, start
        if until <= start < settled:  # too late to be its rival, and known not to go on to the end
            starts = _behind(framing, side, data, settled)
            continue
        if start in joints:
            continue
        work.advance(start)
        chain = _walk(framing, side, data, start, joints, work)
        if chain.frames or not chain.is_dead:
            chains.append(chain)
            if start == at and sure_points is not None and not chain.is_dead and chain.first_points >= sure_points:
                return chains, chain.stop
        if chain.is_enough:
            is_found, until = True, min(until, chain.stop)
        if chain.frames == RIVAL_FRAMES:
            limit = min(limit, chain.stop)  # what begins behind it is no rival: it may be its own continuation
    return chains, limit


def _behind(framing: Framing, side: Side, data: bytes, at: int) -> Iterator[int]:
    """The candidates from `at` on, where no search begins: some may begin only there."""
    return (start for start in framing.candidates(side, data, at - 1, len(data)) if start >= at)


def _walk(framing: Framing, side: Side, data: bytes, at: int, joints: set[int], work: Work) -> Chain:
    """The chain that begins at `at`; it ends too, and stays alive, where the work allows no further frame."""
    chain, end = Chain(at), len(data)
    while at < end and chain.frames < RIVAL_FRAMES:
        length = _extent(framing, side, data, at, end)
        if length == 0 or at + length > end:
            chain.open_length = length
            return chain
        if length > 0 and not work.allows(length):
            chain.is_dead = not chain.frames
            return chain
        points = framing.trust(side, data, at, at + length) if length > 0 else 0
        if not points:
            chain.is_dead = True
            return chain
        at += length
        if at in joints:
            return Chain(chain.start, is_dead=True)
        chain.frames += 1
        chain.points += points
        chain.first_points = chain.first_points or points
        chain.marks.append((at, chain.points))
        joints.add(at)
    chain.is_whole = at == end
    return chain


def _extent(framing: Framing, side: Side, data: bytes, at: int, end: int) -> int:
    """Bytes of the frame at `at`, 0 when that is not known yet, -1 where there is none."""
    try:
        return max(framing.extent(side, data, at, end), 0)
    except DecodeError:
        return -1
