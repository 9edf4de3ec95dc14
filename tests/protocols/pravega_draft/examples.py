"""Example messages and a conversation of a thousand frames."""

import random
from collections.abc import Iterator

from hypothesis import strategies as st

from tests.bench.talk import FRAMES, Sent, frame, text
from tests.helpers.strategies import Saying, commands
from wiretool.protocols.base.registry import PROTOCOLS


def sayings() -> st.SearchStrategy[Saying]:
    """Return any message with its sender."""
    return commands(PROTOCOLS["pravega-draft"].messages)


def conversation(rng: random.Random) -> Iterator[Sent]:
    """Blocks of framed events, acknowledged by offset."""
    connection = "6f1d2a9c-0b35-4c1e-9a77-1f2e3d4c5b6a"
    yield frame("pravega-draft", "client", "SetupAppend", {"connection_id": connection, "segment": "scope/stream/0"})
    ready = {"segment": "scope/stream/0", "connection_id": connection, "connection_offset_ack_level": 0}
    yield frame("pravega-draft", "server", "AppendSetup", ready)
    offset = 0
    for _ in range(FRAMES // 3):
        event = text(rng, rng.randrange(20, 400))
        length = len(event) + 8
        begin = {"connection_id": connection, "connection_offset": offset, "length": length}
        yield frame("pravega-draft", "client", "BeginAppendBlock", begin)
        yield frame("pravega-draft", "client", "Event", {"data": event.hex()})
        offset += length
        end = {"connection_id": connection, "connection_offset": offset, "block_length": length}
        yield frame("pravega-draft", "client", "EndAppendBlock", end)
        ack = {"connection_id": connection, "connection_offset_ack_level": offset}
        yield frame("pravega-draft", "server", "DataAppended", ack)
