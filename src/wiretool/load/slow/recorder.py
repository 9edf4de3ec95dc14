"""Keeping the slowest exchanges of a load process, with their bytes.

Users tell of an exchange that took longer than the floor of what is kept; nothing is said of any other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from wiretool.codec.frames.buffer import whole_frames
from wiretool.errors import DecodeError
from wiretool.load.slow.model import Piece, Slow, SlowConnection, SlowExchange
from wiretool.load.slow.setup_bytes import Opened
from wiretool.load.slow.top_n import Slowest


class Framed(Protocol):
    """Reads what a server says on one connection, frame by frame."""

    @property
    def rest(self) -> bytes:
        """What came last, where it is not whole."""

    def extent(self, data: bytes, at: int, end: int) -> int:
        """Bytes of the frame that begins there (codec/frames/buffer.py)."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Kept:
    """An exchange; times are seconds of the session's clock."""

    connection: Opened
    operation: str
    about: str
    due_s: float
    sent_s: float
    answered_s: float
    request: bytes
    reply: tuple[bytes, ...]
    reply_number: int


@dataclass(slots=True)
class Keeper:
    """Keeps exchanges of one user on one connection."""

    slowest: Slowest[Kept]
    clock: Callable[[], float]
    connection: Opened
    #: What answers now.
    _reply: tuple[bytes, ...] = ()

    def is_slow(self, due_s: float) -> bool:
        """Whether what was due then would be kept if it were answered now."""
        return self.clock() - due_s > self.slowest.floor

    def reply(self, *pieces: bytes) -> None:
        """What was heard now: the reply to all that is kept from here on."""
        self._reply = pieces
        self.connection.replies += 1

    def keep(
        self, operation: str, about: str, *, due_s: float, sent_s: float, answered_s: float, request: bytes | bytearray
    ) -> None:
        """An exchange that took longer than the floor."""
        kept = Kept(
            connection=self.connection,
            operation=operation,
            about=about,
            due_s=due_s,
            sent_s=sent_s,
            answered_s=answered_s,
            request=bytes(request),
            reply=self._reply,
            reply_number=self.connection.replies,
        )
        self.slowest.add(answered_s - due_s, len(request) + sum(map(len, self._reply)), kept)


def frames_in(reader: Framed, data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What of these bytes brings each frame to its end, with the whole frame; at last what is left, with nothing.

    Meanwhile the reader is to be fed what is given here, and nothing else.
    """
    whole = reader.rest + data
    fed = len(whole) - len(data)
    try:
        for at, end in whole_frames(whole, reader.extent):
            yield whole[fed:end], whole[at:end]
            fed = end
    except DecodeError:
        pass  # whoever reads it says what is wrong with it
    if fed < len(whole):
        yield whole[fed:], b""


def told(slowest: Slowest[Kept], worker: str, wall_ns: Callable[[float], int]) -> Slow:
    """What is kept, in the form in which it is said; `wall_ns` gives ns since 1970 for a time of the session."""
    kept: dict[Opened, list[Kept]] = {}
    for one in slowest.things():
        kept.setdefault(one.connection, []).append(one)
    connections = [_connection(opened, some, wall_ns) for opened, some in kept.items()]
    return Slow(worker=worker, connections=connections, left_out=slowest.left_out, cut_ns=round(slowest.cut * 1e9))


def _connection(opened: Opened, kept: list[Kept], wall_ns: Callable[[float], int]) -> SlowConnection:
    opening = [Piece(at_ns=wall_ns(at_s), side=side, data=data) for at_s, side, data in opened.opening.pieces]
    return SlowConnection(
        client=opened.client,
        server=opened.server,
        opened_ns=wall_ns(opened.opened_s),
        opening=opening,
        exchanges=[_exchange(one, wall_ns) for one in kept],
    )


def _exchange(kept: Kept, wall_ns: Callable[[float], int]) -> SlowExchange:
    return SlowExchange(
        operation=kept.operation,
        about=kept.about,
        due_ns=wall_ns(kept.due_s),
        sent_ns=wall_ns(kept.sent_s),
        answered_ns=wall_ns(kept.answered_s),
        request=kept.request,
        reply=b"".join(kept.reply),
        reply_number=kept.reply_number,
    )
