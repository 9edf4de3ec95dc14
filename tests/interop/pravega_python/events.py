"""Writers of events."""

import asyncio
import select
import sys
from typing import Any

from tests.interop.numbered import numbered, seen
from tests.interop.pravega_python.client import Scenario, outcome, prepare, read_all, write


def events(
    manager: Any, scope: str, count: int, keys: int, in_flight: int = 0, segments: int = 1, size_bytes: int = 0
) -> dict[str, Any]:
    """One writer, then one reader."""
    prepare(manager, scope, segments)
    write(manager, scope, count, keys, in_flight, size_bytes)
    return seen(read_all(manager, scope, count))


def retained(manager: Any, scope: str, count: int, size_bytes: int) -> dict[str, Any]:
    """More events of one key than the server keeps, and what is left of them."""
    prepare(manager, scope)
    write(manager, scope, count, 1, size_bytes=size_bytes)
    return seen(read_all(manager, scope, 1))


def flushes(manager: Any, scope: str, count: int, keys: int, every: int) -> dict[str, Any]:
    """A writer that waits for its acknowledgements now and then, and a second one that goes on behind it."""
    prepare(manager, scope)
    writers = [manager.create_writer(scope, "stream", 10) for _ in range(2)]
    for index, (key, text) in enumerate(numbered(count, keys)):
        writer = writers[2 * index // count]
        writer.write_event(text, key)
        if (index + 1) % every == 0:
            writer.flush()
    return seen(read_all(manager, scope, count))


def awaited(manager: Any, scope: str, count: int, keys: int) -> dict[str, Any]:
    """Events whose writing is awaited one by one."""

    async def run() -> None:
        writer = manager.create_writer(scope, "stream")
        for key, text in numbered(count, keys):
            await writer.write_event_async(text, key)

    prepare(manager, scope)
    asyncio.run(run())
    return seen(read_all(manager, scope, count))


def many_writers(manager: Any, scope: str, count: int, keys: int, segments: int) -> dict[str, Any]:
    """A writer for each key, side by side."""
    prepare(manager, scope, segments)
    writers = [manager.create_writer(scope, "stream", 100) for _ in range(keys)]
    for index, (key, text) in enumerate(numbered(count, keys)):
        writers[index % keys].write_event(text, key)
    for writer in writers:
        writer.flush()
    return seen(read_all(manager, scope, count))


def sealed(manager: Any, scope: str, count: int, keys: int) -> dict[str, Any]:
    """A stream that is sealed under its writer: what was stored can be read, what comes later is refused."""
    prepare(manager, scope, 2)
    writer = manager.create_writer(scope, "stream", 1000)
    for key, text in numbered(count, keys):
        writer.write_event(text, key)
    writer.flush()
    is_sealed = manager.seal_stream(scope, "stream")
    outcome(writer.write_event, "key0 -1 too late", "key0")
    late = outcome(writer.flush)
    return {"sealed": is_sealed, "late": late, **seen(read_all(manager, scope, count))}


def until_told(manager: Any, scope: str, keys: int, round_count: int) -> dict[str, Any]:
    """Write round after round until a line comes in, then two more, and read everything: for what others do to it."""
    prepare(manager, scope)
    writer = manager.create_writer(scope, "stream", 100)
    rounds, left = 0, None
    while left != 0:
        for key, text in numbered(round_count, keys, first=rounds * round_count // keys):
            writer.write_event(text, key)
        writer.flush()
        rounds += 1
        if rounds == 1:
            print("writing", flush=True)
        left = _rounds_left(left)
    return {"written": rounds * round_count, **seen(read_all(manager, scope, rounds * round_count))}


def _rounds_left(left: int | None) -> int | None:
    """How many rounds follow; None while nobody has said a word."""
    if left is not None:
        return left - 1
    is_told, _, _ = select.select([sys.stdin], [], [], 0)
    return 2 if is_told else None


def large(manager: Any, scope: str, sizes_bytes: list[int], refused_bytes: int) -> dict[str, Any]:
    """Events of many MiB among small ones, and one beyond the client's own limit."""
    prepare(manager, scope)
    writer = manager.create_writer(scope, "stream")
    for number, size_bytes in enumerate(sizes_bytes):
        writer.write_event(f"key0 {number} ".ljust(size_bytes, "x"), "key0")
    refusal = outcome(writer.write_event, "x" * refused_bytes, "key0")
    writer.flush()
    read = read_all(manager, scope, len(sizes_bytes))
    return {"refusal": refusal, "sizes_bytes": [len(text) for text in read], **seen(read)}


def only_read(manager: Any, scope: str, count: int) -> dict[str, Any]:
    """Read what others have written."""
    return seen(read_all(manager, scope, count))


SCENARIOS: dict[str, Scenario] = {
    "awaited": awaited,
    "events": events,
    "flushes": flushes,
    "large": large,
    "many_writers": many_writers,
    "only_read": only_read,
    "retained": retained,
    "sealed": sealed,
    "until_told": until_told,
}
