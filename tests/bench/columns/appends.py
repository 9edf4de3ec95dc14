"""Captures of small appends on Pravega's wire protocol, made of arrays without the code that reads them.

A write is some AppendBlockEnd of one event each; every append is answered by a DataAppended. Equal arguments give equal
bytes.
"""

import numpy as np

from tests.bench.columns.packets import Array, Packets, PacketWriter, place, running_sums
from tests.bench.pravega_appends import NO_EVENT_YET, SEGMENT_NAME, frame, hello, string
from tests.bench.segments import ACK, FIN, PSH, SYN

APPEND_HEAD = np.dtype(
    [
        *[(name, ">i4") for name in ("type", "length")],
        *[(name, ">u8") for name in ("writer_high", "writer_low")],
        *[(name, ">i4") for name in ("whole_events", "data_bytes", "event_type", "event_bytes")],
    ]
)
APPEND_TAIL = np.dtype([("events", ">i4"), ("event_number", ">i8"), ("request_id", ">i8")])
DATA_APPENDED = np.dtype(
    [
        *[(name, ">i4") for name in ("type", "length")],
        *[(name, ">u8") for name in ("writer_high", "writer_low")],
        *[(name, ">i8") for name in ("event_number", "previous_event_number", "request_id", "offset")],
    ]
)
HEAD_BYTES, TAIL_BYTES, REPLY_BYTES = APPEND_HEAD.itemsize, APPEND_TAIL.itemsize, DATA_APPENDED.itemsize
WRITER_HIGH, WRITER_LOW = 0x1874A6D0D80A4AE4, 0xA7EF7BF603FD0000

#: Bytes of an event, and appends in a write, in captures of small appends.
EVENT_BYTES, APPENDS = (60, 160), (1, 16)
#: Appends in the one write of a short connection.
SHORT_APPENDS = 4
#: The share of writes that are cut somewhere into two segments.
CUT_SHARE = 0.25
#: Writes until the acknowledgement of one, if other connections have as many.
LAG = 8
#: Writes, and short connections, that are made at once.
WRITES, SHORT_CONNECTIONS = 8_192, 8_192
#: Short connections that are open at a time.
SHORT_OPEN = 32
#: Packets of a write in the middle: its own, the second part of a cut one, and the acknowledgements.
WRITE_PACKETS = 2 + CUT_SHARE


class Writers:
    """The writers of many connections, as arrays."""

    def __init__(self, connections: int, first_event: int) -> None:
        self.events = np.full(connections, first_event, np.int64)
        self.offsets = np.zeros(connections, np.int64)
        self.first_event = first_event


def write_appends(
    writer: PacketWriter,
    connections: int,
    packets: int,
    *,
    event_bytes: tuple[int, int] = EVENT_BYTES,
    appends: tuple[int, int] = APPENDS,
) -> int:
    """Write about `packets` packets of appends and acknowledgements in mid-stream; return the frames in them.

    The connections take turns. `event_bytes` and `appends`: the least and the most bytes of an event, and appends of a
    write.
    """
    rng = np.random.default_rng(connections)
    writers = Writers(connections, 5_000)
    writes, frames = round(packets / WRITE_PACKETS), 0
    for first in range(0, writes, WRITES):
        turns = np.arange(first, min(first + WRITES, writes))
        counts = rng.integers(appends[0], appends[1], len(turns), endpoint=True)
        frames += 2 * int(counts.sum())
        writer.write(_mid_stream(turns % connections, counts, writers, event_bytes, rng))
    return frames


def write_short(writer: PacketWriter, connections: int) -> int:
    """Write connections of ten packets from SYN to FIN; return the frames in them."""
    rng = np.random.default_rng(connections)
    for first in range(0, connections, SHORT_CONNECTIONS):
        numbers = np.arange(first, min(first + SHORT_CONNECTIONS, connections))
        writer.write(_short(numbers, rng))
    return connections * (4 + 2 * SHORT_APPENDS)


def _mid_stream(
    connection: Array, counts: Array, writers: Writers, event_bytes: tuple[int, int], rng: np.random.Generator
) -> Packets:
    """One write for each of `connection` in turn, with `counts` appends each, and its acknowledgements."""
    written, replies, data = _frames(connection, counts, writers, event_bytes, rng)
    number, connections = np.arange(len(connection)), len(writers.events)
    later = min(1, connections - 1)
    cut = written[:-1] + 1 + (rng.random(len(number)) * (np.diff(written) - 1)).astype(np.int64)
    is_cut = rng.random(len(number)) < CUT_SHARE
    first_end = np.where(is_cut, cut, written[1:])
    starts = np.concatenate([written[:-1], first_end[is_cut], replies[:-1]])
    ends = np.concatenate([first_end, written[1:][is_cut], replies[1:]])
    lag = min(connections, LAG)
    keys = np.concatenate([3 * number, 3 * (number[is_cut] + later) + 1, 3 * (number + lag) + 2])
    senders = np.concatenate([connection, connection[is_cut], connection])
    is_server = np.arange(len(keys)) >= len(keys) - len(number)
    order = np.argsort(keys, kind="stable")
    flags = np.full(len(keys), PSH | ACK)
    return Packets(senders[order], is_server[order], flags, starts[order], ends[order], data)


