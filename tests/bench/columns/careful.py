"""Captures whose connections need care all the time, each in one manner.

Small requests and their replies, several of a side in one packet. The bytes come from our own encoders. Equal arguments
give equal bytes. Manners:

- "differs": after every third packet its last bytes come again, and are not the same
- "lost": every eleventh packet is not in the capture
- "unknown": every other request is of an unknown type
- "damaged": every third request has a body, or header, that cannot be read
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, cycle, repeat
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.columns import mixed
from tests.bench.segments import ACK, PSH, End, check_connections, ends_of, handshake, segment, write_pcap
from tests.bench.talk import Sent
from tests.helpers.frames import TALKS
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.messages import AppendBlockEnd

#: Exchanges whose frames of a side share a packet.
EXCHANGES_PER_PACKET = 4
#: Bytes that come again.
AGAIN_BYTES = 20
#: A number that no type and no length of a message has.
NONSENSE = b"\x6f\xff\xff\xff"


class Speech(NamedTuple):
    """What the connections of a protocol say: frames that open one, and exchanges without end.

    `code` is where the type of a message stands in its frame; a length in its body stands at `length`.
    """

    opening: Sequence[Sent]
    exchanges: Callable[[random.Random], Iterator[mixed.Exchange]]
    code: slice
    length: slice


def make_capture(path: Path, kind: str, frames: int, connections: int) -> int:
    """Write a capture of about `frames` frames of a manner and protocol; return how many there are in it."""
    check_connections(connections)
    manner, _, protocol = kind.partition("-")
    speech, port, written = SPEECHES[protocol], PROTOCOLS[protocol].ports[0], 0

    def packets() -> Iterator[bytes]:
        nonlocal written
        ends = [ends_of(index, port) for index in range(connections)]
        talks = [_packets_said(speech, manner, random.Random(index)) for index in range(connections)]
        for client, server in ends:
            yield from handshake(client, server)
            for side, data in speech.opening:
                written += 1
                yield segment(*((client, server) if side == "client" else (server, client)), PSH | ACK, data)
        numbers = count(1)
        for (client, server), said in cycle(zip(ends, talks, strict=True)):
            if written >= frames:
                return
            for source, target, data in zip((client, server), (server, client), next(said), strict=True):
                number, packet = next(numbers), segment(source, target, PSH | ACK, data)
                if manner == "lost" and number % 11 == 0:
                    continue
                written += EXCHANGES_PER_PACKET
                yield packet
                if manner == "differs" and number % 3 == 0:
                    yield _again(source, target, data)

    write_pcap(path, packets())
    return written


def _packets_said(speech: Speech, manner: str, rng: random.Random) -> Iterator[tuple[bytes, bytes]]:
    """Yield what client and server say in a packet each."""
    asked = count()
    for some in zip(*[speech.exchanges(rng)] * EXCHANGES_PER_PACKET, strict=True):
        requests = b"".join(_careful(request.data, next(asked), speech, manner) for request, _ in some)
        yield requests, b"".join(reply.data for _, reply in some)


def _careful(request: bytes, number: int, speech: Speech, manner: str) -> bytes:
    """Return a request, or what stands in its place."""
    place = speech.code if manner == "unknown" and number % 2 else speech.length
    if place is speech.code or (manner == "damaged" and number % 3 == 0):
        return request[: place.start] + NONSENSE[: place.stop - place.start] + request[place.stop :]
    return request


def _again(source: End, target: End, data: bytes) -> bytes:
    """Return a packet in which the last bytes of one come again, and are not the same."""
    size = min(AGAIN_BYTES, len(data))
    source.seq = (source.seq - size) % 2**32
    return segment(source, target, PSH | ACK, bytes(each ^ 0xFF for each in data[-size:]))


# -- what is said ------------------------------------------------------------------------------------------------------


def _pravega_exchanges(rng: random.Random) -> Iterator[mixed.Exchange]:
    """Yield appends of an event each."""
    for number in count(2):
        data = event_frame(rng.randbytes(rng.randrange(20, 200)))
        end: dict[str, Any] = {"num_events": 1, "last_event_number": number, "request_id": number}
        append = AppendBlockEnd(writer_id=mixed.WRITER, size_of_whole_events=len(data), data=data, **end)
        yield [mixed.sent_in_pravega("client", append), mixed.acknowledged(number)]


def _sbp_0_1_exchanges(rng: random.Random) -> Iterator[mixed.Exchange]:
    for _ in repeat(None):
        said = TALKS["sbp-0.1"](rng)
        yield from map(list, zip(said, said, strict=True))


SPEECHES: Mapping[str, Speech] = {
    "pravega": Speech(mixed.pravega_opening(), _pravega_exchanges, slice(0, 4), slice(28, 32)),
    "sbp": Speech((), mixed.sbp_exchanges, slice(5, 7), slice(16, 20)),
    "sbp-0.1": Speech((), _sbp_0_1_exchanges, slice(5, 7), slice(16, 20)),
}
MANNERS = ("differs", "lost", "unknown", "damaged")
KINDS = tuple(f"{manner}-{protocol}" for manner in MANNERS for protocol in SPEECHES)
