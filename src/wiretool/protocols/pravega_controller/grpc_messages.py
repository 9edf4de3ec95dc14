"""Puts the messages of one side of a stream together from the data of its frames, in bounded memory."""

from collections.abc import Iterator
from typing import NamedTuple

from wiretool import limits
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.pravega_controller.calls import PREFIX_BYTES


class Joined(NamedTuple):
    """What some data completes: it may hold very many messages of five bytes, and a call has one."""

    #: The first message that is whole now, less its prefix, and how many there are.
    body: bytes | None
    messages: int
    #: What is wrong with the others, each kind of it once.
    defects: list[DecodeError]


class Held:
    """Bytes that all streams of a connection hold together."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Joiner:
    """One side of one stream. Behind a hole, data counts only where it is one whole message by itself."""

    __slots__ = ("_data", "_held", "_is_certain", "_skip")

    def __init__(self, held: Held, *, is_certain: bool) -> None:
        self._held = held
        self._data = bytearray()
        self._is_certain = is_certain
        #: Bytes still to come of a message that is not kept.
        self._skip = 0

    @property
    def is_between(self) -> bool:
        """Whether nothing of a message waits for its rest, as far as is known."""
        return not self._data and not self._skip

    @property
    def is_certain(self) -> bool:
        """Whether it is known where messages begin."""
        return self._is_certain

    def begin(self) -> None:
        """The next data is the first of the stream."""
        self.drop()
        self._is_certain = True

    def hole(self) -> None:
        """Data may be missing here."""
        self.drop()
        self._is_certain = False

    def drop(self) -> None:
        """Forget what is not whole."""
        self._held.count -= len(self._data)
        self._data.clear()
        self._skip = 0

    def join(self, data: bytes) -> Joined:
        """What these next bytes complete."""
        if not self._is_certain:
            if not is_whole(data):
                return Joined(None, 0, [])
            self._is_certain = True
        first: bytes | None = None
        count = 0
        defects: list[DecodeError] = []
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        self._add(data[skipped:])
        while len(self._data) >= PREFIX_BYTES and self._is_certain:
            length = int.from_bytes(self._data[1:PREFIX_BYTES], "big")
            wrong = _wrong(self._data[0], length)
            if wrong is not None:
                if all(wrong.kind != defect.kind for defect in defects):
                    defects.append(wrong)
                self._pass_over(wrong, length)
            elif len(self._data) < PREFIX_BYTES + length:
                defects += self._bound(length)
                break
            else:
                count += 1
                if first is None:
                    first = bytes(self._data[PREFIX_BYTES : PREFIX_BYTES + length])
                self._take(PREFIX_BYTES + length)
        return Joined(first, count, defects)

    def _add(self, data: bytes) -> None:
        self._data += data
        self._held.count += len(data)

    def _take(self, count: int) -> None:
        count = min(count, len(self._data))
        del self._data[:count]
        self._held.count -= count

    def _pass_over(self, wrong: DecodeError, length: int) -> None:
        """Leave out a message that is compressed or too big; behind a prefix that is none nothing is known."""
        if wrong.kind == "bad_grpc_prefix":
            self.hole()
            return
        self._skip = max(PREFIX_BYTES + length - len(self._data), 0)
        self._take(PREFIX_BYTES + length)

    def _bound(self, length: int) -> Iterator[DecodeError]:
        """Where all streams together hold too much, the message that wants more is given up."""
        if self._held.count > limits.GRPC_HELD_BYTES_MAX:
            why = f"parts of messages, {self._held.count} bytes of them, wait for their rest: this one is not kept"
            wrong = OverLimit("message_not_kept", why)
            self._pass_over(wrong, length)
            yield wrong


def is_whole(data: bytes) -> bool:
    """Whether data is, by its prefix, one whole message."""
    size = len(data)
    return size >= PREFIX_BYTES and data[0] <= 1 and int.from_bytes(data[1:PREFIX_BYTES], "big") == size - PREFIX_BYTES


def _wrong(flag: int, length: int) -> DecodeError | None:
    if flag == 1:
        return DecodeError("compressed_message", f"{length} compressed bytes are not read", path="Data.data")
    if flag > 1:
        return DecodeError("bad_grpc_prefix", f"a message begins with 0 or 1, not {flag}", path="Data.data")
    if length > limits.GRPC_MESSAGE_BYTES_MAX:
        why = f"a message of {length} bytes, at most {limits.GRPC_MESSAGE_BYTES_MAX} are read"
        return OverLimit("message_too_big", why, path="Data.data")
    return None
