"""What a server of the batch style is told before a recording is spoken again, so that it is where that begins."""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wiretool.analysis.dialogues import Exchange, Recording
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.protocols.sbp.messages import SEAL_RANGE, SbpFrame, Schema
from wiretool.protocols.sbp.replay.prepare import ASIDE, ASIDE_MAX
from wiretool.protocols.sbp.replay.recorded_facts import ADDRESS, OK, Grounds, seen_with
from wiretool.protocols.sbp.replay.servers import Servers, fields_in
from wiretool.protocols.sbp_0_1 import tables_s1, tables_s2
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.records import Record
from wiretool.replay.adapter import Talk
from wiretool.replay.playing.id_map import Values

HEARTBEAT, CREATE_STREAMS, UPDATE_STREAMS, DESCRIBE_STREAMS = 0x0003, 0x3001, 0x3003, 0x3004
ROLE_DATA_NODE = 2
Fields = Mapping[str, Any]


@dataclass
class ManagerPast:
    """The streams and data nodes that a placement manager had, and the highest index of the ranges of each stream."""

    streams: dict[int, Fields] = field(default_factory=dict)
    last_index: dict[int, int] = field(default_factory=dict)
    #: On how many data nodes a range of a stream was.
    replicas: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, str] = field(default_factory=dict)


class ManagerSeen:
    """Goes over the exchanges with a placement manager in their order, for what nothing in them made."""

    def __init__(self) -> None:
        self.past = ManagerPast()
        self._made: set[int] = set()
        #: Data nodes that have reported.
        self._beaten: set[int] = set()

    def look(self, exchange: Exchange) -> None:
        """One request and its answer."""
        asked, name = fields_in(exchange.request), exchange.request.message
        sealed = {(each["stream_id"], each["range_index"]) for each in _ranges_in(asked)}
        self._beaten.add((asked.get("data_node") or {}).get("node_id", -1))
        for answer in exchange.replies[:1]:
            for results in fields_in(answer).values():
                for result in results if isinstance(results, list) else ():
                    if isinstance(result, Mapping) and is_well(result):
                        self._look_at(name, result, sealed)

    def _look_at(self, name: str, result: Fields, sealed: Collection[tuple[int, int]]) -> None:
        stream = result.get("stream") or result.get("deleted_stream")
        if stream is not None:
            number = stream["stream_id"]
            if name in ("CREATE_STREAMS", "UPDATE_STREAMS"):
                self._made.add(number)
            elif number not in self._made or number in self.past.last_index:
                self.past.streams.setdefault(number, stream)
                self._made.add(number)
        told = [each for each in (*(result.get("ranges") or ()), result.get("range")) if isinstance(each, Mapping)]
        for each in told:
            self._find_nodes(each)
        if told and name in ("LIST_RANGES", "SEAL_RANGES"):
            number = told[0].get("stream_id", -1)
            last = max(each.get("range_index", 0) for each in told)
            # The range that is open behind a sealed one was made by that.
            is_new = name == "SEAL_RANGES" and (number, last - 1) in sealed
            self._range(number, last - is_new, told[-1])

    def _range(self, number: int, last: int, told: Fields) -> None:
        """The ranges of a stream up to the writable one are there; later ones are made by sealing."""
        if number in self._made:
            return
        self._made.add(number)
        self.past.last_index[number] = last
        self.past.replicas[number] = len(told.get("replica_nodes") or ())

    def _find_nodes(self, told: Fields) -> None:
        """Who has a range has reported, before the recording if not in it."""
        for replica in told.get("replica_nodes") or ():
            node = replica.get("data_node") or {}
            if "node_id" in node and node["node_id"] not in self._beaten:
                self.past.nodes.setdefault(node["node_id"], node.get("advertise_addr") or "")


def _ranges_in(asked: Fields) -> list[Fields]:
    """The ranges that a request names by stream and index."""
    return [each for each in asked.get("ranges") or () if isinstance(each, Mapping) and "range_index" in each]


def is_well(result: Fields) -> bool:
    """Whether one result of several is no refusal, in either schema."""
    status = result.get("status")
    return status.get("code") == OK if isinstance(status, Mapping) else not result.get("error_code")


