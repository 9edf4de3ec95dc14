"""Many frames of an Offramp connection at once: events that are whole messages, everything else one by one.

What they say is checked as by connection.py and events.py, and what these would have remembered of it is written into
the same state.
"""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from wiretool.codec.columns import Flags, Integers
from wiretool.codec.hops import Hops
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError
from wiretool.protocols.bulk import BulkConversation, Frames, Group
from wiretool.protocols.offramp.bulk_columns import Gathered, Members
from wiretool.protocols.offramp.bulk_frames import Heads, is_compressed, split
from wiretool.protocols.offramp.bulk_json import plain_objects
from wiretool.protocols.offramp.connection import Connection, echoed
from wiretool.protocols.offramp.messages import (
    CancelEvent,
    CommitEvent,
    CommitResponseEvent,
    MessageEvent,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.session import Phase

#: Events that change nothing but what waits for an answer, once they flow.
_CLASSES: tuple[type[Message], ...] = (
    MessageEvent,
    RequestEvent,
    CancelEvent,
    CommitEvent,
    CommitResponseEvent,
    RebalanceEvent,
)
#: Their places, by name and whether the server sends it.
_CODE_OF: Mapping[tuple[str | None, bool], int] = {
    (cls.declaration.name, cls.declaration.sender == "server"): code for code, cls in enumerate(_CLASSES)
}
#: Phases of the sides in which these events are in order: they leave the client OPEN, and the server as it is.
_CLIENT_PHASES = frozenset({Phase.ASKED, Phase.OPEN, Phase.JOINED})
_SERVER_PHASES = frozenset({Phase.OPEN, Phase.JOINED})
#: Frames that are read together, so that what is made of them stays in the caches, and bytes they may inflate to.
_PIECE_FRAMES = 1_024
_PIECE_BYTES = 1024 * 1024

_NO_MEMBERS = b"{}"
#: What two bits of deflated data may stand for at most: 258 bytes (RFC 1951 §3.2.5).
DEFLATE_GROWTH_MAX = 258 * 8 // 2

#: What an inflater gave: a message, nothing, or why it is none.
_Outcome = bytes | DecodeError | None
#: What must be done in turn for a row: read it (None), or note its commit or answer with this id.
_Turn = tuple[int, type[Message] | None, Any]
#: Of each class the indices of its events, and their objects.
_ByClass = dict[type[Message], tuple[list[int], list[Any]]]


class _Piece(NamedTuple):
    """Frames from row `start` on: the text of each, empty where there is none, and what was inflated of those rows.

    Of a ping the text is an object without members. `senders` are whether the server sent each message.
    """

    start: int
    texts: list[bytes]
    inflated: Mapping[int, _Outcome]
    senders: frozenset[bool]


class OfframpBulk(BulkConversation):
    """The events of one connection."""

    def __init__(self, conversation: Connection) -> None:
        self._connection = conversation
        #: Whether there were packed messages though nothing of the kind was agreed on: they are unpacked all the same.
        self._is_packed = False

    @property
    def growth(self) -> int:
        return DEFLATE_GROWTH_MAX if self._is_packed or self._connection.deflates is not False else 1

    def is_ready(self) -> bool:
        phases = self._connection.session.phases
        return phases["client"] in _CLIENT_PHASES and phases["server"] in _SERVER_PHASES

    def split(self, side: Side, data: bytes, start: int, end: int, guesses: Integers) -> Hops:
        hops = split(side, data, start, end)
        if self._connection.deflates is False and not self._is_packed:
            self._is_packed = bool(is_compressed(data, hops.starts).any())
        return hops

    def read(self, frames: Frames, read_one: Callable[[int], None]) -> Sequence[Group]:
        if len(frames.starts) < _PIECE_FRAMES:
            return self._read(frames, read_one)
        with _no_collecting():
            return self._read(frames, read_one)

    def _read(self, frames: Frames, read_one: Callable[[int], None]) -> Sequence[Group]:
        heads = Heads(frames, self._connection.joiners["client"].client_message_max)
        gathered = {cls: Gathered(cls) for cls in _CLASSES}
        is_regular = heads.is_whole | heads.is_ping
        for start, stop in _ranges(is_regular):
            while start < stop:
                end = min(stop, start + _PIECE_FRAMES)
                if is_regular[start] and self._may_pass(heads, start, end):
                    piece = self._piece(heads, start, end)
                    self._read_piece(piece, frames, gathered, read_one)
                    end = start + len(piece.texts)
                else:
                    for row in range(start, end):
                        read_one(row)
                start = end
        groups = [each.group() for each in gathered.values()]
        return [group for group in groups if len(group.rows)]

    def _may_pass(self, heads: Heads, start: int, stop: int) -> bool:
        """Whether nothing that came before makes the frames in these rows other than they seem."""
        connection = self._connection
        if connection.deflates is False and heads.is_compressed[start:stop].any():
            return False
        if not self.is_ready():
            return False
        is_server = heads.is_server[start:stop]
        joiners = connection.joiners
        return bool(
            (joiners["server"].is_between or not is_server.any()) and (joiners["client"].is_between or is_server.all())
        )

    def _piece(self, heads: Heads, start: int, stop: int) -> _Piece:
        """The frames from `start` on, to `stop` unless they inflate to too much."""
        texts = heads.payloads(start, stop)
        inflated: dict[int, _Outcome] = {}
        size = 0
        client_max = self._connection.joiners["client"].client_message_max
        for index in np.flatnonzero(heads.is_ping[start:stop]).tolist():
            texts[index] = _NO_MEMBERS
        for index in np.flatnonzero(heads.is_compressed[start:stop]).tolist():
            row = start + index
            if size > _PIECE_BYTES:
                texts = texts[:index]
                break
            side: Side = "server" if heads.is_server[row] else "client"
            outcome = inflated[row] = self._inflated(side, texts[index])
            text = outcome if isinstance(outcome, bytes) else b""
            texts[index] = text if side == "server" or len(text) <= client_max else b""
            size += len(text)
        messages = np.flatnonzero(heads.is_whole[start : start + len(texts)]) + start
        return _Piece(start, texts, inflated, frozenset(heads.is_server[messages].tolist()))

    def _inflated(self, side: Side, payload: bytes) -> _Outcome:
        try:
            return self._connection.joiners[side].inflater.inflate(payload)
        except DecodeError as err:
            return err

    def _read_piece(
        self,
        piece: _Piece,
        frames: Frames,
        gathered: Mapping[type[Message], Gathered],
        read_one: Callable[[int], None],
    ) -> None:
        is_server = frames.is_server[piece.start : piece.start + len(piece.texts)].tolist()
        by_class, odd = _sorted(plain_objects(piece.texts), is_server)
        turns: list[_Turn] = [(piece.start + index, None, None) for index in odd]
        for cls, (indices, objects) in by_class.items():
            rows, members = [piece.start + index for index in indices], Members(cls, objects)
            if cls is RequestEvent:
                _refuse_negative(members)
            gathered[cls].add(rows, members, [piece.texts[index] for index in indices])
            turns += [(rows[index], None, None) for index in members.bad]
            if cls in (CommitEvent, CommitResponseEvent):
                ids = members.values["correlationId"]
                turns += [(row, cls, ids[index]) for index, row in enumerate(rows) if index not in members.bad]
        self._pass(piece.senders)
        turns.sort(key=itemgetter(0))
        self._in_turn(turns, piece, frames, gathered, read_one)

    def _pass(self, senders: frozenset[bool]) -> None:
        """Leave both sides as whole messages in order leave them; those read one by one would do the same."""
        connection = self._connection
        if True in senders:
            connection.joiners["server"].pass_whole()
        if False in senders:
            connection.joiners["client"].pass_whole()
            connection.session.phases["client"] = Phase.OPEN

    def _in_turn(
        self,
        turns: Sequence[_Turn],
        piece: _Piece,
        frames: Frames,
        gathered: Mapping[type[Message], Gathered],
        read_one: Callable[[int], None],
    ) -> None:
        """What the order matters for: commits and their answers, and what is read one by one."""
        connection = self._connection
        for row, cls, correlation_id in turns:
            if cls is None:
                if row in piece.inflated:
                    side: Side = "server" if frames.is_server[row] else "client"
                    connection.joiners[side].inflater.know(piece.inflated[row])
                read_one(row)
            elif cls is CommitEvent:
                connection.commits.add(echoed(correlation_id), int(frames.numbers[row]))
            else:
                record = connection.commits.take(echoed(correlation_id))
                if record is not None:
                    gathered[cls].answers(row, record)


def _sorted(objects: Sequence[dict[str, Any] | None], is_server: Sequence[bool]) -> tuple[_ByClass, list[int]]:
    """The events by class, and the indices of what is none of these."""
    names = [None if each is None else each.get("type") for each in objects]
    if not set(map(type, names)) <= {str, type(None)}:
        names = [name if type(name) is str else None for name in names]
    codes = np.array([_CODE_OF.get(kind, -1) for kind in zip(names, is_server, strict=True)], np.int64)
    by_class: _ByClass = {}
    for code in np.unique(codes[codes >= 0]).tolist():
        indices = np.flatnonzero(codes == code).tolist()
        by_class[_CLASSES[code]] = indices, [objects[index] for index in indices]
    return by_class, np.flatnonzero(codes < 0).tolist()


def _refuse_negative(requests: Members) -> None:
    """A request for less than nothing waits for its ERROR."""
    counts = requests.values["count"]
    requests.bad.update(index for index, count in enumerate(counts) if count is not None and count < 0)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """What is parsed is kept: to look for garbage in it, once every few hundred objects, takes longer than parsing."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _ranges(is_regular: Flags) -> Iterator[tuple[int, int]]:
    """Yield the ranges of regular frames, and those between them."""
    bounds = np.flatnonzero(np.diff(is_regular)) + 1
    yield from pairwise([0, *bounds.tolist(), len(is_regular)])
