"""What a side still says of calls that rules have taken out: it goes nowhere."""

from collections.abc import Callable
from typing import NamedTuple

from wiretool import limits
from wiretool.records import Record


class Piece(NamedTuple):
    """A frame as a piece of a call."""

    call: int
    #: It completes the message of the call; without it, what follows means nothing.
    is_message: bool
    #: It carries what the call says, and does not only end or steer it.
    is_content: bool
    #: Its side says nothing more of the call.
    is_last: bool


class Remnants:
    """The calls that were taken out of one direction and have not ended there; `piece_of` tells whose a frame is."""

    def __init__(self, piece_of: Callable[[Record], Piece | None]) -> None:
        self._piece_of = piece_of
        #: Whether each was answered, the oldest first.
        self._calls: dict[int, bool] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._calls)

    def expect(self, record: Record, *, is_answered: bool) -> None:
        """This message was taken out: the rest of its call is to go with it.

        The receiver of a call that was answered has been told that it is over. Where it was only lost, nobody knows:
        that the call is given up is still to be told.
        """
        piece = self._piece_of(record)
        if piece is None or not piece.is_message or piece.is_last:
            return
        self._calls[piece.call] = is_answered
        if len(self._calls) > limits.HTTP2_STREAMS_MAX:
            del self._calls[next(iter(self._calls))]

    def takes(self, record: Record) -> bool:
        """Whether the frame belongs to what was taken out."""
        piece = self._piece_of(record) if self._calls else None
        if piece is None or piece.call not in self._calls:
            return False
        is_answered = self._calls[piece.call]
        if piece.is_last:
            del self._calls[piece.call]
        return is_answered or piece.is_content
