"""Appends and acknowledgements of a stretch of one connection as arrays; it may have several writers."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np

from wiretool.codec.columns import Integers
from wiretool.protocols.pravega.columns.blocks import ACK, END
from wiretool.protocols.pravega.columns.kinds import Kind, texts_of
from wiretool.protocols.pravega.columns.sent_appends import Appends, Half, Waiting, falls
from wiretool.protocols.pravega.pairing import Acks, Sent
from wiretool.protocols.pravega.session import PravegaConversation

_NO_IDS = np.zeros((0, 2), np.int64)


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
    bounds = [(0, 0) if kind is None else kind.between(start, stop) for kind in (end, ack)]
    (first, last), (first_ack, last_ack) = bounds
    ids = [_NO_IDS if kind is None else kind.ids()[slice(*mine)] for kind, mine in zip((end, ack), bounds, strict=True)]
    names, owner = _find_writers(np.concatenate(ids))
    if not 0 < len(names) * writer_frames <= len(owner):
        return False
    known = [writer for name in names if (writer := talk.appends.current(name)) is not None]
    if len(known) < len(names):
        return False
    appends = Half.of_places(end, np.arange(first, last), owner[: last - first], "last_event_number")
    acks = Half.of_places(ack, np.arange(first_ack, last_ack), owner[last - first :], "event_number")
    sent = Appends(appends, _waiting_of(talk.acks, names), len(names))
    lasts = np.array([writer.last for writer in known], np.int64)
    if (
        falls(sent.owner, sent.numbers).any()
        or falls(acks.owner, acks.numbers).any()
        or (appends.numbers < lasts[appends.owner]).any()
    ):
        return False
    codes = [segments.setdefault(writer.segment, len(segments)) for writer in known]
    appends.add(np.array(codes, np.int64)[appends.owner])
    acks.add(sent.answered_by(acks))
    has_new, numbers = sent.last()
    for index, number in zip(np.flatnonzero(has_new).tolist(), numbers.tolist(), strict=True):
        known[index].last = number
    _leave_waiting(talk.acks, names, sent.waiting(acks))
    return True


def _find_writers(ids: Integers) -> tuple[Sequence[str], Integers]:
    """Return the writers with these ids, two numbers each, and the index of that of each id."""
    numbers = ids.reshape(-1)
    if np.array_equal(numbers[2:], numbers[:-2]):  # one alone, as is usual
        return texts_of(ids[:1]), np.zeros(len(ids), np.int64)
    kinds, owner = np.unique(np.ascontiguousarray(ids).view("V16")[:, 0], return_inverse=True)
    return texts_of(kinds.view(np.int64).reshape(-1, 2)), owner


def _waiting_of(acks: Acks, names: Sequence[str]) -> Waiting:
    """Return the appends of writers that wait; the owners are indices of the names."""
    every = [
        (index, number, *sent) for index, name in enumerate(names) for number, sent in acks.waiting_of(name).items()
    ]
    return Waiting(*np.array(every, np.int64).reshape(-1, 4).T)


def _leave_waiting(acks: Acks, names: Sequence[str], waiting: Waiting) -> None:
    """Let these appends of writers wait, and no others."""
    left = [OrderedDict[int, Sent]() for _ in names]
    for index, number, record, request_id in zip(*(column.tolist() for column in waiting), strict=True):
        left[index][number] = record, request_id
    for name, mine in zip(names, left, strict=True):
        acks.leave_waiting(name, mine)
