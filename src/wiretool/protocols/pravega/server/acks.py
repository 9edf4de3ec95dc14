"""DataAppended, the one reply that is sent so often that its frame is packed at once."""

from uuid import UUID

from wiretool.codec.packed import packer
from wiretool.protocols.pravega.framing import PAYLOAD_BYTES_MAX, frame
from wiretool.protocols.pravega.messages import DataAppended

_pack = packer(DataAppended)
#: The header is the same for all of them: their payloads are of one size.
_HEADER = frame(DataAppended.declaration.type_id, _pack(bytes(16), 0, 0, 0, 0), PAYLOAD_BYTES_MAX["server"])[:8]


def ack_head(writer_id: str) -> bytes:
    """The writer's name as acknowledgements carry it."""
    return UUID(writer_id).bytes


def ack(writer: bytes, number: int, previous: int, request_id: int, length: int) -> bytes:
    """The frame of a DataAppended; `number` is the event number, `length` the write offset of the segment."""
    return _HEADER + _pack(writer, number, previous, request_id, length)
