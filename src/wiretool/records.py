"""The record: what wiretool says of one stretch of a stream. Sinks write it, filters look at it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from wiretool.codec.message import Doc, Message, Side

Kind = Literal["frame", "gap", "problem", "other"]


class Record(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A frame, a gap, a problem, or bytes of another protocol."""

    n: Annotated[int, Doc("number of the record, from 1, in the order of output")]
    kind: Kind
    time_ns: Annotated[int, Doc("time of the packet that completed it, in nanoseconds since 1970")]
    connection: Annotated[int, Doc("number of the connection, from 0, in order of appearance")]
    client: Annotated[str, Doc("address of the client: ip:port")]
    server: Annotated[str, Doc("address of the server: ip:port")]
    side: Annotated[Side, Doc("the sender of the bytes")]
    packets: Annotated[tuple[int, int], Doc("numbers of the first and last packet, from 1")]
    offset: Annotated[int, Doc("position in the flow of that side, in bytes")]
    length: Annotated[int, Doc("size in the flow, in bytes")]
    protocol: Annotated[str, Doc("name of the protocol; absent for other")] = ""
    message: Annotated[str, Doc("the protocol's own name of the message")] = ""
    fields: Annotated[Message | Mapping[str, Any] | None, Doc("the decoded message")] = None
    reply_to: Annotated[int | None, Doc("n of the request that this answers")] = None
    error: Annotated[str, Doc("kind of the problem")] = ""
    why: Annotated[str, Doc("the problem in words; the origin of a gap or of other bytes")] = ""
    append: Annotated[
        Mapping[str, Any] | None, Doc("an append that this frame completes: its segment, writer and numbers")
    ] = None
    events: Annotated[list[Mapping[str, Any]] | None, Doc("the events of the append")] = None
    left_over: Annotated[
        bytes, Doc("bytes after the last known field of a message, where the protocol ignores them")
    ] = b""
    #: The bytes of the frame; not part of the JSON form.
    raw: bytes = b""
