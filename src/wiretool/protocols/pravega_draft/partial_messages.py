"""Messages that were cut: what a piece may follow, and the message that the pieces make up (S3, S4)."""

from wiretool import limits
from wiretool.codec.message import Message, Side
from wiretool.protocols.pravega.framing import HEADER_BYTES, unknown_type
from wiretool.protocols.pravega_draft.blocks import Blocks
from wiretool.protocols.pravega_draft.framing import BY_HEAD
from wiretool.protocols.pravega_draft.messages import PartialMessage

_NAME = PartialMessage.declaration.name


class Partial:
    """The pieces that one side has sent of a message that was cut."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._bytes = 0
        self._is_open = False

    @property
    def held_bytes(self) -> int:
        """Return the bytes of the pieces so far."""
        return len(self._data)

    @property
    def is_open(self) -> bool:
        """Return whether the message lacks pieces."""
        return self._is_open

    def drop(self) -> None:
        """The rest will not come."""
        self._data = bytearray()
        self._is_open = False

    def add(self, part: str, data: bytes) -> bytes | None:
        """The whole frame, when `data` is its last piece."""
        if part == "BEGIN":
            self.drop()
            self._is_open, self._bytes = True, 0
        assert self._is_open
        self._bytes += len(data)
        if self._bytes <= HEADER_BYTES + limits.PRAVEGA_PAYLOAD_BYTES_MAX:
            self._data += data
        if part != "END":
            return None
        whole = bytes(self._data)
        self.drop()
        return whole


def join(partial: Partial, piece: PartialMessage, blocks: Blocks, side: Side) -> bytes | None:
    """Return the whole frame, when the piece is its last one; ProtocolViolation where none may come, or this one."""
    if piece.part == "BEGIN" and partial.is_open:
        partial.drop()
        raise blocks.violation("partial-already-open", "the message before it is not complete", _NAME, side)
    if piece.part != "BEGIN" and not partial.is_open:
        raise blocks.violation("partial-not-open", "no message is being put together", _NAME, side)
    return partial.add(piece.part, piece.data)


def put_together(whole: bytes, blocks: Blocks, side: Side) -> tuple[Message, int]:
    """Return the message that the pieces make up, and the end of its last field."""
    length = int.from_bytes(whole[4:HEADER_BYTES], "big")
    if len(whole) != HEADER_BYTES + length:
        why = f"the pieces are {len(whole)} bytes, the header in them has {length} and {HEADER_BYTES}"
        raise blocks.violation("partial-length-mismatch", why, _NAME, side)
    found = BY_HEAD.get(whole[:4])
    if found is None:
        raise unknown_type(whole, 0)
    cls, decode = found
    if cls is PartialMessage:
        raise blocks.violation("partial-already-open", "a piece inside the pieces", _NAME, side)
    return decode(whole, HEADER_BYTES, len(whole))
