"""The streams of a real controller itself, in the scope `_system`: work that waits, and the readers of it."""

from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.names import READER_GROUP
from wiretool.protocols.pravega_controller.server.scopes import SYSTEM_SCOPE

#: Segments of the streams of requests, as a real server 0.13.0 has them, and the readers of those.
_REQUESTS = {"_requeststream": 2, "_commitStream": 2, "_abortStream": 2, "_kvTableStream": 5}
_READERS = ("scaleGroup", "commitStreamReaders", "abortStreamReaders", "kvtStreamReaders")
_ROLLOVER_BYTES = 4 << 20


def system_streams() -> list[pb.StreamConfig]:
    """Return the configuration of each, but for the streams of their watermarks."""
    requests = [_config(name, segments) for name, segments in _REQUESTS.items()]
    return requests + [_config(READER_GROUP + name, 1, _ROLLOVER_BYTES) for name in _READERS]


def _config(name: str, segments: int, rollover_bytes: int = 0) -> pb.StreamConfig:
    return pb.StreamConfig(
        streamInfo=pb.StreamInfo(scope=SYSTEM_SCOPE, stream=name),
        scalingPolicy=pb.ScalingPolicy(minNumSegments=segments),
        rolloverSizeBytes=rollover_bytes,
    )
