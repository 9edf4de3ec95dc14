"""DataAppended, the one reply that is sent so often that its frame is put together by hand."""

from uuid import UUID

from wiretool.protocols.pravega.messages import DataAppended

_PAYLOAD_BYTES = 16 + 4 * 8


def ack_head(writer_id: str) -> bytes:
    """What all acknowledgements of a writer begin with: the header of the frame and its name."""
    type_id = DataAppended.declaration.type_id
    return type_id.to_bytes(4, "big") + _PAYLOAD_BYTES.to_bytes(4, "big") + UUID(writer_id).bytes


def ack(head: bytes, number: int, previous: int, request_id: int, length: int) -> bytes:
    """The frame of a DataAppended; `number` is the event number, `length` the write offset of the segment."""
    return b"%b%b%b%b%b" % (
        head,
        number.to_bytes(8, "big", signed=True),
        previous.to_bytes(8, "big", signed=True),
        request_id.to_bytes(8, "big", signed=True),
        length.to_bytes(8, "big"),
    )
