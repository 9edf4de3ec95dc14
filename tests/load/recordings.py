"""Recordings of loads that are known: so many users, each with so many appends on the way, at an even rate."""

import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from tests.bench.talk import Sent, frame, sbp_frame
from wiretool.codec import reference
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.load.client import append_frames
from wiretool.protocols.sbp.load.frames import ID_AT
from wiretool.protocols.sbp.records import AppendEntry, RecordBatchMeta
from wiretool.sinks.pcap import BEGIN_NS, FILE_HEADER, Conversations

PORTS = {"pravega": 12345, "pravega-draft": 12345, "sbp": 10911, "sbp-0.1": 10911, "offramp": 8080}
_OK = {"code": 1200}


@dataclass(frozen=True)
class Known:
    """A load; sizes come in turn, an append each `gap_ns`."""

    protocol: str = "pravega"
    users: int = 3
    appends: int = 8
    batch: int = 1
    pipeline: int = 1
    segments: int = 1
    sizes: tuple[int, ...] = (100,)
    gap_ns: int = 1_000_000

    @property
    def in_all(self) -> list[int]:
        """The sizes of all events."""
        each = list(islice(cycle(self.sizes), self.appends * self.batch))
        return each * self.users


class User:
    """What one user says and is told, over a connection of its own."""

    def __init__(self, known: Known, number: int) -> None:
        self.known = known
        self.number = number
        self.id = str(uuid.UUID(int=number + 1))
        self.segment = f"scope/stream/{number % known.segments}.#epoch.0"
        self.sizes = cycle(known.sizes)
        self.last = self.bytes = 0

    def begin(self) -> Iterator[Sent]:
        """What is said before the first append."""
        p = self.known.protocol
        if p == "pravega":
            yield frame(p, "client", "Hello", {"high_version": 17, "low_version": 5})
            yield frame(p, "server", "Hello", {"high_version": 17, "low_version": 5})
            setup = {"request_id": 1, "writer_id": self.id, "segment": self.segment}
            yield frame(p, "client", "SetupAppend", {**setup, "delegation_token": ""})
            yield frame(p, "server", "AppendSetup", {**setup, "last_event_number": -(2**63)})
        elif p == "pravega-draft":
            setup = {"connection_id": self.id, "segment": self.segment}
            yield frame(p, "client", "SetupAppend", setup)
            yield frame(p, "server", "AppendSetup", {**setup, "connection_offset_ack_level": 0})

    def append(self) -> tuple[list[Sent], Sent]:
        """The next append, and the answer to it."""
        sizes = list(islice(self.sizes, self.known.batch))
        self.last += len(sizes)
        made = getattr(self, f"_{self.known.protocol.replace('-', '_').replace('.', '_')}")
        sent, answer = made(sizes)
        assert isinstance(answer, Sent)
        return list(sent), answer

    def _pravega(self, sizes: Sequence[int]) -> tuple[list[Sent], Sent]:
        data = b"".join(event_frame(b"e" * size) for size in sizes)
        self.bytes += len(data)
        frames = append_frames(self.id, data, len(sizes), self.last)
        before = self.last - len(sizes)
        ack = {"writer_id": self.id, "event_number": self.last, "previous_event_number": before}
        told = {**ack, "request_id": self.last, "current_segment_write_offset": self.bytes}
        return [Sent("client", each) for each in frames], frame("pravega", "server", "DataAppended", told)

    def _pravega_draft(self, sizes: Sequence[int]) -> tuple[list[Sent], Sent]:
        p, length = "pravega-draft", sum(sizes) + 8 * len(sizes)
        begin = {"connection_id": self.id, "connection_offset": self.bytes, "length": length}
        self.bytes += length
        end = {"connection_id": self.id, "connection_offset": self.bytes, "block_length": length}
        ack = {"connection_id": self.id, "connection_offset_ack_level": self.bytes}
        events = [frame(p, "client", "Event", {"data": (b"e" * size).hex()}) for size in sizes]
        ends = frame(p, "client", "EndAppendBlock", end)
        return [frame(p, "client", "BeginAppendBlock", begin), *events, ends], frame(p, "server", "DataAppended", ack)

    def _sbp(self, sizes: Sequence[int]) -> tuple[list[Sent], Sent]:
        payload = b"".join(size.to_bytes(4, "big") + b"e" * size for size in sizes)
        meta = RecordBatchMeta(stream_id=self.number, last_offset_delta=len(sizes), base_offset=self.last - len(sizes))
        entry = reference.encode(AppendEntry(meta=meta, payload=payload))
        sent = sbp_frame("sbp", "client", "APPEND", self.last, "AppendRequest", {"timeout_ms": 1}, entry)
        told = {"status": _OK, "entries": [{"status": _OK, "timestamp_ms": 1}], "throttle_time_ms": 0}
        return [sent], sbp_frame("sbp", "server", "APPEND", self.last, "AppendResponse", told, b"")

    def _sbp_0_1(self, sizes: Sequence[int]) -> tuple[list[Sent], Sent]:
        from wiretool.protocols.sbp_0_1.load.client import append_frame

        data = bytearray(append_frame(self.number + 1, [b"e" * size for size in sizes]))
        data[ID_AT : ID_AT + 4] = self.last.to_bytes(4, "big")
        result = {"stream_id": self.number + 1, "request_index": 0, "base_offset": 0}
        told = {"throttle_time_ms": 0, "append_responses": [result]}
        return [Sent("client", bytes(data))], sbp_frame(
            "sbp-0.1", "server", "APPEND", self.last, "AppendResponse", told, b""
        )


