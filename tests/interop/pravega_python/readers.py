"""Reader groups: where they begin, and several readers in one."""

import asyncio
from typing import Any

import pravega_client  # type: ignore[import-not-found,import-untyped,unused-ignore]

from tests.interop.numbered import numbered, seen
from tests.interop.pravega_python.client import BREATH_S, Scenario, prepare, read, read_slice, write

#: Numbers of events that must not be read.
OLD = 10**6


def tail(manager: Any, scope: str, count: int, keys: int) -> dict[str, Any]:
    """A group from the tail: it sees what is written after it was made, and nothing older."""

    async def run() -> list[str]:
        group = manager.create_reader_group("group", scope, "stream", True)
        reader = group.create_reader("reader")
        write(manager, scope, count, keys)
        return await read(reader, count)

    prepare(manager, scope, 2)
    write(manager, scope, count, keys, first=OLD)
    return seen(asyncio.run(run()))


def parked(manager: Any, scope: str, count: int, keys: int) -> dict[str, Any]:
    """A reader that waits at the tail of every segment, and is woken by each event."""

    async def run() -> list[str]:
        reader = manager.create_reader_group("group", scope, "stream").create_reader("reader")
        events = await read_slice(reader)
        writer = manager.create_writer(scope, "stream")
        for key, text in numbered(count, keys):
            slice_coming = asyncio.ensure_future(read_slice(reader))
            await asyncio.sleep(BREATH_S)
            await writer.write_event_async(text, key)
            events += await slice_coming
        return events + await read(reader, count - len(events))

    prepare(manager, scope, 2)
    return seen(asyncio.run(run()))


def handover(manager: Any, scope: str, count: int, keys: int) -> dict[str, Any]:
    """A reader takes one event and goes; the next one reads the others."""

    async def run() -> list[str]:
        group = manager.create_reader_group("group", scope, "stream")
        first = group.create_reader("first")
        part = await first.get_segment_slice_async()
        events = [next(part).data().decode()]
        await asyncio.sleep(BREATH_S)
        first.release_segment(part)
        first.reader_offline()
        return events + await read(group.create_reader("second"), count - 1)

    prepare(manager, scope, 2)
    write(manager, scope, count, keys)
    return seen(asyncio.run(run()))


def two_readers(manager: Any, scope: str, count: int, keys: int) -> dict[str, Any]:
    """Two readers of a group, both at work: the second one gets its segments after about 10 s."""

    async def run() -> tuple[int, list[list[str]]]:
        group = manager.create_reader_group("group", scope, "stream")
        readers = [group.create_reader(name) for name in ("first", "second")]
        shares: list[list[str]] = [[], []]
        written = 0
        while not shares[1] or sum(map(len, shares)) < written:
            if not shares[1]:
                write(manager, scope, count, keys, first=written // keys)
                written += count
            for reader, share in zip(readers, shares, strict=True):
                share += await read_slice(reader)
        return written, shares

    prepare(manager, scope, 4)
    written, shares = asyncio.run(run())
    return {"written": written, "shares": [len(share) for share in shares], **seen(shares[0] + shares[1])}


def groups(manager: Any, scope: str, count: int, keys: int) -> dict[str, Any]:
    """Two groups over two streams: each reads everything."""

    async def run() -> list[list[str]]:
        config = pravega_client.StreamReaderGroupConfig(False, scope, "stream", "other")
        found = []
        for name in ("one", "two"):
            group = manager.create_reader_group_with_config(name, scope, config)
            reader = group.create_reader("reader")
            found.append(await read(reader, count))
            reader.reader_offline()
            manager.delete_reader_group(name, scope)
        return found

    prepare(manager, scope)
    prepare(manager, scope, stream="other")
    writers = [manager.create_writer(scope, stream, 100) for stream in ("stream", "other")]
    for index, (key, text) in enumerate(numbered(count, keys)):
        # With an even number of keys all events of one are in the same stream.
        writers[index % 2].write_event(text, key)
    for writer in writers:
        writer.flush()
    return {"groups": [seen(events) for events in asyncio.run(run())]}


def stream_cut(manager: Any, scope: str, count: int, keys: int) -> dict[str, Any]:
    """A position that a group has stored, and a group that begins there."""

    async def run() -> dict[str, Any]:
        group = manager.create_reader_group("group", scope, "stream")
        reader = group.create_reader("reader")
        await read(reader, count)
        reader.reader_offline()
        cut = group.get_streamcut()
        write(manager, scope, count, keys)
        later = manager.create_reader_group("later", scope, "stream", False, cut)
        events = await read(later.create_reader("reader"), count)
        return {"cut": cut.get_segment_offset_map(), **seen(events)}

    prepare(manager, scope)
    write(manager, scope, count, keys, first=OLD)
    return asyncio.run(run())


SCENARIOS: dict[str, Scenario] = {
    "groups": groups,
    "handover": handover,
    "parked": parked,
    "stream_cut": stream_cut,
    "tail": tail,
    "two_readers": two_readers,
}
