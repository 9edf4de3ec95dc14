"""A thousand clients at once, and one among them that sends nonsense."""

import asyncio
import os
import resource

import pytest

from tests.helpers.runs import hosted, run
from wiretool.net.serving.open_files import raise_open_files
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import AppendBlockEnd, Hello, SetupAppend
from wiretool.protocols.pravega.segments import CreateSegment
from wiretool.protocols.pravega.server.mock import PravegaMock

CLIENTS = 1_000
SEGMENT = "scope/stream/0.#epoch.0"
EVENT = event_frame(b"x" * 20)


def requests_of(writer: str) -> list[bytes]:
    """What a client says: each is answered by one frame."""
    create = CreateSegment(
        request_id=1, segment=SEGMENT, target_rate=0, scale_type=0, delegation_token="", rollover_size_bytes=0
    )
    setup = SetupAppend(request_id=2, writer_id=writer, segment=SEGMENT, delegation_token="")
    append = AppendBlockEnd(
        writer_id=writer,
        size_of_whole_events=len(EVENT),
        data=EVENT,
        num_events=1,
        last_event_number=0,
        request_id=3,
    )
    messages = (Hello(high_version=16, low_version=5), create, setup, append)
    return [encode(message, "client") for message in messages]


def test_a_thousand_connections() -> None:
    """Both ends of each are in this process, so it takes two thousand open files."""
    if raise_open_files(2 * CLIENTS) < 2 * CLIENTS:
        assert not os.environ.get("CI"), "CI has to allow that many"
        pytest.skip(f"the system allows no {2 * CLIENTS} open files: {resource.getrlimit(resource.RLIMIT_NOFILE)}")

    async def story() -> None:
        mock = PravegaMock()
        async with hosted(mock) as (host, address, told):
            clients = [await asyncio.open_connection(*address) for _ in range(CLIENTS)]
            assert len(host.sockets) == CLIENTS
            bad = CLIENTS // 2
            for step in range(4):
                for number, (_, writer) in enumerate(clients):
                    if number != bad:
                        writer.write(requests_of(f"00000000-0000-0000-0000-{number:012x}")[step])
                    elif step == 0:
                        writer.write(bytes(8))
                for number, (reader, _) in enumerate(clients):
                    if number != bad:
                        head = await reader.readexactly(8)
                        await reader.readexactly(int.from_bytes(head[4:], "big"))
            assert await clients[bad][0].read() == b""
            (line,) = told
            assert "closed: " in line
            assert mock.store.segments.info(SEGMENT).length == (CLIENTS - 1) * len(EVENT)
            for _, writer in clients:
                writer.close()

    run(story)