def record(path: Path, known: Known, *, is_answered: bool = True) -> Path:
    """A recording of that load."""
    path.write_bytes(FILE_HEADER + b"".join(_records([known], is_answered=is_answered)))
    return path


def record_all(path: Path, *loads: Known) -> Path:
    """A recording of several loads, one after the other."""
    path.write_bytes(FILE_HEADER + b"".join(_records(loads, is_answered=True)))
    return path


def _records(loads: Sequence[Known], *, is_answered: bool) -> Iterator[bytes]:
    talk, first = Conversations(), 0
    for known in loads:
        yield from _of_one(talk, known, first, is_answered=is_answered)
        first += known.users
    yield from talk.end()


def _of_one(talk: Conversations, known: Known, first: int, *, is_answered: bool) -> Iterator[bytes]:
    port, users = PORTS[known.protocol], [User(known, number) for number in range(known.users)]
    for user in users:
        for each in user.begin():
            yield from talk.send(first + user.number, each.side, port, each.data, BEGIN_NS)
    waiting: list[deque[Sent]] = [deque() for _ in users]
    for turn in range(known.appends * known.users):
        user, now_ns = users[turn % known.users], BEGIN_NS + (turn + 1) * known.gap_ns
        answers = waiting[user.number]
        if len(answers) == known.pipeline:
            yield from talk.send(first + user.number, "server", port, answers.popleft().data, now_ns)
        sent, answer = user.append()
        yield from talk.send(first + user.number, "client", port, b"".join(each.data for each in sent), now_ns)
        if is_answered:
            answers.append(answer)
    for number, answers in enumerate(waiting):
        yield from talk.send(first + number, "server", port, b"".join(each.data for each in answers), now_ns)


def record_consumers(path: Path, *, consumers: int, messages: int, credit: int, pipeline: int) -> Path:
    """A recording of consumers of Offramp that ask anew when they have got what they asked for; a message each ms."""
    path.write_bytes(FILE_HEADER + b"".join(_consumed(consumers, messages, credit, pipeline)))
    return path


_GREETING = (
    b"GET /offramp/v2/roads/r/streams/s/messages HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: XVEIJOj8c3GohncHWGgmxw==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_WELCOME = (
    b"HTTP/1.1 101 \r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    b"Sec-WebSocket-Accept: b8WjGOh7bor93n1k0cr16ZxMX3I=\r\n\r\n"
)


def _consumed(consumers: int, messages: int, credit: int, pipeline: int) -> Iterator[bytes]:
    talk, port = Conversations(), PORTS["offramp"]
    asked = frame("offramp", "client", "REQUEST", {"count": credit}).data
    for number in range(consumers):
        yield from talk.send(number, "client", port, _GREETING, BEGIN_NS)
        yield from talk.send(number, "server", port, _WELCOME, BEGIN_NS)
        yield from talk.send(number, "client", port, asked * pipeline, BEGIN_NS)
    for turn in range(messages * consumers):
        number, now_ns = turn % consumers, BEGIN_NS + (turn + 1) * 1_000_000
        event = {"partition": 0, "offset": turn // consumers, "schema": 1, "timestampMs": 1, "payload": {"a": turn}}
        yield from talk.send(number, "server", port, frame("offramp", "server", "MESSAGE", event).data, now_ns)
        if (turn // consumers + 1) % credit == 0:
            yield from talk.send(number, "client", port, asked, now_ns)
