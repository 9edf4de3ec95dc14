"""Append round trips with 64 connections through `wiretool serve pravega`, against a bare asyncio server.

    python -m tests.bench.serve [--quick]

Each connection sends one APPEND_BLOCK_END of a 100 B event and waits for its answer before the next. The bare server
answers whatever comes with the same bytes, on the same event loop (uvloop): it parses nothing and keeps nothing. Both
are processes of their own and take turns with one client. The exit code is 1 if the median ratio is below MARK.
"""

import argparse
import asyncio
import json
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import AppendBlockEnd, DataAppended, Hello, SetupAppend
from wiretool.protocols.pravega.segments import CreateSegment

CONNECTIONS = 64
SECONDS, SECONDS_QUICK = 2.0, 0.5
ROUNDS, ROUNDS_QUICK = 7, 3
MARK = 0.5
SEGMENT = "bench/stream/0.#epoch.0"
EVENT = event_frame(bytes(100))
#: Where the number of the event is in the request, from its end: event number, request id.
NUMBER_AT = -16
START_S = 30.0


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short rounds, for CI")
    parser.add_argument("--bare", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare is not None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(be_bare(options.bare))
        return 0
    seconds, rounds = (SECONDS_QUICK, ROUNDS_QUICK) if options.quick else (SECONDS, ROUNDS)
    with tempfile.TemporaryDirectory(prefix="bench-serve-") as folder:
        ratios = measure(Path(folder), seconds, rounds)
    middle = statistics.median(ratios)
    verdict = "reached" if middle >= MARK else "MISSED"
    print(f"ratio {middle:.2f} (median of {rounds}; {min(ratios):.2f} to {max(ratios):.2f}): mark {MARK} {verdict}")
    return 0 if middle >= MARK else 1


def measure(folder: Path, seconds: float, rounds: int) -> list[float]:
    """The ratio of each round, printed as it comes."""
    ours = [
        sys.executable,
        "-m",
        "wiretool",
        "serve",
        "pravega",
        "--listen",
        "127.0.0.1:0",
        "--controller",
        "127.0.0.1:0",
    ]
    bare = [sys.executable, "-m", "tests.bench.serve", "--bare", str(folder / "bare")]
    ratios = []
    with (
        started([*ours, "--ready-file", str(folder / "ours")], folder / "ours") as mock,
        started(bare, folder / "bare") as peer,
    ):
        clients = [Client(mock), Client(peer)]
        for number in range(1, rounds + 1):
            rates = [client.run(seconds) for client in clients]
            ratios.append(rates[0] / rates[1])
            print(f"round {number}: wiretool {rates[0]:,.0f}/s, bare {rates[1]:,.0f}/s, ratio {ratios[-1]:.2f}")
        for client in clients:
            client.close()
    return ratios


@contextmanager
def started(command: list[str], ready: Path) -> Iterator[int]:
    """A server process; gives its port once it says that it is ready."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + START_S
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"no server: {' '.join(command)}")
                time.sleep(0.02)
            yield int(json.loads(ready.read_text())["doors"]["store"].rpartition(":")[2])
        finally:
            process.terminate()


class Client:
    """Connections that each have one append under way."""

    def __init__(self, port: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
        self._requests: list[bytes] = []
        self._numbers = [0] * CONNECTIONS
        hello = Hello(high_version=16, low_version=5)
        create = CreateSegment(
            request_id=1, segment=SEGMENT, scale_type=0, target_rate=0, delegation_token="", rollover_size_bytes=0
        )
        for index, each in enumerate(self._sockets):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            writer = f"00000000-0000-0000-0000-{index:012x}"
            setup = SetupAppend(request_id=2, writer_id=writer, segment=SEGMENT, delegation_token="")
            for message in (hello, create, setup):
                each.sendall(encode(message, "client"))
                each.recv(65536)
            request = AppendBlockEnd(
                writer_id=writer,
                size_of_whole_events=len(EVENT),
                data=EVENT,
                num_events=1,
                last_event_number=0,
                request_id=3,
            )
            self._requests.append(encode(request, "client"))
            self._selector.register(each, selectors.EVENT_READ, index)

    def run(self, seconds: float) -> float:
        """Round trips a second."""
        for index in range(CONNECTIONS):
            self._send(index)
        done, begin = 0, time.perf_counter()
        while (now := time.perf_counter()) < begin + seconds:
            for key, _ in self._selector.select(1.0):
                key.fileobj.recv(4096)  # type: ignore[union-attr]
                self._send(key.data)
                done += 1
        for each in self._sockets:
            each.recv(4096)
        return done / (now - begin)

    def _send(self, index: int) -> None:
        self._numbers[index] += 1
        request = self._requests[index]
        number = self._numbers[index].to_bytes(8, "big")
        self._sockets[index].sendall(request[:NUMBER_AT] + number + request[NUMBER_AT + 8 :])

    def close(self) -> None:
        """Hang up."""
        for each in self._sockets:
            each.close()


async def be_bare(ready: Path) -> None:
    """The bare server: the same answer to everything."""
    answer = encode(
        DataAppended(
            writer_id="00000000-0000-0000-0000-000000000000",
            event_number=1,
            previous_event_number=0,
            request_id=3,
            current_segment_write_offset=108,
        ),
        "server",
    )

    class Bare(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.transport.write(answer)  # type: ignore[attr-defined]

    server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    ready.write_text(json.dumps({"doors": {"store": f"127.0.0.1:{port}"}}))
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
