"""What every call works with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from google.protobuf.message import Message

from wiretool.protocols.pravega.server.tokens import Permission
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.authority import Authority
from wiretool.protocols.pravega_controller.server.names import TABLE
from wiretool.protocols.pravega_controller.server.refused import Refused
from wiretool.protocols.pravega_controller.server.state import ControllerState
from wiretool.protocols.pravega_controller.server.streams import StreamSegment

Answer = TypeVar("Answer", bound=Message)


class Address(NamedTuple):
    """Where clients reach a server. Under TLS real clients want a host name, no number."""

    host: str
    port: int


@dataclass
class Context:
    """The state, the addresses that are given out, and who may call: anybody where `authority` is None.

    The addresses may be set later: a port is known when it is bound.
    """

    state: ControllerState
    store: Address
    controller: Address
    authority: Authority | None = None

    def token(self, scope: str, stream: str, permission: Permission, now_ns: int) -> str:
        """A token for the segments of a stream, and of the table of that name; empty where anybody may call."""
        if self.authority is None:
            return ""
        found = self.state.scopes.all.get(scope)
        is_table = found is not None and stream in found.tables
        return self.authority.token(scope, [stream, stream + TABLE] if is_table else [stream], permission, now_ns)


#: What one call does: the answer to a request at a time.
Call = Callable[[Context, Any, int], Message]


def told(kind: type[Answer], do: Callable[[], object], field: str = "status") -> Answer:
    """The answer with nothing but a status: the first of its words where it could be done, else why not.

    Refused goes on where the answer has no word for it, not even FAILURE.
    """
    try:
        do()
    except Refused as refused:
        return said(kind, refused, field)
    return kind()


def said(kind: type[Answer], refused: Refused, field: str = "status") -> Answer:
    """The answer that tells a refusal."""
    (words,) = kind.DESCRIPTOR.enum_types
    word = words.values_by_name.get(refused.why.value) or words.values_by_name.get("FAILURE")
    if word is None:
        raise refused
    return kind(**{field: word.number})


def stream_info(scope: str, stream: str) -> pb.StreamInfo:
    """A stream's name as answers carry it."""
    return pb.StreamInfo(scope=scope, stream=stream)


def segment_range(scope: str, stream: str, segment: StreamSegment) -> pb.SegmentRange:
    """A segment with its keys as answers carry it."""
    return pb.SegmentRange(
        segmentId=pb.SegmentId(streamInfo=stream_info(scope, stream), segmentId=segment.id),
        minKey=segment.keys.low,
        maxKey=segment.keys.high,
    )