def _frames(
    connection: Array, counts: Array, writers: Writers, event_bytes: tuple[int, int], rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return the bounds of writes and of replies, one more than there are writes, and the bytes."""
    sender = np.repeat(connection, counts)
    sizes = rng.integers(event_bytes[0], event_bytes[1], len(sender), endpoint=True)
    lengths = HEAD_BYTES + sizes + TAIL_BYTES
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    of_write = np.concatenate([[0], np.cumsum(counts)])
    replies = bounds[-1] + REPLY_BYTES * np.arange(len(sender) + 1)
    data = np.resize(np.frombuffer(b"event of a small append, with words in it; ", np.uint8), int(replies[-1]))
    _place_appends(data, bounds[:-1], replies[:-1], sender, sizes, writers)
    return bounds[of_write], replies[of_write], data


def _place_appends(data: Array, at: Array, replies_at: Array, sender: Array, sizes: Array, writers: Writers) -> None:
    """Write each append around its event, and the reply to it."""
    numbers = running_sums(sender, np.ones(len(sender), np.int64), writers.events) + 1
    offsets = running_sums(sender, sizes + 8, writers.offsets) + sizes + 8
    head, tail = np.zeros(len(sender), APPEND_HEAD), np.zeros(len(sender), APPEND_TAIL)
    head["type"], head["length"] = 4, HEAD_BYTES - 8 + sizes + TAIL_BYTES
    head["whole_events"] = head["data_bytes"] = sizes + 8
    head["event_bytes"] = sizes
    tail["events"], tail["event_number"], tail["request_id"] = 1, numbers, numbers + 1
    reply = np.zeros(len(sender), DATA_APPENDED)
    reply["type"], reply["length"] = 7, REPLY_BYTES - 8
    is_first = numbers == 1
    reply["event_number"], reply["request_id"], reply["offset"] = numbers, numbers + 1, offsets
    reply["previous_event_number"] = np.where(is_first, NO_EVENT_YET, numbers - 1)
    for rows in (head, reply):
        rows["writer_high"], rows["writer_low"] = WRITER_HIGH, np.uint64(WRITER_LOW) + sender.astype(np.uint64)
    place(data, at, head)
    place(data, at + HEAD_BYTES + sizes, tail)
    place(data, replies_at, reply)


# -- short connections -------------------------------------------------------------------------------------------------


def _short(numbers: Array, rng: np.random.Generator) -> Packets:
    """Ten packets of each connection, some connections abreast."""
    count = len(numbers)
    writers = Writers(int(numbers[-1]) + 1, 0)
    written, replies, data = _frames(numbers, np.full(count, SHORT_APPENDS), writers, EVENT_BYTES, rng)
    setups, set_up = _setups(numbers)
    greetings = [np.frombuffer(hello(version), np.uint8) for version in (15, 17)]
    said = [setups.ravel(), set_up.ravel(), *greetings]
    bases = len(data) + np.cumsum([0, *(len(part) for part in said)])
    data = np.concatenate([data, *said])

    def rows_of(base: int, size: int, *, is_shared: bool = False) -> tuple[Array, Array]:
        starts = base + (0 if is_shared else size) * np.arange(count)
        return starts, starts + size

    nothing = rows_of(0, 0, is_shared=True)
    parts = [
        (False, SYN, nothing),
        (True, SYN | ACK, nothing),
        (False, PSH | ACK, rows_of(bases[2], len(greetings[0]), is_shared=True)),
        (True, PSH | ACK, rows_of(bases[3], len(greetings[1]), is_shared=True)),
        (False, PSH | ACK, rows_of(bases[0], setups.shape[1])),
        (True, PSH | ACK, rows_of(bases[1], set_up.shape[1])),
        (False, PSH | ACK, (written[:-1], written[1:])),
        (True, PSH | ACK, (replies[:-1], replies[1:])),
        (False, FIN | ACK, nothing),
        (True, FIN | ACK, nothing),
    ]
    step = np.repeat(np.arange(len(parts)), count)
    order = np.argsort(np.tile(np.arange(count), len(parts)) * len(parts) + step * SHORT_OPEN, kind="stable")
    connection, is_server, flags, start, end = (
        np.tile(numbers, len(parts)),
        np.repeat([is_server for is_server, _, _ in parts], count),
        np.repeat([flags for _, flags, _ in parts], count),
        np.concatenate([starts for _, _, (starts, _) in parts]),
        np.concatenate([ends for _, _, (_, ends) in parts]),
    )
    return Packets(connection[order], is_server[order], flags[order], start[order], end[order], data)


def _setups(numbers: Array) -> tuple[Array, Array]:
    """Return SetupAppend and AppendSetup, a row of bytes for each connection."""
    zero_writer, request_id = bytes(16), (1).to_bytes(8, "big")
    asked = frame(1, request_id + zero_writer + string(SEGMENT_NAME) + string(b""))
    last = NO_EVENT_YET.to_bytes(8, "big", signed=True)
    answered = frame(2, request_id + string(SEGMENT_NAME) + zero_writer + last)
    writers = np.zeros(len(numbers), [("high", ">u8"), ("low", ">u8")])
    writers["high"], writers["low"] = WRITER_HIGH, np.uint64(WRITER_LOW) + numbers.astype(np.uint64)
    rows = []
    for text, at in ((asked, 16), (answered, 16 + 2 + len(SEGMENT_NAME))):
        row = np.tile(np.frombuffer(text, np.uint8), (len(numbers), 1))
        row[:, at : at + 16] = writers.view(np.uint8).reshape(-1, 16)
        rows.append(row)
    return rows[0], rows[1]
