"""The placement driver: streams, ranges and the range servers they are put on (sbp.md §4.5).

Everything it answers to a request that it can read is the response table of the operation, its refusals too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from wiretool import limits
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.messages import SEAL_RANGE
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.server.codes import (
    ALLOCATE_ID,
    BAD_REQUEST,
    CREATE_RANGE,
    CREATE_RANGE_BEFORE_SEAL,
    CREATE_STREAM,
    DELETE_STREAM,
    DESCRIBE_PLACEMENT_DRIVER,
    DESCRIBE_STREAM,
    EXPIRED_RANGE_EPOCH,
    HEARTBEAT,
    LIST_RANGE,
    NOT_FOUND,
    OK,
    PD_INTERNAL_SERVER_ERROR,
    PD_NO_AVAILABLE_RS,
    PD_NOT_LEADER,
    RANGE_ALREADY_SEALED,
    RANGE_NOT_FOUND,
    REPORT_METRICS,
    UPDATE_STREAM,
)

#: ClientRole and SealKind (sbp.md §2.3).
ROLE_RANGE_SERVER = 2
SEAL_KINDS = {0: "UNSPECIFIED", 1: "RANGE_SERVER"}
SEAL_KIND_PLACEMENT_DRIVER = 2


class Node(NamedTuple):
    """A node of the placement driver."""

    name: str
    address: str
    is_leader: bool = True


@dataclass(slots=True)
class Server:
    """A range server that the placement driver knows."""

    address: str | None
    #: When it last said something; None for one that never falls silent.
    heard_ns: int | None
    is_full: bool = False


@dataclass(slots=True)
class PlacedRange:
    """A range as it is stored: its servers by number, their addresses are looked up when it is told."""

    stream_id: int
    epoch: int
    index: int
    start: int
    end: int
    servers: tuple[int, ...]
    replica_count: int
    ack_count: int


class Refusal(Exception):
    """A request that is answered with another status than OK."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.status = tables.Status(code=code, message=message)


_OK = tables.Status(code=OK)


