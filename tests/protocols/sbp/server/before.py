"""What a recorded placement driver knew before the recording began, as far as its answers show it."""

from collections.abc import Iterable

from tests.protocols.sbp.server.recorded import Recording, frames_of
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.framing import read_frame
from wiretool.protocols.sbp.messages import SbpFrame
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.server.placement import PlacedRange, PlacementDriver


class Before:
    """Goes over the exchanges with a placement driver, and gives a mock's what nothing in them made."""

    def __init__(self, placement: PlacementDriver) -> None:
        self._placement = placement
        self._made_streams: set[int] = set()
        self._made_ranges: set[tuple[int, int]] = set()
        self._heard: set[int] = set()
        self._has_id = self._has_stream = False

    def look(self, request: SbpFrame, answer: SbpFrame) -> None:
        """One request and its answer."""
        asked, said = request.header, answer.header
        server = getattr(asked, "range_server", None)
        if isinstance(asked, tables.HeartbeatRequest | tables.ReportMetricsRequest) and server is not None:
            self._heard.add(server.server_id)
        if isinstance(said, tables.IdAllocationResponse) and not self._has_id:
            self._has_id, self._placement.next_server = True, said.id
        if isinstance(said, tables.CreateStreamResponse) and said.stream is not None:
            if not self._has_stream:
                self._has_stream, self._placement.next_stream = True, said.stream.stream_id
            self._made_streams.add(said.stream.stream_id)
        elif isinstance(asked, tables.UpdateStreamRequest) and asked.stream is not None:
            if isinstance(said, tables.UpdateStreamResponse) and said.stream is not None:
                self._stream(said.stream)
            self._made_streams.add(asked.stream.stream_id)
        elif isinstance(said, tables.DescribeStreamResponse | tables.DeleteStreamResponse) and said.stream is not None:
            self._stream(said.stream)
        self._look_at_ranges(said)

    def _look_at_ranges(self, said: object) -> None:
        if isinstance(said, tables.ListRangeResponse | tables.SealRangeResponse | tables.CreateRangeResponse):
            listed = said.ranges if isinstance(said, tables.ListRangeResponse) else (said.range,)
            for told in listed or ():
                if told is not None:
                    self._range(told, is_new=isinstance(said, tables.CreateRangeResponse))

    def _stream(self, stream: tables.Stream) -> None:
        if stream.stream_id not in self._made_streams:
            self._made_streams.add(stream.stream_id)
            self._placement.streams[stream.stream_id] = stream

    def _range(self, told: tables.Range, *, is_new: bool) -> None:
        servers = tuple(server.server_id for server in told.servers or ())
        for server in told.servers or ():
            if server.server_id not in self._heard:
                self._heard.add(server.server_id)
                self._placement.knows(server.server_id, server.advertise_addr or "")
        self._stream(tables.Stream(stream_id=told.stream_id, replica=told.replica_count, ack_count=told.ack_count))
        key = (told.stream_id, told.index)
        if key not in self._made_ranges and not is_new:
            placed = PlacedRange(
                *(told.stream_id, told.epoch, told.index, told.start, told.end),
                servers=servers,
                replica_count=told.replica_count,
                ack_count=told.ack_count,
            )
            self._placement.ranges.setdefault(told.stream_id, []).append(placed)
        self._made_ranges.add(key)


def prepare(placement: PlacementDriver, recording: Recording, connections: Iterable[int]) -> None:
    """Give the mock's placement driver what the recorded one knew before."""
    before = Before(placement)
    for number in sorted(connections):
        sent = b"".join(event.data for event in recording.events if event.connection == number)
        asked = {frame.stream_id: frame for frame in _frames(sent)}
        for answer in _frames(bytes(recording.sides[number].data)):
            if answer.stream_id in asked:
                before.look(asked[answer.stream_id], answer)


def _frames(data: bytes) -> list[SbpFrame]:
    return [read_frame(LATEST, frame, 0, len(frame)).frame for frame in frames_of(data)]
