"""What servers of the newest schema are told before a recording is spoken again, so that they are where it begins."""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from wiretool.analysis.dialogues import Recording
from wiretool.codec import reference
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.message import Issued, Message
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.messages import APPEND, FETCH, SEAL_RANGE, SbpFrame
from wiretool.protocols.sbp.records import AppendEntry, RecordBatchMeta, entry_from_json
from wiretool.protocols.sbp.replay.initial_state import (
    NOT_FOUND,
    RANGE_NOT_FOUND,
    DriverPast,
    DriverSeen,
    Fields,
    ReplicaPast,
    ServerSeen,
)
from wiretool.protocols.sbp.replay.recorded_facts import ADDRESS, Grounds, seen_with
from wiretool.protocols.sbp.replay.servers import Servers, code_of, fields_in
from wiretool.records import Record
from wiretool.replay.adapter import Talk
from wiretool.replay.playing.id_map import Values

HEARTBEAT, REPORT_METRICS, CREATE_RANGE, CREATE_STREAM = 0x0003, 0x4001, 0x2004, 0x3001
DELETE_STREAM, DESCRIBE_STREAM = 0x3002, 0x3004
ROLE_RANGE_SERVER, SEAL_AT_SERVER, SEAL_AT_DRIVER = 2, 1, 2
STREAM = Issued("stream", besides=(-1,))
#: How far off the number of a stream is put where a server has one of that number, or ranges of one; how often.
ASIDE, ASIDE_MAX = 1_000_000, 16


def preparations(
    name: str, servers: Servers, grounds: Grounds, recording: Recording, values: Values
) -> Iterator[tuple[str, Talk]]:
    """What is said to which recorded server of the protocol `name` first: drivers, then range servers."""
    drivers = [*servers.drivers, *servers.both]
    driver = DriverSeen()
    for exchange in seen_with(grounds, recording, name, drivers):
        driver.look(exchange)
    if drivers:
        yield drivers[0], _prepare_driver(grounds, driver.past, values)
    for address in [*servers.range_servers, *servers.both]:
        server = ServerSeen()
        for exchange in seen_with(grounds, recording, name, [address]):
            server.look(exchange)
        yield address, _prepare_server(grounds, server, values)


