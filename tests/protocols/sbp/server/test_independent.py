"""Requests of a writer that knows nothing of our declarations, and answers read by a reader that does not either.

The schema, in our own words; a slot is the place of a field in its table:

    table Status        { code: int16; message: string; detail: [ubyte]; }
    table RangeServer   { server_id: int32 = -1; advertise_addr: string; }
    table Stream        { stream_id: int64 = -1; replica: int8; ack_count: int8; retention_period_ms: int64; }
    table Range         { stream_id: int64 = -1; epoch: int64 = -1; index: int32 = -1; start: int64 = -1;
                          end: int64 = -1; servers: [RangeServer]; replica_count: int8 = -1; ack_count: int8 = -1; }
    table CreateStream  { timeout_ms: int32; stream: Stream; }             answer { status; stream; throttle: int32; }
    table CreateRange   { timeout_ms: int32; range: Range; }               answer { status; range; throttle: int32; }
    table SealRange     { timeout_ms: int32; kind: int8; range: Range; }   answer { status; range; throttle: int32; }
    table Append        { timeout_ms: int32; }                             answer { status; entries: [Entry]; }
    table Entry         { status: Status; timestamp_ms: int64; }
    table Fetch         { max_wait_ms: int32; range: Range; offset: int64; limit: int64; }
                                                     answer { status; throttle: int32; objects: [ObjectMetadata]; }
    table BatchMeta     { stream_id: int64; range_index: int32; flags: int16; base_offset: int64 = -1;
                          last_offset_delta: int32; base_timestamp: int64; }
"""

import struct

from flatbuffers import number_types as N

from tests.protocols.sbp.server.independent import Seen, Writer, byte, frame, int32, int64, parts, to
from tests.protocols.sbp.server.talk import Client
from wiretool.protocols.sbp.server.mock import SbpMock

APPEND, FETCH, SEAL_RANGE, CREATE_RANGE, CREATE_STREAM = 0x1001, 0x1002, 0x2002, 0x2004, 0x3001
LIST_RANGE, HEARTBEAT = 0x2001, 0x0003


def asked(client: Client, opcode: int, header: bytes = b"", payload: bytes = b"") -> tuple[int, Seen, bytes]:
    """Flags, header and payload of the answer."""
    before = len(client.received)
    client.next_id += 1
    client.carry_out(client.mock.received(0, frame(opcode, client.next_id, header, payload), 7_000_000_000))
    code, flags, stream_id, answer, data = parts(bytes(client.received[before:]))
    assert (code, stream_id) == (opcode, client.next_id)
    return flags, Seen.root(answer), data


def create_stream() -> bytes:
    writer = Writer()
    stream = writer.table(4, byte(1, 1), byte(2, 1), int64(3, 86_400_000))
    return writer.finish(writer.table(2, int32(0, 1000), to(1, stream)))


def with_range(slots: int, place: int, *, kind: int = 0, server: str = "", end: int = -1, epoch: int = 0) -> bytes:
    """CreateRange and SealRange: range 0 of stream 0."""
    writer = Writer()
    more = []
    if server:
        address = writer.text(server)
        more = [to(5, writer.tables([writer.table(2, int32(0, 0, -1), to(1, address))]))]
    placed = [int64(0, 0, -1), int64(1, epoch, -1), int32(2, 0, -1), int64(3, 0, -1), int64(4, end, -1), *more]
    target = writer.table(9, *placed)
    return writer.finish(writer.table(slots, int32(0, 1000), byte(1, kind), to(place, target)))


def batch(base: int, count: int, body: bytes) -> bytes:
    writer = Writer()
    meta = writer.finish(writer.table(7, int64(3, base, -1), int32(4, count), int64(5, 1_700_000_000)))
    return b"\x22" + struct.pack(">i", len(meta)) + meta + struct.pack(">i", len(body)) + body


def fetch(offset: int) -> bytes:
    writer = Writer()
    target = writer.table(9, int64(0, 0, -1), int32(2, 0, -1))
    return writer.finish(writer.table(6, int32(0, 1_000_000), to(1, target), int64(2, offset), int64(3, 1000)))


