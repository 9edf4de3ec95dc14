"""Append blocks and their ends, many at once: what each AppendBlockEnd appends, as spans of the data."""

from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import NO_INTEGERS, Flags, Integers, Spans, gathered
from wiretool.protocols.pravega.columns.events import Appended
from wiretool.protocols.pravega.columns.kinds import Catalogue, Kind, Kinds
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega.messages import AppendBlock, AppendBlockEnd, DataAppended, Padding, PartialEvent
from wiretool.protocols.pravega.session import ROUTES, is_apart

#: The commands that may come while no block is open.
CATALOGUE = Catalogue({side: [cls for cls, *_, phase in ROUTES[side]["idle"].values() if phase] for side in ROUTES})
BLOCK, END, ACK = (CATALOGUE.codes[cls] for cls in (AppendBlock, AppendBlockEnd, DataAppended))
#: By code, False at the end for SLOW: what the session neither looks at the appends for nor changes them.
IS_APART = np.array([*(is_apart(cls) for cls in CATALOGUE.classes), False])

_PARTIAL_EVENT = PartialEvent.declaration.type_id
_PADDING = Padding.declaration.type_id
_ITEM = np.dtype([("type", ">i4"), ("length", ">u4")])
_NO_SPANS = Spans(NO_INTEGERS, NO_INTEGERS, is_text=False)
#: In a column of blocks: the end stands alone.
LONE = -1


class Joins(NamedTuple):
    """Of each AppendBlockEnd what it appends, and the place of the frame with its block, LONE without one."""

    appended: Appended
    blocks: Integers


def join_blocks(found: Kinds, owner: Integers | None = None) -> Joins | None:
    """What the ends append; None where there are none. What is out of the ordinary will be read one by one.

    A block is kept only with its end, and with nothing between the two that could have to do with appends. The frames
    are of one connection, or, those of each in a row, of the connections that `owner` says.
    """
    if END in found.kinds:
        found.drop(END, found.kinds[END].numbers("num_events") <= 0)
    block, end = found.kinds.get(BLOCK), found.kinds.get(END)
    if end is None:
        if block is not None:
            found.drop(BLOCK, np.ones(len(block.rows), np.bool_))
        return None
    if block is None:
        return Joins(Appended(end.spans("data"), NO_INTEGERS, _NO_SPANS, _NO_SPANS), np.full(len(end.rows), LONE))
    return _joined(found, block, end, owner)


def _joined(found: Kinds, block: Kind, end: Kind, owner: Integers | None) -> Joins:
    places = np.minimum(np.searchsorted(end.rows, block.rows), len(end.rows) - 1)
    held, tail = block.spans("data"), end.spans("data").take(places)
    whole = end.numbers("size_of_whole_events")[places]
    left = held.lengths - whole
    items = gathered(block.frames.data, held.starts + np.clip(whole, 0, held.lengths), _ITEM)
    size = items["length"].astype(np.int64)
    is_item = (whole >= 0) & (left >= HEADER_BYTES + size)
    is_cut = is_item & (items["type"] == _PARTIAL_EVENT)
    is_padded = is_item & (items["type"] == _PADDING) & (tail.lengths == 0)
    is_kept = _is_pair(found, block, end, places) & ((left == 0) | is_cut | is_padded)
    if owner is not None:
        is_kept &= owner[block.rows] == owner[end.rows[places]]
    found.drop(BLOCK, ~is_kept)

    places, is_cut = places[is_kept], is_cut[is_kept]
    starts, lengths = end.spans("data").starts.copy(), end.spans("data").lengths.copy()
    starts[places], lengths[places] = held.starts[is_kept], whole[is_kept]
    blocks = np.full(len(end.rows), LONE)
    blocks[places] = block.rows[is_kept]
    begun = Spans((held.starts + whole)[is_kept] + HEADER_BYTES, size[is_kept], is_text=False)
    spans = Spans(starts, lengths, is_text=False)
    appended = Appended(spans, places[is_cut], begun.take(is_cut), tail.take(is_kept).take(is_cut))
    return Joins(appended, blocks)


def _is_pair(found: Kinds, block: Kind, end: Kind, places: Integers) -> Flags:
    """Whether the end is of the block: of the same writer, with nothing about appends between them."""
    meddles = np.cumsum(~(IS_APART[found.codes] | (found.codes == ACK)))
    ends, ids, end_ids = end.rows[places], block.ids(), end.ids()[places]
    is_next = (ends > block.rows) & (meddles[ends] - meddles[block.rows] == 1)
    # Half by half: `all(1)` over two each takes much longer.
    is_pair: Flags = is_next & (ids[:, 0] == end_ids[:, 0]) & (ids[:, 1] == end_ids[:, 1])
    return is_pair
