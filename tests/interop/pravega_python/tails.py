"""What a client sees right after the fact: events at the tail, streams of the server, transactions that are dropped.

And what it sees of what it did by ways that pass the controller.
"""

import asyncio
import os
import tempfile
import time
from typing import Any

import pravega_client  # type: ignore[import-not-found,import-untyped,unused-ignore]

from tests.interop.pravega_python.client import BREATH_S, Scenario, outcome, prepare, read_slice

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
    """Transactions of which every other one is aborted with an event on its way; how many threads panic at it."""
    prepare(manager, scope)
    writer = manager.create_transaction_writer(scope, "stream", 1)
    with tempfile.TemporaryFile() as stderr:
        kept = os.dup(_STDERR)
        os.dup2(stderr.fileno(), _STDERR)
        for index in range(rounds):
            txn = writer.begin_txn()
            txn.write_event(f"event {index}")
            outcome(txn.abort if index % 2 else txn.commit)
        os.dup2(kept, _STDERR)
        stderr.seek(0)
        return {"panics": stderr.read().count(b"panicked")}


def truncated_beneath(manager: Any, scope: str) -> dict[str, Any]:
    """A stream of events whose segment a byte stream truncates: where a group from the head begins, what it reads."""
    prepare(manager, scope)
    writer = manager.create_writer(scope, "stream")
    for number in range(5):
        writer.write_event(f"e{number}")
    writer.flush()
    manager.create_byte_stream(scope, "stream").truncate(20)
    group = manager.create_reader_group("group", scope, "stream")
    report = {"cut": group.get_streamcut().get_segment_offset_map()}
    return {**report, "read": asyncio.run(read_slice(group.create_reader("reader")))}


def deleted_stream(manager: Any, scope: str) -> dict[str, Any]:
    """A transaction that is open while its stream is deleted."""
    prepare(manager, scope)
    txn = manager.create_transaction_writer(scope, "stream", 1).begin_txn()
    txn.write_event("event")
    time.sleep(BREATH_S)
    report = {"sealed": manager.seal_stream(scope, "stream"), "deleted": manager.delete_stream(scope, "stream")}
    return {**report, "open": outcome(txn.is_open)}


def tags(manager: Any, scope: str) -> dict[str, Any]:
    """The tags of a stream, given in another order, and one twice."""
    manager.create_scope(scope)
    policies = pravega_client.StreamScalingPolicy.fixed_scaling_policy(1), pravega_client.StreamRetentionPolicy.none()
    manager.create_stream_with_policy(scope, "stream", *policies, ["b", "t10", "a", "b"])
    return {"tags": manager.get_stream_tags(scope, "stream")}


SCENARIOS: dict[str, Scenario] = {
    "deleted_stream": deleted_stream,
    "system": system,
    "tags": tags,
    "tail_pair": tail_pair,
    "truncated_beneath": truncated_beneath,
    "unflushed": unflushed,
}
