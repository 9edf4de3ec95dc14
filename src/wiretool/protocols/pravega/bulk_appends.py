"""Appends and acks of a stretch as arrays: which ack answers which append, and what waits on."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from wiretool.codec.columns import Integers
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.protocols.pravega.appends import Writer
from wiretool.protocols.pravega.bulk_blocks import ACK, END
from wiretool.protocols.pravega.bulk_kinds import Kind, texts_of
from wiretool.protocols.pravega.pairing import Acks
from wiretool.protocols.pravega.session import PravegaConversation

_NONE = np.zeros(0, np.int64)


class _Half:
    """The appends, or the acks, of one writer in a stretch: their places among the frames of their kind."""

    def __init__(self, kind: Kind | None, places: Integers | slice, number: str) -> None:
        self.kind = kind
        self.places = places
        self.numbers = _NONE if kind is None else kind.numbers(number)[places]
        self.rows = _NONE if kind is None else kind.rows[places]
        self.records = _NONE if kind is None else kind.frames.numbers[self.rows]

    def add(self, values: Integers | int) -> None:
        """Note what the session adds to each."""
        if self.kind is not None:
            self.kind.added[self.places] = values


class _Exchange:
    """The appends and acks of one writer in a stretch, behind what waited of it before."""

    def __init__(self, talk: PravegaConversation, writer_id: str, appends: _Half, acks: _Half) -> None:
        self._writer_id = writer_id
        self._writer = talk.appends.current(writer_id)
        self._appends = appends
        self._acks = acks
        waiting = talk.acks.waiting_of(writer_id)
        earlier = np.array([sent[0] for sent in waiting.values()], np.int64)
        self._numbers = np.concatenate((np.array(list(waiting), np.int64), appends.numbers))
        self._records = np.concatenate((earlier, appends.records))
        self._rows = np.concatenate((np.full(len(earlier), -1), appends.rows))
        self._waited = waiting

    @property
    def writer(self) -> Writer | None:
        """Who appends, if that is known."""
        return self._writer

    def is_plain(self) -> bool:
        """Whether the writer is known and all numbers only grow."""
        writer, appends = self._writer, self._appends.numbers
        return (
            writer is not None
            and (not len(appends) or int(appends[0]) >= writer.last)
            and _do_grow(self._numbers)
            and _do_grow(self._acks.numbers)
        )

    def replies(self) -> Integers:
        """For each ack the record of the append with its number, if that was sent before it. Both only grow."""
        acks = self._acks
        if not len(self._numbers) or not len(acks.numbers):
            return np.full(len(acks.numbers), NO_REPLY, np.int64)
        first = int(np.searchsorted(self._numbers, acks.numbers[0]))
        same = slice(first, first + len(acks.numbers))
        if np.array_equal(self._numbers[same], acks.numbers):  # one ack for each append, as is usual
            return np.where(self._rows[same] < acks.rows, self._records[same], NO_REPLY)
        at = np.minimum(np.searchsorted(self._numbers, acks.numbers), len(self._numbers) - 1)
        is_sent = (self._numbers[at] == acks.numbers) & (self._rows[at] < acks.rows)
        return np.where(is_sent, self._records[at], NO_REPLY)

    def settle(self, acks: Acks, segments: dict[str | None, int]) -> None:
        """Note what the writer said last, which of its appends wait on, and what is answered."""
        assert self._writer is not None
        self._acks.add(self.replies())
        self._appends.add(segments.setdefault(self._writer.segment, len(segments)))
        if len(self._appends.numbers):
            self._writer.last = int(self._numbers[-1])
        first = 0
        if len(self._acks.numbers):
            # Both grow: what waits is at the end.
            answered = np.searchsorted(self._numbers, self._acks.numbers[-1], "right")
            first = int(min(answered, np.searchsorted(self._rows, self._acks.rows[-1], "right")))
        acks.leave_waiting(self._writer_id, OrderedDict(self._left(first)))

    def _left(self, first: int) -> Iterator[tuple[int, tuple[int, int]]]:
        """What waits from the append on at `first`, the earlier ones in front."""
        earlier = list(self._waited.items())
        yield from earlier[first:]
        begin = max(first - len(earlier), 0)
        kind = self._appends.kind
        if kind is not None:
            ids = kind.numbers("request_id")[self._appends.places][begin:].tolist()
            sent = zip(self._appends.records[begin:].tolist(), ids, strict=True)
            yield from zip(self._appends.numbers[begin:].tolist(), sent, strict=True)


def settle_appends(
    talk: PravegaConversation,
    kinds: Mapping[int, Kind],
    start: int,
    stop: int,
    segments: dict[str | None, int],
    writer_frames: int,
) -> bool:
    """Read the appends and acks of a stretch, if nothing about them is out of the ordinary; else nothing changes.

    Fewer than `writer_frames` for each writer are out of the ordinary too. `segments` are given codes as they come.
    """
    end, ack = kinds.get(END), kinds.get(ACK)
    first, last = (0, 0) if end is None else end.between(start, stop)
    first_ack, last_ack = (0, 0) if ack is None else ack.between(start, stop)
    ids = [kind.ids()[a:b] for kind, a, b in ((end, first, last), (ack, first_ack, last_ack)) if kind is not None]
    parts = _by_writer(ids, writer_frames) if ids else None
    if parts is None:
        return False
    exchanges = []
    for writer_id, places in parts:
        mine: Integers | slice = slice(first, last)
        its_acks: Integers | slice = slice(first_ack, last_ack)
        if places is not None:
            count = int(np.searchsorted(places, last - first))
            mine, its_acks = places[:count] + first, places[count:] - (last - first) + first_ack
        appends = _Half(end, mine, "last_event_number")
        acks = _Half(ack, its_acks, "event_number")
        exchanges.append(_Exchange(talk, writer_id, appends, acks))
        if not exchanges[-1].is_plain():
            return False
    for exchange in exchanges:
        exchange.settle(talk.acks, segments)
    return True


def _do_grow(numbers: Integers) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def _is_alike(ids: Integers) -> bool:
    """Whether all ids, two numbers each, are the same."""
    numbers = ids.reshape(-1)
    return np.array_equal(numbers[2:], numbers[:-2])


def _by_writer(parts: Sequence[Integers], frames_min: int) -> Sequence[tuple[str, Integers | None]] | None:
    """The writers, and where each has its frames in all parts; one alone has every place, so there are none.

    None if that is fewer than `frames_min` for each.
    """
    parts = [part for part in parts if len(part)]
    if not parts:
        return None
    first = parts[0][:1]
    if all(_is_alike(part) and (part[:1] == first).all() for part in parts):
        return [(texts_of(first)[0], None)]
    ids = np.concatenate(parts)
    kinds, codes = np.unique(np.ascontiguousarray(ids).view("V16")[:, 0], return_inverse=True)
    if len(kinds) * frames_min > len(ids):
        return None
    order = np.argsort(codes, kind="stable")
    places = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    return list(zip(texts_of(kinds.view(np.int64).reshape(-1, 2)), places, strict=True))
