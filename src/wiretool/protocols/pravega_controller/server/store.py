"""The controller as what it is in a real cluster: a client of the store, in the words of the wire protocol."""

from collections.abc import Callable, Sequence

from wiretool.codec.message import Message
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.failures import NoSuchSegment, SegmentAlreadyExists, SegmentIsSealed, SegmentIsTruncated
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    DeleteSegment,
    GetStreamSegmentInfo,
    MergeSegmentsBatch,
    SealSegment,
    SegmentCreated,
    SegmentDeleted,
    SegmentsBatchMerged,
    SegmentSealed,
    SegmentTruncated,
    StreamSegmentInfo,
    TruncateSegment,
    UpdateSegmentPolicy,
)
from wiretool.protocols.pravega.tables import CreateTableSegment, DeleteTableSegment
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.refused import Refused, Why

#: The store's reply to a request at a time, a failure too.
Ask = Callable[[Message, int], Message]
#: Append an event to a segment that is there and not sealed, at a time.
Append = Callable[[str, bytes, int], None]
#: The offset before which the store has dropped the oldest data of a segment by itself.
DroppedBefore = Callable[[str], int]

#: What the scaling types are called in CreateSegment, by those of the controller.
_SCALE_TYPES = {
    pb.ScalingPolicy.FIXED_NUM_SEGMENTS: 0,
    pb.ScalingPolicy.BY_RATE_IN_KBYTES_PER_SEC: 1,
    pb.ScalingPolicy.BY_RATE_IN_EVENTS_PER_SEC: 2,
}


class Store:
    """The segments that streams, transactions and tables are made of.

    What is already as it is wanted is no failure: clients work on the same segments. Refused: any other failure.
    """

    def __init__(self, ask: Ask, append: Append, dropped_before: DroppedBefore) -> None:
        self._ask = ask
        self._append = append
        #: Not where a segment begins: a client may truncate one, of which a real controller knows nothing.
        self.dropped_before = dropped_before

    def create(self, name: str, config: pb.StreamConfig, now_ns: int) -> None:
        """Make an empty segment with the policy of its stream."""
        policy = config.scalingPolicy
        request = CreateSegment(
            request_id=0,
            segment=name,
            target_rate=policy.targetRate,
            scale_type=_SCALE_TYPES.get(policy.scaleType, 0),
            rollover_size_bytes=config.rolloverSizeBytes,
        )
        self._do(request, now_ns, SegmentCreated, SegmentAlreadyExists)

    def update_policy(self, name: str, config: pb.StreamConfig, now_ns: int) -> None:
        """Tell a segment the new policy of its stream."""
        policy = config.scalingPolicy
        request = UpdateSegmentPolicy(
            request_id=0,
            segment=name,
            target_rate=policy.targetRate,
            scale_type=_SCALE_TYPES.get(policy.scaleType, 0),
        )
        self._ask(request, now_ns)

    def seal(self, name: str, now_ns: int) -> None:
        """Let nothing be appended to a segment any more."""
        self._do(SealSegment(request_id=0, segment=name), now_ns, SegmentSealed, SegmentIsSealed, NoSuchSegment)

    def delete(self, name: str, now_ns: int) -> None:
        """Remove a segment."""
        self._do(DeleteSegment(request_id=0, segment=name), now_ns, SegmentDeleted, NoSuchSegment)

    def truncate(self, name: str, offset: int, now_ns: int) -> None:
        """Drop what lies before an offset."""
        request = TruncateSegment(request_id=0, segment=name, truncation_offset=offset)
        self._do(request, now_ns, SegmentTruncated, SegmentIsTruncated, NoSuchSegment)

    def is_sealed(self, name: str, now_ns: int) -> bool | None:
        """Whether a segment is sealed; None where there is no such segment."""
        info = self._ask(GetStreamSegmentInfo(request_id=0, segment_name=name), now_ns)
        return info.is_sealed if isinstance(info, StreamSegmentInfo) else None

    def append_event(self, name: str, event: bytes, now_ns: int) -> None:
        """Append an event to a segment that is there and not sealed."""
        self._append(name, event, now_ns)

    def merge(self, target: str, sources: Sequence[str], now_ns: int) -> None:
        """Put segments behind another, in their order, and remove them."""
        request = MergeSegmentsBatch(request_id=0, target_segment_id=target, source_segment_ids=tuple(sources))
        self._do(request, now_ns, SegmentsBatchMerged)

    def create_table(self, name: str, key_length: int, rollover_bytes: int, now_ns: int) -> None:
        """Make an empty table segment with keys of a fixed length."""
        request = CreateTableSegment(
            request_id=0, segment=name, key_length=key_length, rollover_size_bytes=rollover_bytes
        )
        self._do(request, now_ns, SegmentCreated, SegmentAlreadyExists)

    def delete_table(self, name: str, now_ns: int) -> None:
        """Remove a table segment."""
        request = DeleteTableSegment(request_id=0, segment=name, must_be_empty=False)
        self._do(request, now_ns, SegmentDeleted, NoSuchSegment)

    def _do(self, request: Message, now_ns: int, *fine: type[Message]) -> None:
        try:
            reply = self._ask(request, now_ns)
        except ProtocolViolation as violation:
            raise Refused(Why.FAILURE, violation.why) from violation
        if not isinstance(reply, fine):
            raise Refused(Why.FAILURE, f"the store answers {type(request).__name__} with {type(reply).__name__}")
