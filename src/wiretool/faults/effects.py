"""What an interceptor wants done, in this order."""

from typing import NamedTuple

from wiretool.codec.message import Side
from wiretool.faults.actions import How


class Deliver(NamedTuple):
    """These bytes, as sent by `side`, go to the other."""

    connection: int
    side: Side
    data: bytes


class Finish(NamedTuple):
    """`side` has sent its last byte: the other may be told so."""

    connection: int
    side: Side


class Cut(NamedTuple):
    """The connection ends on both sides behind what was delivered, with `is_abort` by a reset. Nothing follows."""

    connection: int
    is_abort: bool


class Misdeed(NamedTuple):
    """What the client appends next is acknowledged, and kept otherwise: a server of ours is told so."""

    connection: int
    how: How


Effect = Deliver | Finish | Cut | Misdeed
