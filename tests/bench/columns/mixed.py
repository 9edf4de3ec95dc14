"""Captures of mixed traffic: all operations of SBP, all commands of Pravega, all events of Offramp.

The bytes come from our own encoders, the values from the declarations; what is right is held by the vectors. Equal
arguments give equal bytes.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import offramp_messages, sbp_requests
from tests.bench.columns.samples import message_of, table_of
from tests.bench.segments import ACK, PSH, check_connections, ends_of, handshake, segment, write_pcap
from tests.bench.talk import Sent, frame
from wiretool.codec.message import Message, Side
from wiretool.protocols.pravega import PROTOCOL as PRAVEGA
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.failures import InvalidEventNumber
from wiretool.protocols.pravega.framing import encode as encode_pravega
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    AppendSetup,
    ConditionalAppend,
    ConditionalCheckFailed,
    DataAppended,
    Hello,
    KeepAlive,
    Padding,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega.pairing import ANSWERS
from wiretool.protocols.pravega.session import ADMIN_REQUESTS
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.messages import PING, RESPONSE_END, SbpFrame
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.session import SEAL_KIND_PLACEMENT_DRIVER
from wiretool.protocols.sbp.tables import SealRangeRequest

#: Exchanges whose frames of a side share a packet.
EXCHANGES_PER_PACKET = 3
OK = 1200
IS_RESPONSE = 1
WRITER = "6f1d2a9c-0b35-4c1e-9a77-1f2e3d4c5b6a"
SEGMENT = "scope/stream/0.#epoch.0"

#: Frames of one exchange, those of the client first.
Exchange = list[Sent]


class Mix(NamedTuple):
    """Mixed traffic of one protocol: the frames that open a connection, and exchanges without end."""

    port: int
    opening: Callable[[], Sequence[Sent]]
    exchanges: Callable[[random.Random], Iterator[Exchange]]


def make_capture(path: Path, protocol: str, frames: int, connections: int) -> int:
    """Write a capture of about `frames` frames; return how many there are. Connections take turns."""
    check_connections(connections)
    mix, written = MIXES[protocol], 0

    def packets() -> Iterator[bytes]:
        nonlocal written
        ends = [ends_of(index, mix.port) for index in range(connections)]
        talks = [mix.exchanges(random.Random(index)) for index in range(connections)]
        for client, server in ends:
            yield from handshake(client, server)
            for side, data in mix.opening():
                written += 1
                yield segment(*((client, server) if side == "client" else (server, client)), PSH | ACK, data)
        for (client, server), talk in cycle(zip(ends, talks, strict=True)):
            if written >= frames:
                return
            sent = [each for _ in range(EXCHANGES_PER_PACKET) for each in next(talk)]
            written += len(sent)
            for source, target, side in ((client, server, "client"), (server, client, "server")):
                data = b"".join(each.data for each in sent if each.side == side)
                if data:
                    yield segment(source, target, PSH | ACK, data)

    write_pcap(path, packets())
    return written


# -- SBP ---------------------------------------------------------------------------------------------------------------


def sbp_exchanges(rng: random.Random) -> Iterator[Exchange]:
    """Yield every operation with its response in turn."""
    by_side: dict[Side, dict[int, type[Any]]] = {"client": {}, "server": {}}
    for table in LATEST.tables:
        declared = table.declaration
        by_side["client" if declared.sender == "client" else "server"][declared.type_id] = table
    stream_id = 0
    while True:
        stream_id += 1
        yield [_sbp("client", PING, stream_id, None, b"ping"), _sbp("server", PING, stream_id, None, b"ping")]
        for opcode, request in by_side["client"].items():
            stream_id += 1
            kind = {"kind": SEAL_KIND_PLACEMENT_DRIVER} if request is SealRangeRequest else {}
            asked, answered = table_of(request, rng, **kind), table_of(by_side["server"][opcode], rng)
            batch = _batch(stream_id, rng)
            yield [
                _sbp("client", opcode, stream_id, asked, batch if opcode == sbp_requests.APPEND else b""),
                _sbp("server", opcode, stream_id, answered, batch if opcode == sbp_requests.FETCH else b""),
            ]


def _sbp(side: Side, opcode: int, stream_id: int, header: Any, payload: bytes) -> Sent:
    flags = 0 if side == "client" else IS_RESPONSE | RESPONSE_END
    sent = SbpFrame(opcode=opcode, flags=flags, stream_id=stream_id, header=header, payload=payload)
    return Sent(side, encode_frame(sent, side))


def _batch(stream_id: int, rng: random.Random) -> bytes:
    peer = sbp_requests.Connection(stream_id % 1000)
    peer.base_offset = stream_id
    return sbp_requests.batch(peer, rng.randrange(40, 200))


# -- Pravega -----------------------------------------------------------------------------------------------------------


def pravega_opening() -> Sequence[Sent]:
    """Return the greeting and the set-up of the writer."""
    hello = Hello(high_version=17, low_version=5)
    last: dict[str, Any] = {"request_id": 1, "segment": SEGMENT, "writer_id": WRITER, "last_event_number": -(2**63)}
    return [
        sent_in_pravega("client", hello),
        sent_in_pravega("server", hello),
        sent_in_pravega("client", SetupAppend(request_id=1, writer_id=WRITER, segment=SEGMENT)),
        sent_in_pravega("server", AppendSetup(**last)),
    ]


def pravega_exchanges(rng: random.Random) -> Iterator[Exchange]:
    """Yield appends of each kind, and every request with each reply that it may get, in turn.

    The requests of the admin port are left out: no writer may use it.
    """
    plain = [
        (request, reply)
        for reply, requests in ANSWERS.items()
        for request in requests
        if request not in (*ADMIN_REQUESTS, SetupAppend)
    ]
    failures = [cls for cls in PRAVEGA.messages if cls.declaration.is_failure and cls is not InvalidEventNumber]
    numbers = iter(range(1, 2**62))
    while True:
        yield from _appends(numbers, rng)
        for request, reply in plain:
            yield _asked(request, reply, next(numbers), rng)
        for failure in failures:
            yield _asked(ReadSegment, failure, next(numbers), rng)
        yield [sent_in_pravega("client", KeepAlive()), sent_in_pravega("server", KeepAlive())]


def _asked(request: type[Message], reply: type[Message], number: int, rng: random.Random) -> Exchange:
    """A request and its reply, with the same id; a read and its reply are of the same place."""
    asked = message_of(request, rng, request_id=number)
    place = {"segment": asked.segment, "offset": asked.offset} if isinstance(asked, ReadSegment) else {}
    given = place if reply is SegmentRead else {}
    return [
        sent_in_pravega("client", asked),
        sent_in_pravega("server", message_of(reply, rng, request_id=number, **given)),
    ]


def _appends(numbers: Iterator[int], rng: random.Random) -> Iterator[Exchange]:
    """Yield a whole append, one in a block, and conditional ones with each reply."""
    data = event_frame(rng.randbytes(rng.randrange(20, 200)))
    number = next(numbers)
    end: dict[str, Any] = {"writer_id": WRITER, "num_events": 1, "last_event_number": number, "request_id": number}
    whole = AppendBlockEnd(size_of_whole_events=len(data), data=data, **end)
    yield [sent_in_pravega("client", whole), acknowledged(number)]
    number = next(numbers)
    end |= {"last_event_number": number, "request_id": number}
    block = AppendBlock(writer_id=WRITER, data=data)
    yield [
        sent_in_pravega("client", block),
        sent_in_pravega("client", AppendBlockEnd(size_of_whole_events=len(data), data=b"", **end)),
        sent_in_pravega("client", Padding(length=4)),
        acknowledged(number),
    ]
    for reply in (DataAppended, ConditionalCheckFailed, InvalidEventNumber):
        number = next(numbers)
        append = message_of(ConditionalAppend, rng, writer_id=WRITER, event_number=number, request_id=number)
        answer = message_of(reply, rng, writer_id=WRITER, event_number=number, request_id=number)
        yield [sent_in_pravega("client", append), sent_in_pravega("server", answer)]


def acknowledged(number: int) -> Sent:
    """Return the acknowledgement of the append with a number."""
    before = number - 1
    ack = DataAppended(writer_id=WRITER, event_number=number, previous_event_number=before, request_id=number)
    return sent_in_pravega("server", ack)


def sent_in_pravega(side: Side, message: Message) -> Sent:
    """Return a message as it is sent."""
    return Sent(side, encode_pravega(message, side))


# -- Offramp -----------------------------------------------------------------------------------------------------------


def offramp_opening() -> Sequence[Sent]:
    """Return the upgrade, and the first event."""
    stream = offramp_messages.Stream("")
    upgrade = [Sent("client", stream.request()), Sent("server", stream.response())]
    return [*upgrade, frame("offramp", "server", "CONNECTION", {"agentName": "offramp-0"})]


def offramp_exchanges(rng: random.Random) -> Iterator[Exchange]:
    """Yield demand, messages, commits, pings and rebalances, over and over."""
    stream, offset = offramp_messages.Stream("", rng.randrange(1000)), 0
    while True:
        yield [_event("client", "REQUEST", count=6), _event("server", "REBALANCE", assignment=[0, 1, 2])]
        for _ in range(6):
            yield [_message(stream, offset)]
            offset += 1
        correlation, offsets = f"commit-{offset}", {"0": offset // 3, "1": offset // 3}
        yield [
            _event("client", "COMMIT", correlationId=correlation, offsets=offsets),
            _event("server", "COMMIT_RESPONSE", correlationId=correlation, success=True),
        ]
        yield [_event("client", "Ping", payload="0102"), _event("server", "Pong", payload="0102")]
        yield [_event("client", "CANCEL"), _event("server", "ERROR", reason="the road is being moved")]


def _event(side: Side, name: str, **fields: Any) -> Sent:
    return frame("offramp", side, name, fields)


def _message(stream: offramp_messages.Stream, offset: int) -> Sent:
    event = dict(stream.message(offset))
    return _event("server", event.pop("type"), **event)


MIXES: Mapping[str, Mix] = {
    "sbp": Mix(sbp_requests.SERVER_PORT, lambda: (), sbp_exchanges),
    "pravega": Mix(PRAVEGA.ports[0], pravega_opening, pravega_exchanges),
    "offramp": Mix(offramp_messages.SERVER_PORT, offramp_opening, offramp_exchanges),
}
