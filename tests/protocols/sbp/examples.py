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
    return frames("sbp")


def conversation(rng: random.Random) -> Iterator[Sent]:
    """Pings with payloads, and streams described."""
    for number in range(1, FRAMES + 1):
        if rng.random() < 0.5:
            request = {"timeout_ms": 100, "stream_id": number}
            yield sbp_frame("sbp", "client", "DESCRIBE_STREAM", number, "DescribeStreamRequest", request, b"")
            stream = {"stream_id": number, "replica": 3, "ack_count": 2, "retention_period_ms": 86_400_000}
            answer = {"status": {"code": 1200}, "throttle_time_ms": 0, "stream": stream}
            yield sbp_frame("sbp", "server", "DESCRIBE_STREAM", number, "DescribeStreamResponse", answer, b"")
        else:
            beat = {"client_id": f"client-{number}", "client_role": 3}
            yield sbp_frame("sbp", "client", "HEARTBEAT", number, "HeartbeatRequest", beat, b"")
            answer = {**beat, "status": {"code": 1200, "message": "OK"}}
            yield sbp_frame("sbp", "server", "HEARTBEAT", number, "HeartbeatResponse", answer, b"")