class _Asking:
    """Frames with identifiers that rise."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    def frame(self, opcode: int, header: Table, payload: bytes = b"") -> SbpFrame:
        """A request."""
        return SbpFrame(opcode=opcode, stream_id=next(self._ids), header=header, payload=payload)


# -- the placement driver ----------------------------------------------------------------------------------------------


def _prepare_driver(grounds: Grounds, past: DriverPast, values: Values) -> Talk:
    """Range servers first, then streams, and the ranges of each, on the servers that had them where that can be."""
    asking = _Asking()
    for number, address in past.servers.items():
        values.bind("range server", None, number, number)
        values.bind(ADDRESS, None, address, address)
        grounds.told |= {("range server", number), (ADDRESS, address)}

    def question(number: int) -> list[SbpFrame]:
        return [asking.frame(DESCRIBE_STREAM, tables.DescribeStreamRequest(stream_id=number))]

    for number in sorted(past.strange - past.streams.keys()):
        yield from _set_aside(values, number, question, (0, NOT_FOUND))
    if past.servers:
        yield [asking.frame(HEARTBEAT, _beat(number, address)) for number, address in past.servers.items()]
    if past.streams:
        told = list(past.streams.values())
        replies = yield [asking.frame(CREATE_STREAM, _creation(stream)) for stream in told]
        for stream, reply in zip(told, _in_turn(replies), strict=False):
            made = (fields_in(reply).get("stream") or {}).get("stream_id")
            if made is not None:
                values.bind("stream", None, stream["stream_id"], made)
    for stream_id, ranges in past.ranges.items():
        yield from _prepare_ranges(asking, past, values.live_of(STREAM, None, stream_id), ranges)
    gone = [values.live_of(STREAM, None, number) for number in past.deleted]
    if gone:
        yield [asking.frame(DELETE_STREAM, tables.DeleteStreamRequest(stream_id=number)) for number in gone]
    for number in past.servers.keys() - past.living:
        yield [asking.frame(REPORT_METRICS, _full(number, past.servers[number]))]


def _in_turn(replies: Iterable[Record]) -> list[Record]:
    """Answers in the order of their requests; they come in any."""
    return sorted(replies, key=lambda reply: reply.reply_to or 0)


def _beat(number: int, address: str) -> Table:
    server = tables.RangeServer(server_id=number, advertise_addr=address)
    return tables.HeartbeatRequest(client_id="", client_role=ROLE_RANGE_SERVER, range_server=server)


def _full(number: int, address: str) -> Table:
    """A report after which a range server gets no new ranges (sbp.md §4.2)."""
    server = tables.RangeServer(server_id=number, advertise_addr=address)
    return tables.ReportMetricsRequest(range_server=server, metrics=tables.RangeServerMetrics())


def _creation(stream: Fields) -> Table:
    wanted = {name: stream[name] for name in ("replica", "ack_count", "retention_period_ms") if name in stream}
    return tables.CreateStreamRequest(timeout_ms=0, stream=tables.Stream(**wanted))


def _prepare_ranges(asking: _Asking, past: DriverPast, stream_id: int, ranges: Mapping[int, Fields]) -> Talk:
    """The ranges of a stream in turn; those in front of the first that is known are empty."""
    end = 0
    for index in range(max(ranges) + 1):
        told = ranges.get(index) or {"start": end, "end": _start_behind(ranges, index), "epoch": 0}
        yield from _steer(asking, past, told)
        place = tables.Range(stream_id=stream_id, epoch=told["epoch"], index=index, start=end, end=-1)
        yield [asking.frame(CREATE_RANGE, tables.CreateRangeRequest(range=place))]
        if told["end"] >= 0:
            end = told["end"]
            sealed = tables.Range(stream_id=stream_id, epoch=told["epoch"], index=index, start=place.start, end=end)
            wanted = tables.SealRangeRequest(kind=SEAL_AT_DRIVER, range=sealed)
            yield [asking.frame(SEAL_RANGE, wanted)]


def _start_behind(ranges: Mapping[int, Fields], index: int) -> int:
    """Where the next range that is known starts."""
    return int(min((ranges[each]["start"] for each in ranges if each > index), default=0))


def _steer(asking: _Asking, past: DriverPast, told: Fields) -> Talk:
    """Let those range servers alone be there that the range was put on."""
    wanted = {server["server_id"] for server in told.get("servers") or ()}
    if wanted and wanted != past.servers.keys():
        frames = []
        for number, address in past.servers.items():
            is_wanted = number in wanted
            header = _beat(number, address) if is_wanted else _full(number, address)
            frames.append(asking.frame(HEARTBEAT if is_wanted else REPORT_METRICS, header))
        yield frames


# -- range servers -----------------------------------------------------------------------------------------------------


def _prepare_server(grounds: Grounds, seen: ServerSeen, values: Values) -> Talk:
    """The ranges that were there, with what was in them."""
    asking = _Asking()
    yield from _move_aside(grounds, asking, seen, values)
    for key, replica in seen.past.items():
        stream_id = values.live_of(STREAM, None, key[0])
        yield from _frames_of(asking, stream_id, key[1], replica)


def _move_aside(grounds: Grounds, asking: _Asking, seen: ServerSeen, values: Values) -> Talk:
    """Give streams that no placement driver tells of numbers of which the range server has nothing yet."""
    streams: dict[int, set[int]] = {}
    for stream_id, index in sorted(seen.named):
        is_given = grounds.is_made("stream", stream_id) or values.knows(STREAM, None, stream_id)
        if stream_id >= 0 and not is_given:
            streams.setdefault(stream_id, set()).add(index)
    for stream_id, indexes in streams.items():

        def glances(now: int, indexes: Iterable[int] = indexes) -> list[SbpFrame]:
            return [asking.frame(FETCH, _glance(now, index)) for index in sorted(indexes)]

        yield from _set_aside(values, stream_id, glances, (0, RANGE_NOT_FOUND))


def _set_aside(values: Values, number: int, ask: Callable[[int], list[SbpFrame]], free: Collection[int]) -> Talk:
    """Call a stream by another number where the server has one of that number, as its answers to `ask` tell."""
    now = number
    for _ in range(ASIDE_MAX):
        replies = yield ask(now)
        if all(code_of(reply) in free for reply in replies):
            break
        now += ASIDE
    if now != number:
        values.bind("stream", None, number, now)


def _glance(stream_id: int, index: int) -> Table:
    return tables.FetchRequest(range=tables.Range(stream_id=stream_id, index=index), offset=0, limit=0)


def _frames_of(asking: _Asking, stream_id: int, index: int, replica: ReplicaPast) -> Iterator[Sequence[Message]]:
    """Make the range, fill it up to where it was, and seal it if it was."""
    start = min([*replica.batches, *([] if replica.next is None else [replica.next])], default=0)
    place = tables.Range(stream_id=stream_id, epoch=0, index=index, start=start, end=-1)
    yield [asking.frame(CREATE_RANGE, tables.CreateRangeRequest(range=place))]
    at = start
    for base, entry in sorted(replica.batches.items()):
        if base > at:
            yield [asking.frame(APPEND, tables.AppendRequest(), _filler(stream_id, index, at, base))]
        data = _batch(entry, stream_id)
        yield [asking.frame(APPEND, tables.AppendRequest(), data)]
        at = base + entry["meta"].get("last_offset_delta", 0)
    if replica.next is not None and replica.next > at:
        yield [asking.frame(APPEND, tables.AppendRequest(), _filler(stream_id, index, at, replica.next))]
    if replica.is_sealed:
        sealed = tables.SealRangeRequest(kind=SEAL_AT_SERVER, range=place)
        yield [asking.frame(SEAL_RANGE, sealed)]


def _batch(entry: Mapping[str, Any], stream_id: int) -> bytes:
    """A batch as it was, of the stream as it is called now."""
    return reference.encode(entry_from_json({**entry, "meta": {**entry["meta"], "stream_id": stream_id}}, "entry"))


def _filler(stream_id: int, index: int, base: int, end: int) -> bytes:
    """A batch of records that nobody asks for."""
    meta = RecordBatchMeta(
        stream_id=stream_id, range_index=index, base_offset=base, last_offset_delta=min(end - base, 2**31 - 1)
    )
    return reference.encode(AppendEntry(meta=meta, payload=b""))
