"""The captures that flows come from, where several captures are read as one."""

from array import array
from collections.abc import Iterable, Iterator

from wiretool.capture.tcp.segments_of_packets import Segment
from wiretool.capture.tcp.stream_events import Connection

#: Bytes of a port in the key of a flow.
PORT_BYTES = 2


class Origins:
    """The flows of each of several captures. A reader notes the source of each packet, then the segments in order."""

    def __init__(self, count: int) -> None:
        #: The index of its source, for each packet in the order of packet numbers.
        self._sources = array("L")
        self._flows: list[set[bytes]] = [set() for _ in range(count)]

    def note_packet(self, source: int) -> None:
        """Note the source of the next packet."""
        self._sources.append(source)

    def noted(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        """Yield segments, and note the flow of each for its source."""
        for segment in segments:
            self._flows[self._sources[segment.number - 1]].add(segment.flow)
            yield segment

    def hosts_of(self, source: int) -> frozenset[frozenset[str]]:
        """Return the pairs of addresses, each with its port, between which a capture has TCP segments."""
        return frozenset(map(_hosts, self._flows[source]))


def _hosts(flow: bytes) -> frozenset[str]:
    """Return both ends of a flow as a connection shows them."""
    half = len(flow) // 2 - PORT_BYTES
    ports = len(flow) - 2 * PORT_BYTES
    src, dst = flow[:half] + flow[ports:-PORT_BYTES], flow[half:ports] + flow[-PORT_BYTES:]
    connection = Connection(0, src, dst, 0)
    return frozenset((connection.client, connection.server))
