"""Example messages and a conversation of a thousand frames."""

import random
from collections.abc import Iterator

from hypothesis import strategies as st

from tests.bench.talk import FRAMES, Sent, frame, text
from tests.helpers.strategies import Saying, commands
from wiretool.protocols.base.registry import PROTOCOLS


def sayings() -> st.SearchStrategy[Saying]:
    """Return any message with its sender."""
    return commands(PROTOCOLS["pravega"].messages)


def conversation(rng: random.Random) -> Iterator[Sent]:
    """A writer with its acknowledgements, and reads between them."""
    writer = "6f1d2a9c-0b35-4c1e-9a77-1f2e3d4c5b6a"
    yield frame("pravega", "client", "Hello", {"high_version": 17, "low_version": 5})
    yield frame("pravega", "server", "Hello", {"high_version": 17, "low_version": 5})
    segment = "scope/stream/0.#epoch.0"
    setup = {"request_id": 1, "writer_id": writer, "segment": segment, "delegation_token": ""}
    yield frame("pravega", "client", "SetupAppend", setup)
    ready = {"request_id": 1, "segment": segment, "writer_id": writer, "last_event_number": -(2**63)}
    yield frame("pravega", "server", "AppendSetup", ready)
    offset = 0
    for number in range(1, FRAMES):
        event = text(rng, rng.randrange(20, 400))
        data = bytes(4) + len(event).to_bytes(4, "big") + event
        offset += len(data)
        block = {"writer_id": writer, "size_of_whole_events": len(data), "data": data.hex(), "num_events": 1}
        yield frame("pravega", "client", "AppendBlockEnd", {**block, "last_event_number": number, "request_id": number})
        ack = {"writer_id": writer, "event_number": number, "previous_event_number": number - 1, "request_id": number}
        yield frame("pravega", "server", "DataAppended", {**ack, "current_segment_write_offset": offset})
