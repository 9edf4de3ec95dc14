"""Header blocks as they come: in one frame, or begun in one and gone on with in CONTINUATION frames."""

from dataclasses import dataclass

from hyperframe import frame as h2

from wiretool import limits
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.pravega_controller.headers import HeaderReader, Pair


@dataclass(slots=True)
class Block:
    """A header block: whose it is, and its bytes so far, None where they are too many to keep.

    `is_first`: nothing that its side says on the stream came before.
    """

    stream_id: int
    is_promise: bool
    ends_stream: bool
    data: bytes | None = b""
    is_first: bool = False


@dataclass(slots=True)
class Told:
    """What a frame says of its block: the fields, where it ends it and they can be read."""

    block: Block
    headers: tuple[Pair, ...] | None = None
    defect: DecodeError | None = None


class Blocks:
    """The header blocks of one side; `is_whole`: its first is the first that was ever sent."""

    def __init__(self, *, is_whole: bool) -> None:
        self.reader = HeaderReader(is_whole=is_whole)
        self._open: Block | None = None

    def begin(self, frame: h2.HeadersFrame | h2.PushPromiseFrame, *, is_first: bool = False) -> Told:
        """A HEADERS or PUSH_PROMISE frame."""
        is_promise = isinstance(frame, h2.PushPromiseFrame)
        block = Block(frame.stream_id, is_promise, "END_STREAM" in frame.flags, is_first=is_first)
        return self._add(block, frame.data, ends="END_HEADERS" in frame.flags)

    def go_on(self, frame: h2.ContinuationFrame) -> Told | None:
        """A CONTINUATION frame; None where it goes on with nothing that was captured."""
        block = self._open
        if block is None or block.stream_id != frame.stream_id:
            self.break_off()
            return None
        return self._add(block, frame.data, ends="END_HEADERS" in frame.flags)

    def break_off(self) -> None:
        """Some block of this side is not whole."""
        self._open = None
        self.reader.forget()

    @property
    def is_open(self) -> bool:
        """Whether a block waits for its continuation."""
        return self._open is not None

    def _add(self, block: Block, data: bytes, *, ends: bool) -> Told:
        told = Told(block)
        if block.data is not None and len(block.data) + len(data) > limits.HTTP2_HEADERS_BYTES_MAX:
            why = f"a header block of more than {limits.HTTP2_HEADERS_BYTES_MAX} bytes is not read"
            told.defect = OverLimit("headers_too_big", why, path="headers")
            block.data = None
            self.reader.forget()
        if block.data is not None:
            block.data += data
        self._open = None if ends else block
        if ends and block.data is not None:
            try:
                told.headers = self.reader.read(block.data)
            except DecodeError as err:
                told.defect = err
        return told
