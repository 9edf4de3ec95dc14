"""Which of the two schemas a frame of the batch style is of; all else about frames is the newest protocol's framing."""

from __future__ import annotations

from wiretool.protocols.sbp import framing
from wiretool.protocols.sbp.messages import Schema
from wiretool.protocols.sbp_0_1.messages import S1, S2

#: Points from which on a frame is beyond doubt one of its schema.
SURE = 4


def trust(schemas: tuple[Schema, ...], data: bytes, at: int, end: int) -> int:
    """How sure it is that `data[at:end]` is a whole frame of one of the schemas; see Conversation.trust."""
    return max(framing.trust(schema, data, at, end) for schema in schemas)


def only_fit(data: bytes, at: int, end: int) -> Schema | None:
    """The schema of the whole frame `data[at:end]` where a writer of the other never makes it; None if both may."""
    first, second = (framing.trust(schema, data, at, end) for schema in (S1, S2))
    if first == second or max(first, second) < SURE:
        return None
    return S1 if first > second else S2
