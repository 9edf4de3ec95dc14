"""Example frames and a conversation of a thousand of them."""

import random
from collections.abc import Iterator

from hypothesis import strategies as st

from tests.bench.talk import FRAMES, Sent, sbp_frame
from tests.helpers.sbp_frames import comparable, frames
from tests.helpers.strategies import Saying

__all__ = ["comparable", "conversation", "sayings"]


def sayings() -> st.SearchStrategy[Saying]:
    """Return any frame with its sender."""
    return frames("sbp-0.1")


def conversation(rng: random.Random) -> Iterator[Sent]:
    """Streams created in batches, and heartbeats."""
    for number in range(1, FRAMES + 1):
        if rng.random() < 0.5:
            ids = [rng.randrange(10**6) for _ in range(rng.randrange(1, 5))]
            request = {"timeout_ms": 100, "stream_ids": ids}
            yield sbp_frame("sbp-0.1", "client", "GET_STREAMS", number, "DescribeStreamsRequest", request, b"")
            found = [{"stream": {"stream_id": each, "replica_nums": 3}, "error_code": 0} for each in ids]
            answer = {"throttle_time_ms": 0, "describe_responses": found}
            yield sbp_frame("sbp-0.1", "server", "GET_STREAMS", number, "DescribeStreamsResponse", answer, b"")
        else:
            node = {"node_id": number, "advertise_addr": "127.0.0.1:10911"}
            beat = {"client_id": f"client-{number}", "client_role": 2, "data_node": node}
            yield sbp_frame("sbp-0.1", "client", "HEARTBEAT", number, "HeartbeatRequest", beat, b"")
            yield sbp_frame("sbp-0.1", "server", "HEARTBEAT", number, "HeartbeatResponse", beat, b"")
