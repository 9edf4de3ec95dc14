"""Clients of the draft's mock, short to write: what the tests of this folder say."""

from collections.abc import Iterator, Sequence

from tests.protocols.pravega_draft.talk import HELLO, ID, SETUP, ack_level, begin, end
from wiretool.codec.message import Message
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import DataAppended, Event, ReadSegment, SegmentRead
from wiretool.protocols.pravega_draft.server import DraftMock
from wiretool.protocols.pravega_draft.server.appends import message_of
from wiretool.server.mock import Action, Send

NOW = 1_000_000_000
STORED = encode(HELLO)


class Client:
    """A connection to a mock, and what came of it."""

    def __init__(self, mock: DraftMock, number: int = 1) -> None:
        self.mock = mock
        self.number = number
        self.closed: str | None = None
        self.raw = b""
        self._elsewhere = mock.opened(number, "store", NOW)

    def send(self, *messages: Message) -> list[Message]:
        """What is answered to these, sent together."""
        return self.send_bytes(b"".join(map(encode, messages)))

    def send_bytes(self, data: bytes) -> list[Message]:
        return self.take(self.mock.received(self.number, data, NOW))

    def take(self, actions: Sequence[Action]) -> list[Message]:
        """What these actions say to this connection."""
        raw = b""
        for action in actions:
            if action.connection == self.number:
                if isinstance(action, Send):
                    raw += action.data
                else:
                    self.closed = action.why
        self.raw += raw
        return list(messages_in(raw))


def messages_in(data: bytes) -> Iterator[Message]:
    at = 0
    while at < len(data):
        length = HEADER_BYTES + int.from_bytes(data[at + 4 : at + 8], "big")
        yield message_of(data[at : at + length])
        at += length


def connected(*, segments: Sequence[str] | None = None) -> Client:
    return Client(DraftMock(segments=segments))


def set_up() -> Client:
    client = connected()
    assert client.send(SETUP) == [ack_level(0)]
    return client


def block(offset: int, *events: Event, connection_id: str = ID) -> list[Message]:
    """A block of whole events."""
    length = sum(len(encode(event)) for event in events)
    return [begin(offset, length, connection_id), *events, end(offset + length, length, connection_id)]


def ack(level: int, connection_id: str = ID) -> DataAppended:
    return DataAppended(connection_id=connection_id, connection_offset_ack_level=level)


def read(offset: int, length: int = 1_000) -> ReadSegment:
    return ReadSegment(segment="seg", offset=offset, suggested_length=length)


def got(offset: int, data: bytes, *, at_tail: bool = True, end_of_segment: bool = False) -> SegmentRead:
    return SegmentRead(segment="seg", offset=offset, at_tail=at_tail, end_of_segment=end_of_segment, data=data)


def stored(mock: DraftMock, segment: str = "seg") -> bytes:
    found = mock.segments.find(segment)
    return b"" if found is None else found.read(found.start, found.length)
