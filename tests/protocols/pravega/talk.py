"""Frames of a Pravega connection, short to write: what the tests of this folder say."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.message import Message, Side
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.pravega import PROTOCOL
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    AppendSetup,
    DataAppended,
    SetupAppend,
)

WRITER = "01234567-89ab-cdef-fedc-ba9876543210"
OTHER = "00000000-0000-0001-0000-000000000002"
SEGMENT = "scope/stream/0.#epoch.0"
SETUP = SetupAppend(request_id=1, writer_id=WRITER, segment=SEGMENT)
SETUP_OTHER = SetupAppend(request_id=2, writer_id=OTHER, segment="scope/other/0.#epoch.0")
SET_UP = AppendSetup(request_id=1, writer_id=WRITER, segment=SEGMENT, last_event_number=-(2**63))
HELLO = event_frame(b"hello")
WORLD = event_frame(b"world!")


class Talk:
    """A conversation, and what was read of it; records are numbered from 1."""

    def __init__(self, *said: tuple[Side, Message], is_whole: bool = True) -> None:
        self.conversation: Conversation = PROTOCOL.open(is_whole)
        self.readings: list[Reading] = []
        for side, message in said:
            self.say(side, message)

    def say(self, side: Side, message: Message) -> Reading:
        """Read a message of one side."""
        return self.say_bytes(side, encode(message, side))

    def say_bytes(self, side: Side, data: bytes) -> Reading:
        """Read a frame of one side; it stands somewhere in the bytes that were captured."""
        around = b"\xee" * 3
        n = len(self.readings) + 1
        reading = self.conversation.read(side, around + data + around, 3, 3 + len(data), n)
        self.readings.append(reading)
        return reading

    def client(self, message: Message) -> Reading:
        """Read a message of the client."""
        return self.say("client", message)

    def server(self, message: Message) -> Reading:
        """Read a message of the server."""
        return self.say("server", message)


def kinds(reading: Reading) -> list[str]:
    """The names of the defects."""
    return [defect.kind for defect in reading.defects]


def end(number: int, data: bytes = b"", *, events: int = 1, whole: int = 0, writer: str = WRITER) -> AppendBlockEnd:
    """The end of a block, or a whole append."""
    return AppendBlockEnd(
        writer_id=writer,
        size_of_whole_events=whole,
        data=data,
        num_events=events,
        last_event_number=number,
        request_id=number,
    )


def block(data: bytes, writer: str = WRITER) -> AppendBlock:
    """The beginning of a block."""
    return AppendBlock(writer_id=writer, data=data)


def ack(number: int, writer: str = WRITER) -> DataAppended:
    """The ack of an append."""
    return DataAppended(writer_id=writer, event_number=number, previous_event_number=-(2**63))


def event(number: int, data: bytes) -> Mapping[str, Any]:
    """An event as a reading tells it."""
    return {"event_number": number, "length": len(data), "data": data.hex()}
