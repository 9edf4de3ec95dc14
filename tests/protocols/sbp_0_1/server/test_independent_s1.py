"""Requests of S1 by a writer that knows nothing of our declarations, and answers read by such a reader.

The schema, in our own words; a slot is the place of a field in its table:

    table Stream        { stream_id: int64; replica_nums: int8; retention_period_ms: int32; }
    table CreateStreams { timeout_ms: int32; streams: [Stream]; }
                                answer { throttle: int32; results: [{ stream: Stream; error_code: int16; message; }]; }
    table AppendInfo    { stream_id: int64; request_index: int32; batch_length: int32; }
    table Append        { timeout_ms: int32; infos: [AppendInfo]; }
                                answer { throttle: int32; results: [{ stream_id: int64; request_index: int32;
                                         base_offset: int64; append_time_ms: int64; error_code: int16; message; }]; }
    table FetchInfo     { stream_id: int64; request_index: int32; fetch_offset: int64; batch_max_bytes: int32; }
    table Fetch         { max_wait_ms: int32; min_bytes: int32; infos: [FetchInfo]; }
                                answer { throttle: int32; results: [{ stream_id: int64; request_index: int32;
                                         error_code: int16; message; batch_length: int32; }]; }
    table RangeId       { stream_id: int64; range_index: int32; }
    table SealRanges    { timeout_ms: int32; ranges: [RangeId]; }
                                answer { throttle: int32; results: [{ stream_id: int64; error_code: int16; message;
                                         ranges: [Range]; }]; }
    table Range         { stream_id: int64; range_index: int32; start: int64; end: int64; next: int64; replicas; }
    table BatchMeta     { stream_id: int64; flags: int16; base_offset: int64; last_offset_delta: int32; }
"""

import struct

from flatbuffers import number_types as N

from tests.protocols.sbp.server.independent import Seen, Writer, byte, frame, int32, int64, parts, to
from tests.protocols.sbp.server.talk import Client
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock

APPEND, FETCH, SEAL_RANGES, CREATE_STREAMS = 0x1001, 0x1002, 0x2002, 0x3001


def asked(client: Client, opcode: int, header: bytes, payload: bytes = b"") -> tuple[list[Seen], bytes]:
    """The results in the answer, which stand in the second slot of every one, and its payload."""
    before = len(client.received)
    client.next_id += 1
    client.carry_out(client.mock.received(0, frame(opcode, client.next_id, header, payload), 0))
    code, flags, stream_id, answer, data = parts(bytes(client.received[before:]))
    assert (code, flags, stream_id) == (opcode, 3, client.next_id)
    return Seen.root(answer).tables(1), data


def batch(count: int, body: bytes) -> bytes:
    writer = Writer()
    meta = writer.finish(writer.table(5, int32(3, count)))
    inner = Writer()
    record = inner.finish(inner.table(4))
    envelope = b"\x22" + struct.pack(">qi", 0, len(meta)) + meta
    return envelope + struct.pack(">ii", len(record), len(body)) + record + body


def header_of(writer: Writer, infos: list[int], *, slots: int = 2) -> bytes:
    return writer.finish(writer.table(slots, to(slots - 1, writer.tables(infos))))


def append_header(*entries: tuple[int, bytes]) -> bytes:
    writer = Writer()
    infos = [
        writer.table(3, int64(0, stream), int32(1, index), int32(2, len(data)))
        for index, (stream, data) in enumerate(entries)
    ]
    return header_of(writer, infos)


def test_a_batch_of_streams_from_creation_to_sealing() -> None:
    client = Client(Sbp01Mock(), schema=S1)

    writer = Writer()
    results, _ = asked(
        client, CREATE_STREAMS, header_of(writer, [writer.table(3, byte(1, 1), int32(2, 60_000)) for _ in range(2)])
    )
    assert [result.table(0).number(0, N.Int64Flags) for result in results] == [0, 1]
    assert [result.table(0).number(2, N.Int32Flags) for result in results] == [60_000, 60_000]
    assert [result.code(1) for result in results] == [0, 0]

    first, second = batch(3, b"first"), batch(2, b"second")
    entries = (1, first), (1, second), (9, first)
    results, _ = asked(client, APPEND, append_header(*entries), first + second + first)
    assert [result.number(2, N.Int64Flags) for result in results] == [0, 3, 0]
    assert [result.number(1, N.Int32Flags) for result in results] == [0, 1, 2]
    assert [result.code(4) for result in results] == [0, 0, 2]
    assert results[2].text(5) == "no range in stream 9"

    writer = Writer()
    infos = [writer.table(4, int64(0, 1), int32(1, index), int64(2, offset)) for index, offset in enumerate((4, 5))]
    results, data = asked(client, FETCH, header_of(writer, infos, slots=3))
    assert [result.number(4, N.Int32Flags) for result in results] == [len(second), 0]
    assert data == second[:1] + struct.pack(">q", 3) + second[9:]

    writer = Writer()
    results, _ = asked(client, SEAL_RANGES, header_of(writer, [writer.table(2, int64(0, 1))]))
    ranges = results[0].tables(3)
    assert [each.number(1, N.Int32Flags) for each in ranges] == [0, 1]
    assert [each.number(2, N.Int64Flags) for each in ranges] == [0, 5]
    assert [each.number(3, N.Int64Flags) for each in ranges] == [5, -1]
