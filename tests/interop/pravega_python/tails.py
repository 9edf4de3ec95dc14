"""What a client sees right after the fact: events at the tail, streams of the server, transactions that are dropped."""

import asyncio
import os
import tempfile
from typing import Any

import pravega_client  # type: ignore[import-not-found,import-untyped,unused-ignore]

from tests.interop.pravega_python.client import Scenario, outcome, prepare

_STDERR = 2


def system(manager: Any, scope: str) -> dict[str, Any]:
    """The scopes that there are, the streams of the controller, and where a group that reads one of them begins."""
    prepare(manager, scope)
    group = manager.create_reader_group("group", scope, "stream")
    return {
        "scopes": manager.list_scope(),
        "streams": manager.list_stream("_system"),
        "cut": {str(segment): offset for segment, offset in group.get_streamcut().get_segment_offset_map().items()},
    }


def tail_pair(manager: Any, scope: str, rounds: int) -> dict[str, Any]:
    """Two events written back to back for a reader from the tail: how many it gets at once, round by round."""

    async def read_pair(index: int) -> int:
        stream = f"stream{index}"
        prepare(manager, scope, stream=stream)
        writer = manager.create_writer(scope, stream)
        writer.write_event("before")
        writer.flush()
        config = pravega_client.StreamReaderGroupConfig(True, scope, stream)
        reader = manager.create_reader_group_with_config(f"group{index}", scope, config).create_reader("reader")
        for text in ("one", "two"):
            writer.write_event(text)
        return sum(1 for _ in await reader.get_segment_slice_async())

    return {"counts": [asyncio.run(read_pair(index)) for index in range(rounds)]}


def unflushed(manager: Any, scope: str, rounds: int) -> dict[str, Any]:
    """Transactions that are aborted with an event on its way, and how many of the client's threads panic at it."""
    prepare(manager, scope)
    writer = manager.create_transaction_writer(scope, "stream", 1)
    with tempfile.TemporaryFile() as stderr:
        kept = os.dup(_STDERR)
        os.dup2(stderr.fileno(), _STDERR)
        for index in range(rounds):
            txn = writer.begin_txn()
            txn.write_event(f"event {index}")
            outcome(txn.abort)
        os.dup2(kept, _STDERR)
        stderr.seek(0)
        return {"panics": stderr.read().count(b"panicked")}


SCENARIOS: dict[str, Scenario] = {"system": system, "tail_pair": tail_pair, "unflushed": unflushed}
