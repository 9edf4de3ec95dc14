"""The record: what wiretool says of one stretch of a stream. Sinks write it, filters look at it."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from wiretool.codec.message import Message, Side

Kind = Literal["frame", "gap", "problem", "other"]


class Record(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A frame, a gap, a problem, or bytes of another protocol."""

    #: From 1, in the order of output.
    n: int
    kind: Kind
    #: When the packet that completed it was captured, ns since the epoch.
    time_ns: int
    #: From 0, in order of appearance.
    connection: int
    #: `ip:port`
    client: str
    server: str
    #: Who sent the bytes.
    side: Side
    #: First and last packet, from 1.
    packets: tuple[int, int]
    #: Where in the stream of that side, and how many bytes.
    offset: int
    length: int
    #: Name of the protocol; empty for `other`.
    protocol: str = ""
    #: The protocol's own name of the message.
    message: str = ""
    fields: Message | Mapping[str, Any] | None = None
    #: `n` of the request that this answers.
    reply_to: int | None = None
    #: The vectors' name of the defect.
    error: str = ""
    why: str = ""
    #: An append that this frame completes: segment, writer, event number, and what of it are events.
    append: Mapping[str, Any] | None = None
    events: list[Mapping[str, Any]] | None = None
    #: Bytes behind the last known field of a message, where the protocol ignores them.
    left_over: bytes = b""
    #: The bytes of the frame; not part of the JSON form.
    raw: bytes = b""
