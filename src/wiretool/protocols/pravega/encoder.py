"""Appends to bytes as the Java client writes them (CommandEncoder.java): blocks begun before their end is known.

What it returns goes out at once; a block stays open until it is full, another command is sent or `flush` is called.
"""

from wiretool.codec.message import Message
from wiretool.codec.types import Uuid
from wiretool.errors import EncodeError
from wiretool.protocols.pravega.framing import HEADER_BYTES, PAYLOAD_BYTES_MAX, encode, frame
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    Hello,
    Padding,
    PartialEvent,
    SetupAppend,
)

_WRITER_ID_BYTES = 16
#: What may queue up for one writer while another has a block open, before that block is broken off.
QUEUED_BYTES_MAX = 1024 * 1024
QUEUED_EVENTS_MAX = 500


class _Session:
    """A writer that is set up: what it has sent, and what waits for another writer's block to end."""

    def __init__(self, setup: SetupAppend) -> None:
        self.writer_id = setup.writer_id
        self.request_id = setup.request_id
        self.last_event_number = -1
        self.event_count = 0
        self.queue: list[bytes] = []

    @property
    def queued_bytes(self) -> int:
        """Bytes that wait."""
        return sum(map(len, self.queue))


class AppendEncoder:
    """The appends and other commands of one connection. `block_size`: bytes of a block whose end is not known yet."""

    def __init__(self, block_size: int = 0) -> None:
        self.block_size = block_size
        self._sessions: dict[str, _Session] = {}
        self._owner: _Session | None = None
        self._block_bytes = 0
        self._bytes_left = 0

    def send(self, message: Message) -> bytes:
        """Any command but an append: it ends the open block, and SetupAppend begins a session."""
        if isinstance(message, Hello) and (self._owner or any(session.queue for session in self._sessions.values())):
            raise EncodeError("Hello while appends are under way")
        out = self.flush()
        if isinstance(message, SetupAppend):
            self._sessions[message.writer_id] = _Session(message)
        return out + encode(message, "client")

    def append(self, writer_id: str, event_number: int, data: bytes, event_count: int = 1) -> bytes:
        """Append `data`, in which the events have their headers already."""
        session = self._session(writer_id, event_number, event_count)
        session.last_event_number = event_number
        session.event_count += event_count
        if self._owner is session:
            return self._into_block(session, data)
        if self._owner is not None or session.queue:
            session.queue.append(data)
            full = session.queued_bytes > QUEUED_BYTES_MAX or session.event_count > QUEUED_EVENTS_MAX
            return self.flush() if full or self._owner is None else b""
        if self.block_size > len(data):
            return self._begin(session) + self._into_block(session, data)
        return self._exact(session, data)

    def flush(self) -> bytes:
        """End the open block where it is, and write what waits."""
        owner, self._owner = self._owner, None
        if owner is None:
            return self._flush_queues()
        padding = _item(Padding.declaration.type_id, bytes(self._bytes_left))
        return padding + self._end(owner, self._block_bytes - self._bytes_left, b"") + self._flush_queues()

    def _session(self, writer_id: str, event_number: int, event_count: int) -> _Session:
        session = self._sessions.get(writer_id)
        if session is None:
            raise EncodeError(f"no SetupAppend for writer {writer_id}")
        if event_count <= 0:
            raise EncodeError(f"an append of {event_count} events")
        if event_number <= session.last_event_number:
            raise EncodeError(f"event {event_number} after event {session.last_event_number}")
        return session

    def _begin(self, session: _Session) -> bytes:
        """The beginning of an AppendBlock with room for `block_size` bytes and the header of the item behind them."""
        length = _WRITER_ID_BYTES + self.block_size + HEADER_BYTES
        if length > PAYLOAD_BYTES_MAX["client"]:
            raise EncodeError(f"a block of {self.block_size} bytes fits no frame")
        self._owner = session
        self._block_bytes = self._bytes_left = self.block_size
        writer_id = bytearray()
        Uuid().write(session.writer_id, writer_id, "AppendBlock.writer_id")
        return AppendBlock.declaration.type_id.to_bytes(4, "big") + length.to_bytes(4, "big") + bytes(writer_id)

    def _into_block(self, session: _Session, data: bytes) -> bytes:
        """Into the open block; what does not leave room is cut, and ends it."""
        if self._bytes_left > len(data):
            self._bytes_left -= len(data)
            return data
        cut, self._owner = self._bytes_left, None
        tail = _item(PartialEvent.declaration.type_id, data[:cut])
        return tail + self._end(session, self._block_bytes - cut, data[cut:]) + self._flush_queues()

    def _exact(self, session: _Session, data: bytes) -> bytes:
        """A block that holds just this."""
        block = encode(AppendBlock(writer_id=session.writer_id, data=data), "client")
        return block + self._end(session, len(data), b"")

    def _end(self, session: _Session, size_of_whole_events: int, data: bytes) -> bytes:
        num_events, session.event_count = session.event_count, 0
        return encode(
            AppendBlockEnd(
                writer_id=session.writer_id,
                size_of_whole_events=size_of_whole_events,
                data=data,
                num_events=num_events,
                last_event_number=session.last_event_number,
                request_id=session.request_id,
            ),
            "client",
        )

    def _flush_queues(self) -> bytes:
        out = b""
        for session in self._sessions.values():
            if session.queue:
                data = b"".join(session.queue)
                session.queue.clear()
                out += self._exact(session, data)
        return out


def _item(type_id: int, data: bytes) -> bytes:
    return frame(type_id, data, PAYLOAD_BYTES_MAX["client"])
