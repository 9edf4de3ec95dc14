"""Frames of one side joined to messages: fragments, compression, UTF-8 and the limits on size (RFC 6455 §5.4)."""

from typing import NamedTuple

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.offramp.deflate import Inflater
from wiretool.protocols.offramp.framing import Header

TEXT = 1


class Joined(NamedTuple):
    """What a data frame does to its message. `content` is the whole message where the frame completes one."""

    content: bytes | None = None
    opcode: int = 0
    defects: tuple[DecodeError, ...] = ()
    #: The whole message as it is on the wire, where its compression cannot be undone, and why.
    deflated: bytes | None = None
    why: str = ""


class Joiner:
    """The unfinished message of one side. `is_certain`: every frame so far was seen.

    A client's message longer than `client_message_max` has a defect: bytes of BINARY, UTF-16 units of TEXT.
    """

    def __init__(
        self,
        side: Side,
        *,
        is_certain: bool,
        client_message_max: int = limits.OFFRAMP_CLIENT_MESSAGE_BYTES_MAX,
    ) -> None:
        self.inflater = Inflater(is_sure=is_certain)
        self.client_message_max = client_message_max
        self._side: Side = side
        self._is_certain = is_certain
        self._opcode = 0
        self._is_compressed = False
        self._is_dropped = False
        self._content = bytearray()
        self._size = 0

    def hole(self) -> None:
        """Frames may be missing here."""
        self._is_certain = False
        self._opcode = 0
        self._content = bytearray()
        self.inflater.forget()

    @property
    def held_bytes(self) -> int:
        """Return the bytes kept of the unfinished message."""
        return len(self._content)

    @property
    def is_between(self) -> bool:
        """Whether no message is unfinished."""
        return not self._opcode

    def pass_whole(self) -> None:
        """Whole messages, each in one frame with nothing wrong in it, were read without `join`; between messages."""
        self._is_certain = True

    def join(self, header: Header, payload: bytes) -> Joined:
        """The next data frame."""
        defects: list[DecodeError] = []
        if header.opcode == 0 and not self._opcode:
            return self._lone(header)
        if header.opcode:
            if self._opcode:
                defects.append(DecodeError("message_inside_message", "the one before it is not finished"))
            self._begin(header)
        self._is_certain = True
        self._size += len(payload)
        if self._size > limits.WEBSOCKET_MESSAGE_BYTES_MAX and not self._is_dropped:
            self._is_dropped = True
            self._content = bytearray()
            self.inflater.forget()
            defects.append(OverLimit("message_too_big", f"fragments of more than {self._size} bytes"))
        if header.is_final and not self._content and not self._is_dropped:
            return self._complete(payload, defects)
        if not self._is_dropped:
            self._content += payload
        if not header.is_final:
            return Joined(None, self._opcode, tuple(defects))
        return self._complete(bytes(self._content), defects)

    def _lone(self, header: Header) -> Joined:
        """A continuation of nothing that was seen."""
        if not self._is_certain:
            self._is_certain = header.is_final
            return Joined()
        return Joined(defects=(DecodeError("lone_continuation", "it continues no message"),))

    def _begin(self, header: Header) -> None:
        self._opcode = header.opcode
        self._is_compressed = header.is_compressed
        self._is_dropped = False
        self._content = bytearray()
        self._size = 0

    def _complete(self, content: bytes, defects: list[DecodeError]) -> Joined:
        opcode, self._opcode = self._opcode, 0
        self._content = bytearray()
        if self._is_dropped:
            return Joined(None, opcode, tuple(defects))
        if not self._is_compressed:
            return self._checked(content, opcode, defects)
        try:
            inflated = self.inflater.inflate(content)
        except DecodeError as err:
            return Joined(None, opcode, (*defects, err), content, str(err.why))
        if inflated is None:
            return Joined(None, opcode, tuple(defects), content, "the messages that it refers to were not captured")
        return self._checked(inflated, opcode, defects)

    def _checked(self, content: bytes, opcode: int, defects: list[DecodeError]) -> Joined:
        size = len(content)
        if opcode == TEXT:
            try:
                size = _utf16_units(content)
            except UnicodeDecodeError as err:
                defects.append(DecodeError("bad_utf8", f"{err.reason} in a text message", offset=err.start))
        if self._side == "client" and size > self.client_message_max:
            why = f"a client message of {size}, more than {self.client_message_max:,}"
            defects.append(OverLimit("message_too_big", why))
        return Joined(content, opcode, tuple(defects))


def _utf16_units(content: bytes) -> int:
    """How a text message is measured by the server."""
    if content.isascii():
        return len(content)
    text = content.decode("utf-8")
    return len(text) + sum(char > "\uffff" for char in text)
