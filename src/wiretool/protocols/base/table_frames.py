"""Frames whose header is a FlatBuffers table, as data for readers that know declarations alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.message import Message


class TableOperation(NamedTuple):
    """The tables that a request and a response of one operation have; None for a header that may be anything."""

    name: str
    request: type[Table] | None
    response: type[Table] | None
    #: The message that a payload consists of, over and over; None for any bytes.
    batch: type[Message] | None = None
    #: The table of the header without which a payload is any bytes; None where it is batches after any header.
    batch_header: type[Table] | None = None
    #: The table of a response that reports an error of the system; None without such a response.
    system_error: type[Table] | None = None
    #: Whether servers refuse a request without a header.
    needs_header: bool = False


class TableSchema(NamedTuple):
    """One version of the tables."""

    #: By `opcode`, and that of any other.
    operations: Mapping[int, TableOperation]
    unknown: TableOperation
    #: The flags that mean something.
    flags: int


@dataclass(frozen=True, slots=True)
class TableFrames:
    """A length, a magic byte, numbers, a u24 count of bytes with the table, the payload and a checksum.

    The numbers are those that `envelope` declares in front of its header, big-endian. Among them are `opcode`, the
    number of the operation, `flags`, and `stream_id`, which a reply has from its request.

    A connection is of the first schema until a frame comes that only a writer of another one makes.
    """

    prefix: Prefix
    envelope: type[Message]
    schemas: tuple[TableSchema, ...]
    #: The bits of `flags` of a response, and of an error of the system.
    response: int
    system_error: int
