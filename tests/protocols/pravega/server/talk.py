"""Clients of the mock store, short to write: what the tests of this folder say."""

from wiretool.codec.compiled import decoder
from wiretool.codec.message import Message
from wiretool.protocols.pravega.commands import BY_CODE
from wiretool.protocols.pravega.framing import HEADER_BYTES, encode, type_at
from wiretool.protocols.pravega.messages import AppendBlockEnd, AppendSetup, DataAppended, ReadSegment, SetupAppend
from wiretool.protocols.pravega.segments import CreateSegment, SegmentCreated
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.structures import NONE_I64
from wiretool.server.mock import Action, Close, Send

NOW_NS = 1_800_000_000_000_000_000
SEGMENT, OTHER = "scope/stream/0.#epoch.0", "scope/stream/1.#epoch.0"
WRITER, SECOND = "01234567-89ab-cdef-fedc-ba9876543210", "00000000-0000-0001-0000-000000000002"


class Cluster:
    """A mock, its clients and a clock."""

    def __init__(self, mock: PravegaMock | None = None) -> None:
        self.mock = mock or PravegaMock()
        self.now_ns = NOW_NS
        self.clients: list[Client] = []

    def client(self, door: str = "store") -> "Client":
        """A new connection."""
        client = Client(self, len(self.clients) + 1)
        self.clients.append(client)
        self.do(self.mock.opened(client.number, door, self.now_ns))
        return client

    def do(self, actions: list[Action]) -> None:
        """Carry out what the mock wants."""
        for action in actions:
            client = self.clients[action.connection - 1]
            assert client.why_closed is None, f"{action} on a closed connection"
            if isinstance(action, Send):
                client.heard += action.data
            elif isinstance(action, Close):
                client.why_closed = action.why

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        until_ns = self.now_ns + int(seconds * 1e9)
        while (wake_ns := self.mock.wake_ns) is not None and wake_ns <= until_ns:
            self.now_ns = wake_ns
            self.do(self.mock.woken(wake_ns))
        self.now_ns = until_ns


class Client:
    """One connection."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.cluster = cluster
        self.number = number
        self.heard = b""
        self.why_closed: str | None = None

    def say(self, *messages: Message) -> list[Message]:
        """Send messages at once; what has been answered since the last time."""
        return self.say_bytes(b"".join(encode(message, "client") for message in messages))

    def say_bytes(self, data: bytes) -> list[Message]:
        """Send bytes."""
        mock = self.cluster.mock
        self.cluster.do(mock.received(self.number, data, self.cluster.now_ns))
        return self.hear()

    def hear(self) -> list[Message]:
        """What came since the last time."""
        data, self.heard = self.heard, b""
        found: list[Message] = []
        at = 0
        while at < len(data):
            end = at + HEADER_BYTES + int.from_bytes(data[at + 4 : at + 8], "big")
            message, stop = decoder(BY_CODE[type_at(data, at)])(data, at + HEADER_BYTES, end)
            assert stop == end
            found.append(message)
            at = end
        return found

    def end(self) -> None:
        """Send no more."""
        self.cluster.do(self.cluster.mock.ended(self.number, self.cluster.now_ns))

    def drop(self) -> None:
        """Be gone."""
        self.cluster.do(self.cluster.mock.lost(self.number, self.cluster.now_ns))

    def create(self, *names: str) -> None:
        """Make segments."""
        for name in names:
            assert self.say(create(name)) == [SegmentCreated(request_id=1, segment=name)]

    def set_up(self, segment: str = SEGMENT, writer: str = WRITER) -> int:
        """Set a writer up; its last number."""
        (reply,) = self.say(set_up(segment, writer))
        assert isinstance(reply, AppendSetup)
        return reply.last_event_number

    def write(self, number: int, data: bytes, writer: str = WRITER) -> None:
        """Append one event that is stored."""
        (reply,) = self.say(append(number, data, writer))
        assert isinstance(reply, DataAppended)
        assert reply.event_number == number


def create(name: str = SEGMENT) -> CreateSegment:
    """Make a segment."""
    return CreateSegment(request_id=1, segment=name, target_rate=0, scale_type=0)


def set_up(segment: str = SEGMENT, writer: str = WRITER) -> SetupAppend:
    """Set a writer up."""
    return SetupAppend(request_id=2, writer_id=writer, segment=segment)


def append(number: int, data: bytes, writer: str = WRITER, *, events: int = 1) -> AppendBlockEnd:
    """A whole append without a block."""
    return AppendBlockEnd(
        writer_id=writer,
        size_of_whole_events=len(data),
        data=data,
        num_events=events,
        last_event_number=number,
        request_id=3,
    )


def acked(number: int, length: int, previous: int = NONE_I64, writer: str = WRITER) -> DataAppended:
    """The reply to it."""
    return DataAppended(
        writer_id=writer,
        event_number=number,
        previous_event_number=previous,
        request_id=3,
        current_segment_write_offset=length,
    )


def read(offset: int, size: int = 1_000, segment: str = SEGMENT, *, number: int = 4) -> ReadSegment:
    """Read a segment."""
    return ReadSegment(segment=segment, offset=offset, suggested_length=size, request_id=number)
