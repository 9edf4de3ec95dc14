"""The size of compressed messages before they are read, so that a batch has no more of them than it may have."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.message import SIDES
from wiretool.protocols.base.columns import Frames
from wiretool.protocols.offramp import framing, handshake
from wiretool.protocols.offramp.columns.frames import Heads, is_compressed, may_expand
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.deflate import Inflater
from wiretool.protocols.offramp.messages import HandshakeResponse

#: Returns the size of the next message of a side.
_Measure = Callable[[bytes], int]


def expanded_bytes(frames: Frames, owner: Integers, talks: Sequence[Connection], bytes_max: int) -> int:
    """Return how many bytes the compressed messages in frames may come to; see `ProtocolColumns.expanded_bytes`.

    Where they may come to more than `bytes_max`, their inflaters inflate them now and keep them for `inflate`.
    """
    packed = np.flatnonzero(may_expand(frames.data, frames.starts))
    for index in np.unique(owner[is_compressed(frames.data, frames.starts)]).tolist():
        talks[index].is_packed = True
    sizes = (frames.ends - frames.starts)[packed] * limits.DEFLATE_GROWTH_MAX
    most = int(sizes.sum())
    if most <= bytes_max:
        return most
    heads = Heads(frames)
    measures = _measures(frames, heads, owner, talks)
    is_known = np.array([index in measures for index in range(len(talks))], np.bool_)[owner[packed]]
    size = int(sizes[~is_known].sum())
    rows = packed[is_known]
    sides = zip(owner[rows].tolist(), frames.is_server[rows].tolist(), strict=True)
    for payload, (index, is_server) in zip(heads.payloads(rows), sides, strict=True):
        if size > bytes_max:
            break
        size += measures[index][is_server](payload)
    return size


def _measures(
    frames: Frames, heads: Heads, owner: Integers, talks: Sequence[Connection]
) -> Mapping[int, tuple[_Measure, _Measure]]:
    """Return what measures the messages of client and server, by the index of their conversation.

    A conversation is not there where messages are in fragments, or where it begins in another way than with an upgrade.
    """
    is_odd: Flags = ~(heads.is_whole | heads.is_ping | heads.is_close)
    odd: dict[int, list[int]] = {}
    for row in np.flatnonzero(is_odd).tolist():
        odd.setdefault(int(owner[row]), []).append(row)
    measures: dict[int, tuple[_Measure, _Measure]] = {}
    for index, talk in enumerate(talks):
        if not all(joiner.is_between for joiner in talk.joiners.values()):
            continue
        inflaters = _after_upgrade(frames, owner, odd[index]) if index in odd else _inflaters_of(talk)
        if inflaters is not None:
            client, server = inflaters
            measures[index] = client.measure(), server.measure()
    return measures


def _inflaters_of(talk: Connection) -> tuple[Inflater, Inflater]:
    return talk.joiners["client"].inflater, talk.joiners["server"].inflater


def _after_upgrade(frames: Frames, owner: Integers, rows: Sequence[int]) -> tuple[Inflater, Inflater] | None:
    """Return the inflaters after the upgrade in these rows; None where they are not the request and response of one.

    Both are the first frames of their sides.
    """
    if frames.is_server[rows].tolist() != [False, True]:
        return None
    for side, row in zip(SIDES, rows, strict=True):
        start, end = int(frames.starts[row]), int(frames.ends[row])
        if _follows_other(frames, owner, row) or not framing.is_http(side, frames.data, start, end):
            return None
    response, _ = handshake.read_handshake("server", frames.data, start, end)
    if not isinstance(response, HandshakeResponse) or response.status != 101:
        return None
    agreed = handshake.agreed_deflate(response)
    if agreed is None:
        return Inflater(), Inflater()
    return Inflater(resets=agreed.client_resets), Inflater(resets=agreed.server_resets)


def _follows_other(frames: Frames, owner: Integers, row: int) -> bool:
    """Return whether the frame before a row is of the same side of the same conversation."""
    return row > 0 and bool(owner[row - 1] == owner[row] and frames.is_server[row - 1] == frames.is_server[row])
