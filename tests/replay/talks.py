"""A short conversation with a Pravega store, with whatever is to be another in it."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from tests.helpers.captures import tcp_packets
from wiretool.analysis.dialogues import Recording
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.stream_events import Side
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import (
    AppendBlockEnd,
    AppendSetup,
    DataAppended,
    Hello,
    KeepAlive,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.replay.adapter import ReplayAdapter
from wiretool.replay.diff.comparing import compare
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.recording import recording_of

STORE = ("10.0.0.2", 12345)
CLIENT = ("10.0.0.1", 40000)
SEGMENT = "scope/stream/0.#epoch.0"
WRITER = str(UUID(int=7))
PLAIN: Mapping[str, ReplayAdapter] = {"pravega": ReplayAdapter(PROTOCOLS["pravega"])}
Says = list[tuple[Side, bytes]]


def client(message: AppendBlockEnd | Hello | KeepAlive | ReadSegment | SetupAppend) -> tuple[Side, bytes]:
    return "client", encode(message, "client")


def server(message: AppendSetup | DataAppended | Hello | SegmentRead) -> tuple[Side, bytes]:
    return "server", encode(message, "server")


def greeting() -> Says:
    hello = Hello(high_version=17, low_version=5)
    return [client(hello), server(hello)]


def setting_up(*, segment: str = SEGMENT, writer: str = WRITER, request_id: int = 1) -> Says:
    return [
        client(SetupAppend(request_id=request_id, writer_id=writer, segment=segment)),
        server(AppendSetup(request_id=request_id, segment=segment, writer_id=writer, last_event_number=-(2**63))),
    ]


def appending(
    number: int = 1, *, event: bytes = b"hello", writer: str = WRITER, request_id: int = 2, length: int = 13
) -> Says:
    data = len(event).to_bytes(8, "big") + event
    asked = block(number, data, writer=writer, request_id=request_id)
    return [client(asked), server(ack(number, length, writer=writer, request_id=request_id))]


def block(number: int, data: bytes, *, writer: str = WRITER, request_id: int) -> AppendBlockEnd:
    """The append of one event, whose bytes in the segment are `data`."""
    return AppendBlockEnd(
        writer_id=writer,
        size_of_whole_events=len(data),
        data=data,
        num_events=1,
        last_event_number=number,
        request_id=request_id,
    )


def ack(number: int, length: int, *, writer: str = WRITER, request_id: int) -> DataAppended:
    """What is said to it, when the segment is so long."""
    return DataAppended(
        writer_id=writer,
        event_number=number,
        previous_event_number=number - 1,
        request_id=request_id,
        current_segment_write_offset=length,
    )


def reading(
    *,
    offset: int = 0,
    at_tail: bool = True,
    end_of_segment: bool = False,
    data: bytes = b"data",
    segment: str = SEGMENT,
    request_id: int = 3,
) -> Says:
    asked = ReadSegment(segment=segment, offset=offset, suggested_length=100, request_id=request_id)
    answered = SegmentRead(
        segment=segment,
        offset=offset,
        at_tail=at_tail,
        end_of_segment=end_of_segment,
        data=data,
        request_id=request_id,
    )
    return [client(asked), server(answered)]


def alive() -> Says:
    return [client(KeepAlive())]


def talk(*parts: Says) -> Says:
    return [*greeting(), *(said for part in parts for said in part)]


def packets(*talks: Sequence[tuple[Side, bytes]]) -> list[Packet]:
    """Each on a connection of its own, one after another."""
    found: list[Packet] = []
    for number, says in enumerate(talks):
        found += tcp_packets(says, client=(CLIENT[0], CLIENT[1] + number), server=STORE)
    return [packet._replace(number=at, time_ns=packet.time_ns + at) for at, packet in enumerate(found, 1)]


def recorded(*talks: Sequence[tuple[Side, bytes]]) -> Recording:
    return recording_of(packets(*talks))


def differing(one: Recording, other: Recording) -> list[Outcome]:
    """What comes of comparing them that is a finding."""
    return [outcome for outcome in compare(one, other, PLAIN) if outcome.verdict.is_finding]
