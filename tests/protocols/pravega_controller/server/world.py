"""A controller with the store behind it, for tests."""

import random
from typing import Any

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from wiretool.protocols.pravega.server.store import SegmentStore
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.authority import Authority
from wiretool.protocols.pravega_controller.server.context import Address, Context
from wiretool.protocols.pravega_controller.server.service import Service
from wiretool.protocols.pravega_controller.server.state import ControllerState
from wiretool.protocols.pravega_controller.server.transactions import ABORT_NS
from wiretool.server.timers import Timers

NOW = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
METHODS = pb.DESCRIPTOR.services_by_name["ControllerService"].methods_by_name


class World:
    """A store, a controller, and its service; `now_ns` is the time of every call."""

    def __init__(
        self, *, authority: Authority | None = None, has_leases: bool = True, retain_bytes: int = 1 << 20
    ) -> None:
        self.now_ns = NOW
        self.timers = Timers()
        rng = random.Random(1)
        self.store = SegmentStore(wire_version=17, retain_bytes=retain_bytes, rng=rng)
        self.state = ControllerState(
            self.store.ask,
            self.store.append_event,
            self.store.dropped_before,
            rng,
            self.timers,
            has_leases=has_leases,
            abort_ns=ABORT_NS,
        )
        context = Context(self.state, Address("store.test", 12345), Address("controller.test", 9090), authority)
        self.service = Service(context)

    def call(self, method: str, request: Message, authorization: str | None = None) -> Any:
        """The answer of a method."""
        answer = self.service.call(method, request.SerializeToString(), authorization, self.now_ns)
        return GetMessageClass(METHODS[method].output_type).FromString(answer)

    def advance(self, duration_ns: int) -> None:
        """Let time pass, and do what is due then."""
        self.now_ns += duration_ns
        self.timers.run(self.now_ns)

    def segments(self, prefix: str = "") -> dict[str, bool]:
        """The store's segments without their indexes, and whether they are sealed."""
        found = sorted(self.store.segments._segments.items())
        return {
            name: segment.is_sealed
            for name, segment in found
            if name.startswith(prefix) and not name.endswith("#index")
        }

    def append(self, segment: str, data: bytes) -> None:
        """Put bytes into a segment, as a writer does."""
        self.store.segments.append(self.store.segments.open(segment), data, self.now_ns)

    def data(self, segment: str) -> bytes:
        """What is in a segment."""
        found = self.store.segments.info(segment)
        return found.read(found.start, found.length)

    def make_stream(self, scope: str = "s", stream: str = "t", segments: int = 1) -> pb.StreamInfo:
        """A new stream, in a scope that is made if need be."""
        self.call("createScope", pb.ScopeInfo(scope=scope))
        answer = self.call("createStream", stream_config(scope, stream, segments))
        assert answer.status == pb.CreateStreamStatus.SUCCESS
        return pb.StreamInfo(scope=scope, stream=stream)


def stream_config(scope: str, stream: str, segments: int = 1, *tags: str) -> pb.StreamConfig:
    """A configuration with a fixed number of segments."""
    return pb.StreamConfig(
        streamInfo=pb.StreamInfo(scope=scope, stream=stream),
        scalingPolicy=pb.ScalingPolicy(minNumSegments=segments),
        tags=pb.Tags(tag=tags),
    )