def batch_preparations(
    name: str, servers: Servers, grounds: Grounds, schema: Schema, recording: Recording, values: Values
) -> Iterator[tuple[str, Talk]]:
    """What is said to which recorded server first."""
    managers = [*servers.drivers, *servers.both]
    seen = ManagerSeen()
    for exchange in seen_with(grounds, recording, name, managers):
        seen.look(exchange)
    for number, address in seen.past.nodes.items():
        grounds.told |= {("range server", number), (ADDRESS, address)}
    if managers:
        yield managers[0], _prepare(seen.past, schema, values)


class _Words:
    """Requests of a schema, with identifiers that rise."""

    def __init__(self, schema: Schema) -> None:
        self._ids = itertools.count(1)
        self._is_first = schema is S1
        self.tables: Any = tables_s1 if self._is_first else tables_s2

    def frame(self, opcode: int, header: Table) -> SbpFrame:
        """A request."""
        return SbpFrame(opcode=opcode, stream_id=next(self._ids), header=header)

    def beat(self, number: int, address: str) -> SbpFrame:
        """A data node lives."""
        node = self.tables.DataNode(node_id=number, advertise_addr=address)
        return self.frame(HEARTBEAT, self.tables.HeartbeatRequest(client_role=ROLE_DATA_NODE, data_node=node))

    def creation(self, replicas: int, retention_ms: int) -> SbpFrame:
        """One stream."""
        if self._is_first:
            stream = tables_s1.Stream(replica_nums=replicas, retention_period_ms=retention_ms)
            return self.frame(CREATE_STREAMS, tables_s1.CreateStreamsRequest(stremas=(stream,)))
        made = tables_s2.Stream(replica_num=replicas, retention_period_ms=retention_ms)
        return self.frame(CREATE_STREAMS, tables_s2.CreateStreamsRequest(streams=(made,)))

    def update(self, told: Fields, number: int) -> SbpFrame:
        """A stream as it was, under that number."""
        stream = self.tables.Stream(**{**told, "stream_id": number})
        return self.frame(UPDATE_STREAMS, self.tables.UpdateStreamsRequest(streams=(stream,)))

    def question(self, number: int) -> SbpFrame:
        """Whether there is a stream."""
        return self.frame(DESCRIBE_STREAMS, self.tables.DescribeStreamsRequest(stream_ids=(number,)))

    def seal(self, stream_id: int, index: int) -> SbpFrame:
        """Close a range, and open the next."""
        wanted = self.tables.RangeId(stream_id=stream_id, range_index=index)
        return self.frame(SEAL_RANGE, self.tables.SealRangesRequest(ranges=(wanted,)))


def _prepare(past: ManagerPast, schema: Schema, values: Values) -> Talk:
    """Data nodes first, then streams with ranges, then those of which no range is told: they take any number."""
    words = _Words(schema)
    if past.nodes:
        yield [words.beat(number, address) for number, address in past.nodes.items()]
    for number, index in past.last_index.items():
        told = past.streams.get(number, {})
        replicas = told.get("replica_num", told.get("replica_nums", past.replicas[number]))
        replies = yield [words.creation(replicas, told.get("retention_period_ms", 0))]
        now = _number_in(replies)
        if now is not None:
            values.bind("stream", None, number, now)
            for each in range(index):
                yield [words.seal(now, each)]
    for number, told in past.streams.items():
        if number not in past.last_index:
            yield from _update(words, number, told, values)


def _number_in(replies: Sequence[Record]) -> int | None:
    """The number of the stream that was made."""
    for reply in replies:
        for result in fields_in(reply).get("create_responses") or ():
            if is_well(result) and result.get("stream"):
                return int(result["stream"]["stream_id"])
    return None


def _update(words: _Words, number: int, told: Fields, values: Values) -> Talk:
    """A stream under its number, or another where the server has one of that number."""
    now = number
    for _ in range(ASIDE_MAX):
        replies = yield [words.question(now)]
        found = [each for reply in replies for each in fields_in(reply).get("describe_responses") or ()]
        if not any(is_well(each) for each in found):
            break
        now += ASIDE
    values.bind("stream", None, number, now)
    yield [words.update(told, now)]