def test_a_stream_from_its_creation_to_its_sealing() -> None:
    client = Client(SbpMock(advertise="localhost:4711"))

    flags, answer, _ = asked(client, CREATE_STREAM, create_stream())
    assert (flags, answer.table(0).code(0)) == (3, 1200)
    stream = answer.table(1)
    assert (stream.number(0, N.Int64Flags, -1), stream.number(3, N.Int64Flags)) == (0, 86_400_000)

    flags, answer, _ = asked(client, CREATE_RANGE, with_range(2, 1))
    assert (flags, answer.table(0).code(0)) == (3, 1200)
    (server,) = answer.table(1).tables(5)
    assert (server.number(0, N.Int32Flags, -1), server.text(1)) == (0, "localhost:4711")

    flags, answer, _ = asked(client, CREATE_RANGE, with_range(2, 1, server="localhost:4711"))
    assert (flags, answer.table(0).code(0), answer.table(0).text(1)) == (3, 1200, "OK")

    first, second = batch(0, 3, b"first"), batch(3, 2, b"second")
    flags, answer, _ = asked(client, APPEND, payload=first + second + batch(9, 1, b"no"))
    assert (flags, answer.table(0).code(0)) == (3, 1200)
    assert [entry.table(0).code(0) for entry in answer.tables(1)] == [1200, 1200, 1466]
    assert [entry.number(1, N.Int64Flags) for entry in answer.tables(1)] == [7, 7, 0]

    flags, answer, data = asked(client, FETCH, fetch(0))
    assert (flags, answer.table(0).code(0), answer.number(1, N.Int32Flags)) == (3, 1200, -1)
    assert answer.has(2)
    assert data == first + second

    flags, answer, data = asked(client, FETCH, fetch(5))
    assert (flags, answer.table(0).code(0), answer.has(2), data) == (3, 1204, False, b"")

    flags, answer, _ = asked(client, SEAL_RANGE, with_range(3, 2, kind=1))
    assert (flags, answer.table(1).number(4, N.Int64Flags, -1)) == (3, 5)

    flags, answer, _ = asked(client, SEAL_RANGE, with_range(3, 2, kind=2, end=5))
    assert (flags, answer.table(0).code(0)) == (3, 1200)
    assert answer.table(1).number(4, N.Int64Flags, -1) == 5

    _, answer, _ = asked(client, APPEND, payload=batch(5, 1, b"late"))
    assert [entry.table(0).code(0) for entry in answer.tables(1)] == [1460]


def test_a_list_without_its_criteria_has_no_ranges() -> None:
    writer = Writer()
    flags, answer, _ = asked(Client(SbpMock()), LIST_RANGE, writer.finish(writer.table(2, int32(0, 10))))
    assert (flags, answer.table(0).code(0), answer.table(0).text(1)) == (3, 1400, "criteria is nil")
    assert not answer.has(2)


def test_a_heartbeat_is_returned_and_its_server_used() -> None:
    client = Client(SbpMock())
    writer = Writer()
    name, address = writer.text("rs"), writer.text("localhost:9")
    server = writer.table(2, int32(0, 5, -1), to(1, address))
    header = writer.finish(writer.table(3, to(0, name), byte(1, 2), to(2, server)))
    flags, answer, _ = asked(client, HEARTBEAT, header)
    assert (flags, answer.text(0), answer.number(1, N.Int8Flags), answer.table(2).text(1)) == (
        3,
        "rs",
        2,
        "localhost:9",
    )
    assert answer.table(3).code(0) == 1200
    asked(client, CREATE_STREAM, create_stream())
    _, answer, _ = asked(client, CREATE_RANGE, with_range(2, 1))
    assert [each.number(0, N.Int32Flags, -1) for each in answer.table(1).tables(5)] == [5]


def test_an_unknown_operation_is_a_system_error() -> None:
    flags, answer, _ = asked(Client(SbpMock()), 0x7777, b"anything")
    assert (flags, answer.table(0).code(0), answer.table(0).text(1)) == (7, 1499, "unknown operation")
