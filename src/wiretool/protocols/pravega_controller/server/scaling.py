"""Key ranges: how [0, 1) is divided, and which divisions may follow each other."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from wiretool import limits
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.streams import KeyRange, Stream, StreamSegment


def even_ranges(count: int) -> list[KeyRange]:
    """[0, 1) in `count` equal parts."""
    if not 1 <= count <= limits.CONTROLLER_SEGMENTS_MAX:
        raise Refused(Why.FAILURE, f"{count} segments")
    bounds = [at * (1.0 / count) for at in range(count)] + [1.0]
    return [KeyRange(low, high) for low, high in pairwise(bounds)]


def replaced(stream: Stream, sealed: Iterable[int], ranges: Sequence[KeyRange]) -> list[StreamSegment]:
    """The active segments that a scaling is to seal, in the order of their keys.

    Refused where one is not active (PRECONDITION_FAILED), or the new ranges do not tile just what the old ones did.
    """
    wanted = set(sealed)
    old = [segment for segment in stream.active.segments if segment.id in wanted]
    if len(old) != len(wanted):
        raise Refused(Why.PRECONDITION_FAILED, f"segments of {stream.scope}/{stream.name} that are not active")
    if not old or len(ranges) > limits.CONTROLLER_SEGMENTS_MAX or _joined(s.keys for s in old) != _joined(ranges):
        raise Refused(Why.FAILURE, f"new key ranges of {stream.scope}/{stream.name} do not fit the sealed segments")
    return old


def _joined(ranges: Iterable[KeyRange]) -> list[KeyRange] | None:
    """Neighbours put together; None where ranges overlap, are empty, or leave [0, 1]."""
    joined: list[KeyRange] = []
    for low, high in sorted(ranges):
        if not 0.0 <= low < high <= 1.0 or (joined and low < joined[-1].high):
            return None
        if joined and low == joined[-1].high:
            joined[-1] = KeyRange(joined[-1].low, high)
        else:
            joined.append(KeyRange(low, high))
    return joined