class PlacementDriver:
    """What the nodes of a placement driver know together, asked at one of them."""

    def __init__(self, nodes: Sequence[Node], silence_ns: int, is_leader: bool) -> None:
        self.nodes = tuple(nodes)
        #: A range server that was silent for so long gets no new ranges.
        self.silence_ns = silence_ns
        self.is_leader = is_leader
        self.streams: dict[int, tables.Stream] = {}
        self.ranges: dict[int, list[PlacedRange]] = {}
        self.servers: dict[int, Server] = {}
        #: The address of the range server that is there, as number 0, while no other has reported; empty for none.
        self.stand_in = ""
        self.next_stream = self.next_server = 0
        self._range_count = 0
        #: Where the next range looks for its first server.
        self._turn = 0

    def knows(self, server_id: int, address: str) -> None:
        """This range server is there and never falls silent."""
        self.servers[server_id] = Server(address, None)

    def answer(self, opcode: int, request: Table, now_ns: int) -> Table:
        """The response table to a request table; a refusal is one with its status and little else."""
        operation = LATEST.operation(opcode)
        assert operation is not None
        assert operation.response is not None
        if not self.is_leader and opcode not in _EVERY_NODE:
            return operation.response(status=self.not_leading())
        try:
            return HANDLERS[opcode](self, request, now_ns)
        except Refusal as refusal:
            return operation.response(status=refusal.status)

    # -- who is there ----------------------------------------------------------------------------------------------

    def heartbeat(self, request: tables.HeartbeatRequest, now_ns: int) -> Table:
        status = _OK
        server = request.range_server
        if request.client_role == ROLE_RANGE_SERVER and server is not None:
            status = self._heard(server, now_ns)
        return tables.HeartbeatResponse(
            client_id=request.client_id or None,
            client_role=request.client_role,
            range_server=_told(server),
            status=status,
        )

    def report_metrics(self, request: tables.ReportMetricsRequest, now_ns: int) -> Table:
        server = request.range_server
        if server is None:
            status = tables.Status(code=BAD_REQUEST, message="range server is nil")
        elif request.metrics is None:
            status = tables.Status(code=BAD_REQUEST, message="metrics is nil")
        else:
            status = self._heard(server, now_ns, is_full=request.metrics.disk_free_space == 0)
        return tables.ReportMetricsResponse(range_server=_told(server), status=status)

    def _heard(self, told: tables.RangeServer, now_ns: int, is_full: bool = False) -> tables.Status:
        """A range server lives. One with a number below 0 is refused when it is new, and counted all the same."""
        known = self.servers.get(told.server_id)
        is_new = known is None or known.address != told.advertise_addr
        if known is None and len(self.servers) >= limits.SBP_RANGES_MAX:
            return tables.Status(code=PD_INTERNAL_SERVER_ERROR, message="too many range servers")
        self.servers[told.server_id] = Server(told.advertise_addr or None, now_ns, is_full)
        if is_new and told.server_id < 0 and self.is_leader:
            why = f"invalid range server id: {told.server_id} < 0"
            return tables.Status(code=PD_INTERNAL_SERVER_ERROR, message=why)
        return _OK

    def allocate_id(self, request: tables.IdAllocationRequest, now_ns: int) -> Table:
        self.next_server += 1
        return tables.IdAllocationResponse(status=_OK, id=self.next_server - 1)

    def describe(self, request: tables.DescribePlacementDriverClusterRequest, now_ns: int) -> Table:
        return tables.DescribePlacementDriverClusterResponse(status=_OK, cluster=self.cluster())

    def cluster(self) -> tables.PlacementDriverCluster:
        """All of its nodes."""
        return tables.PlacementDriverCluster(
            nodes=tuple(
                tables.PlacementDriverNode(name=node.name, advertise_addr=node.address, is_leader=node.is_leader)
                for node in self.nodes
            )
        )

    def not_leading(self) -> tables.Status:
        """What a node answers that does not lead: who does."""
        return tables.Status(code=PD_NOT_LEADER, message="not leader", detail=encode_root(self.cluster()))

    # -- streams ---------------------------------------------------------------------------------------------------

    def create_stream(self, request: tables.CreateStreamRequest, now_ns: int) -> Table:
        if request.stream is None:
            raise Refusal(BAD_REQUEST, "stream is nil")
        stream = msgspec.structs.replace(request.stream, stream_id=self.next_stream)
        self._store(stream)
        self.next_stream += 1
        return tables.CreateStreamResponse(status=_OK, stream=stream)

    def delete_stream(self, request: tables.DeleteStreamRequest, now_ns: int) -> Table:
        """Remove the record; its ranges stay."""
        stream = self._stream(request.stream_id)
        del self.streams[request.stream_id]
        return tables.DeleteStreamResponse(status=_OK, stream=stream)

    def update_stream(self, request: tables.UpdateStreamRequest, now_ns: int) -> Table:
        """Overwrite the record; one that is not there is made, and not told."""
        stream = request.stream
        if stream is None:
            raise Refusal(PD_INTERNAL_SERVER_ERROR, "handler panic")
        if stream.stream_id < 0:
            raise Refusal(PD_INTERNAL_SERVER_ERROR, f"invalid stream id: {stream.stream_id} < 0")
        is_known = stream.stream_id in self.streams
        self._store(stream)
        return tables.UpdateStreamResponse(status=_OK, stream=stream if is_known else None)

    def describe_stream(self, request: tables.DescribeStreamRequest, now_ns: int) -> Table:
        return tables.DescribeStreamResponse(status=_OK, stream=self._stream(request.stream_id))

    def _stream(self, stream_id: int) -> tables.Stream:
        if stream_id not in self.streams:
            raise Refusal(NOT_FOUND, f"stream id {stream_id}: stream not found")
        return self.streams[stream_id]

    def _store(self, stream: tables.Stream) -> None:
        if stream.stream_id not in self.streams and len(self.streams) >= limits.SBP_STREAMS_MAX:
            raise Refusal(PD_INTERNAL_SERVER_ERROR, f"no room for more than {limits.SBP_STREAMS_MAX} streams")
        self.streams[stream.stream_id] = stream

    # -- ranges ----------------------------------------------------------------------------------------------------

    def list_range(self, request: tables.ListRangeRequest, now_ns: int) -> Table:
        """The ranges of a stream, of a server, or of both; without either no `ranges` at all, like the real one."""
        criteria = request.criteria
        if criteria is None:
            raise Refusal(BAD_REQUEST, "criteria is nil")
        if criteria.stream_id < 0 and criteria.server_id < 0:
            return tables.ListRangeResponse(status=_OK)
        found: list[tables.Range] = []
        room = limits.SBP_LISTED_MAX
        for placed in self._ranges(criteria.stream_id):
            if criteria.server_id < 0 or criteria.server_id in placed.servers:
                room -= 1 + len(placed.servers)
                if room < 0:
                    raise Refusal(PD_INTERNAL_SERVER_ERROR, "more ranges than one answer lists")
                found.append(self.told(placed))
        return tables.ListRangeResponse(status=_OK, ranges=tuple(found))

    def _ranges(self, stream_id: int) -> Iterator[PlacedRange]:
        """The ranges of one stream, or of all of them in order."""
        for number in sorted(self.ranges) if stream_id < 0 else (stream_id,):
            yield from self.ranges.get(number, ())

    def create_range(self, request: tables.CreateRangeRequest, now_ns: int) -> Table:
        wanted = request.range
        if wanted is None:
            raise Refusal(BAD_REQUEST, "range is nil")
        self._check_follows(wanted)
        stream = self.streams.get(wanted.stream_id)
        if stream is None:
            raise Refusal(NOT_FOUND, f"stream {wanted.stream_id} not found: stream not found")
        if self._range_count >= limits.SBP_RANGES_MAX:
            raise Refusal(PD_INTERNAL_SERVER_ERROR, f"no room for more than {limits.SBP_RANGES_MAX} ranges")
        placed = PlacedRange(
            wanted.stream_id,
            wanted.epoch,
            wanted.index,
            wanted.start,
            -1,
            self._chosen(stream.replica, now_ns),
            stream.replica,
            stream.ack_count,
        )
        self.ranges.setdefault(wanted.stream_id, []).append(placed)
        self._range_count += 1
        told = self.told(placed)
        return tables.CreateRangeResponse(status=_OK, range=msgspec.structs.replace(told, servers=told.servers or None))

    def _check_follows(self, wanted: tables.Range) -> None:
        """Refuse a range that is not the next of its stream."""
        stream_id, index, start = wanted.stream_id, wanted.index, wanted.start
        ranges = self.ranges.get(stream_id)
        if not ranges and stream_id not in self.streams:
            return  # refused for its stream
        last_index, last_end, last_epoch = -1, 0, 0
        if ranges:
            last_index, last_end, last_epoch = ranges[-1].index, ranges[-1].end, ranges[-1].epoch
        where = f"for range {index} in stream {stream_id}"
        if last_end < 0:
            why = f"create range {index} before sealing the last range {last_index} in stream {stream_id}"
            raise Refusal(CREATE_RANGE_BEFORE_SEAL, f"{why}: create range before sealing the previous one")
        if index != last_index + 1:
            why = f"invalid range index {index} (should be {last_index + 1}) in stream {stream_id}"
            raise Refusal(BAD_REQUEST, f"{why}: invalid range index")
        if start != last_end:
            why = f"invalid range start {start} (should be {last_end}) {where}"
            raise Refusal(BAD_REQUEST, f"{why}: invalid start offset")
        if wanted.epoch < last_epoch:
            why = f"invalid range epoch {wanted.epoch} (less than {last_epoch}) {where}"
            raise Refusal(EXPIRED_RANGE_EPOCH, f"{why}: expired range epoch")

    def _chosen(self, count: int, now_ns: int) -> tuple[int, ...]:
        """The servers of a new range, in turn."""
        living = [number for number, server in sorted(self.servers.items()) if self._lives(server, now_ns)]
        if self.stand_in and not self.servers:
            living = [0]
        if len(living) < count:
            why = f"required {count}, available {len(living)}: not enough range servers"
            raise Refusal(PD_NO_AVAILABLE_RS, why)
        if count <= 0:
            return ()
        first = self._turn % len(living)
        self._turn += count
        return tuple((living * 2)[first : first + count])

    def _lives(self, server: Server, now_ns: int) -> bool:
        return not server.is_full and (server.heard_ns is None or now_ns - server.heard_ns < self.silence_ns)

    def seal_range(self, request: tables.SealRangeRequest, now_ns: int) -> Table:
        if request.kind != SEAL_KIND_PLACEMENT_DRIVER:
            kind = SEAL_KINDS.get(request.kind, f"SealKind({request.kind})")
            raise Refusal(BAD_REQUEST, f"invalid seal kind: {kind}")
        wanted = request.range
        if wanted is None:
            raise Refusal(BAD_REQUEST, "range is nil")
        last = self._sealable(wanted)
        last.end, last.epoch = wanted.end, wanted.epoch
        return tables.SealRangeResponse(status=_OK, range=self.told(last))

    def _sealable(self, wanted: tables.Range) -> PlacedRange:
        """The open range that is meant; a deleted stream may still have one."""
        stream_id, index = wanted.stream_id, wanted.index
        ranges = self.ranges.get(stream_id)
        if not ranges:
            if stream_id not in self.streams:
                raise Refusal(NOT_FOUND, f"stream {stream_id} not found: stream not found")
            raise Refusal(RANGE_NOT_FOUND, f"no range in stream {stream_id}: range not found")
        last = ranges[-1]
        if index > last.index:
            raise Refusal(RANGE_NOT_FOUND, f"range {index} not found in stream {stream_id}: range not found")
        if index < last.index or last.end >= 0:
            why = f"range {index} already sealed in stream {stream_id}: range already sealed"
            raise Refusal(RANGE_ALREADY_SEALED, why)
        where = f"for range {index} in stream {stream_id}"
        if wanted.end < last.start:
            why = f"invalid end offset {wanted.end} (less than start offset {last.start}) {where}"
            raise Refusal(BAD_REQUEST, f"{why}: invalid end offset")
        if wanted.epoch < last.epoch:
            why = f"invalid epoch {wanted.epoch} (less than {last.epoch}) {where}"
            raise Refusal(EXPIRED_RANGE_EPOCH, f"{why}: expired range epoch")
        return last

    def has_placed(self, wanted: tables.Range) -> bool:
        """Whether a range is told just as it was placed, on these servers."""
        servers = tuple(server.server_id for server in wanted.servers or ())
        placed = (each for each in self.ranges.get(wanted.stream_id, ()) if each.index == wanted.index)
        return bool(servers) and any(each.servers == servers for each in placed)

    def told(self, placed: PlacedRange) -> tables.Range:
        """A range as it goes out, with the addresses of its servers."""
        return tables.Range(
            stream_id=placed.stream_id,
            epoch=placed.epoch,
            index=placed.index,
            start=placed.start,
            end=placed.end,
            servers=tuple(self._addressed(number) for number in placed.servers),
            replica_count=placed.replica_count,
            ack_count=placed.ack_count,
        )

    def _addressed(self, number: int) -> tables.RangeServer:
        server = self.servers.get(number)
        address = server.address if server else self.stand_in or None
        return tables.RangeServer(server_id=number, advertise_addr=address)


def _told(server: tables.RangeServer | None) -> tables.RangeServer | None:
    """A range server as it was told, without an empty address."""
    if server is None or server.advertise_addr:
        return server
    return msgspec.structs.replace(server, advertise_addr=None)


#: What serves each operation.
HANDLERS: Mapping[int, Callable[[PlacementDriver, Any, int], Table]] = {
    HEARTBEAT: PlacementDriver.heartbeat,
    ALLOCATE_ID: PlacementDriver.allocate_id,
    LIST_RANGE: PlacementDriver.list_range,
    SEAL_RANGE: PlacementDriver.seal_range,
    CREATE_RANGE: PlacementDriver.create_range,
    CREATE_STREAM: PlacementDriver.create_stream,
    DELETE_STREAM: PlacementDriver.delete_stream,
    UPDATE_STREAM: PlacementDriver.update_stream,
    DESCRIBE_STREAM: PlacementDriver.describe_stream,
    REPORT_METRICS: PlacementDriver.report_metrics,
    DESCRIBE_PLACEMENT_DRIVER: PlacementDriver.describe,
}
#: What nodes serve that do not lead, too.
_EVERY_NODE = frozenset((HEARTBEAT, REPORT_METRICS, DESCRIBE_PLACEMENT_DRIVER))
