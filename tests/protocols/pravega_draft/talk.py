"""Frames of a connection of the draft, short to write: what the tests of this folder say."""

from wiretool.codec.message import Message, Side
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.pravega_draft import PROTOCOL
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import (
    AppendSetup,
    BeginAppendBlock,
    EndAppendBlock,
    Event,
    PartialMessage,
    SetupAppend,
)

ID = "01234567-89ab-cdef-fedc-ba9876543210"
OTHER = "00000000-0000-0001-0000-000000000002"
SETUP = SetupAppend(connection_id=ID, segment="seg")
HELLO = Event(data=b"hello")


class Talk:
    """A conversation, and what was read of it; records are numbered from 1."""

    def __init__(self, *said: tuple[Side, Message], is_whole: bool = True) -> None:
        self.conversation: Conversation = PROTOCOL.open(is_whole)
        self.readings: list[Reading] = []
        for side, message in said:
            self.say(side, message)

    def say(self, side: Side, message: Message) -> Reading:
        """Read a message of one side."""
        return self.say_bytes(side, encode(message))

    def say_bytes(self, side: Side, data: bytes) -> Reading:
        """Read a frame of one side; it stands somewhere in the bytes that were captured."""
        reading = self.conversation.read(side, b"??" + data + b"?", 2, 2 + len(data), len(self.readings) + 1)
        self.readings.append(reading)
        return reading

    def client(self, *messages: Message) -> Reading:
        """Read messages of the client; the last reading."""
        return [self.say("client", message) for message in messages][-1]

    def server(self, message: Message) -> Reading:
        """Read a message of the server."""
        return self.say("server", message)


def kinds(reading: Reading) -> list[str]:
    """The names of the defects."""
    return [defect.kind for defect in reading.defects]


def ack_level(offset: int, connection_id: str = ID) -> AppendSetup:
    """The server's word on where the appender goes on."""
    return AppendSetup(segment="seg", connection_id=connection_id, connection_offset_ack_level=offset)


def begin(offset: int, length: int, connection_id: str = ID) -> BeginAppendBlock:
    """A block begins."""
    return BeginAppendBlock(connection_id=connection_id, connection_offset=offset, length=length)


def end(offset: int, length: int, connection_id: str = ID) -> EndAppendBlock:
    """A block ends."""
    return EndAppendBlock(connection_id=connection_id, connection_offset=offset, block_length=length)


def pieces(message: Message, *cuts: int) -> list[PartialMessage]:
    """A message cut at these places."""
    raw = encode(message)
    edges = [0, *cuts, len(raw)]
    names = ["BEGIN", *["MIDDLE"] * (len(cuts) - 1), "END"]
    return [PartialMessage(part=name, data=raw[edges[index] : edges[index + 1]]) for index, name in enumerate(names)]
