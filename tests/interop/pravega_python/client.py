"""What the scenarios share: streams made, numbered events written and read, refusals as values."""

import asyncio
from collections.abc import Callable
from typing import Any

import pravega_client  # type: ignore[import-not-found,import-untyped,unused-ignore]

from tests.interop.numbered import numbered

#: A scenario: the client's stream manager and its own arguments in, its report out.
Scenario = Callable[..., dict[str, Any]]

#: Between a slice and the next call that waits: without it the client stalls for 30 s now and then.
BREATH_S = 0.02


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """What a call returns, or the words that it is refused with."""
    try:
        return call(*args)
    except (ValueError, OSError, pravega_client.TxnFailedException) as err:
        return f"{type(err).__name__}: {err}"


def prepare(manager: Any, scope: str, segments: int = 1, *, stream: str = "stream") -> None:
    """The scope and the stream of a scenario, if they are not there yet."""
    manager.create_scope(scope)
    manager.create_stream(scope, stream, segments)


def write(
    manager: Any, scope: str, count: int, keys: int, in_flight: int = 100, size_bytes: int = 0, first: int = 0
) -> None:
    """Write numbered events with a writer of its own, and wait until all of them are stored."""
    writer = manager.create_writer(scope, "stream", in_flight)
    for key, text in numbered(count, keys, size_bytes, first):
        writer.write_event(text, key)
    writer.flush()


async def read_slice(reader: Any) -> list[str]:
    """The events of a reader's next slice; none where nothing has come for a while."""
    part = await reader.get_segment_slice_async()
    events = [event.data().decode() for event in part]
    await asyncio.sleep(BREATH_S)
    reader.release_segment(part)
    return events


async def read(reader: Any, wanted: int) -> list[str]:
    """The next events of a reader, until there are `wanted` and nothing follows them."""
    events: list[str] = []
    while True:
        fresh = await read_slice(reader)
        events += fresh
        if len(events) >= wanted and not fresh:
            return events


def read_all(manager: Any, scope: str, wanted: int, name: str = "group") -> list[str]:
    """All events of the stream, by a reader group that begins at its head and is deleted afterwards.

    The name of a deleted group cannot be used again: the client takes its state for the new one's, and panics.
    """

    async def run() -> list[str]:
        group = manager.create_reader_group(name, scope, "stream")
        reader = group.create_reader("reader")
        events = await read(reader, wanted)
        reader.reader_offline()
        manager.delete_reader_group(name, scope)
        return events

    return asyncio.run(run())
