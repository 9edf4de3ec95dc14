"""Append round trips with 64 connections through `wiretool serve pravega`, against a bare asyncio server.

    python -m tests.bench.serve [--quick]

Each connection sends one APPEND_BLOCK_END of a 100 B event and waits for its answer before the next. The bare server
answers whatever comes with the same bytes: it parses nothing and keeps nothing. It runs on uvloop, as wiretool does, so
that the ratio, to which the mark belongs, shows what the mock itself costs; and on asyncio's own loop besides. All are
processes of their own and take turns with one client. The exit code is 1 if the median ratio is below its mark.
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
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
#: 60 % of the mark; the median of short rounds lies between 0.50 and 0.56 on a machine of two processors.
MARK_QUICK = 0.3
#: The bare servers, and the one that the mark is for.
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
MARKED = "uvloop"
SEGMENT = "bench/stream/0.#epoch.0"
EVENT = event_frame(bytes(100))
#: Where the number of the event is in the request, from its end: event number, request id.
NUMBER_AT = -16
START_S = 30.0


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short rounds, for CI")
    parser.add_argument("--bare", nargs=2, metavar=("LOOP", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare is not None:
        loop, ready = options.bare
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(be_bare(Path(ready)))
        return 0
    seconds, rounds = (SECONDS_QUICK, ROUNDS_QUICK) if options.quick else (SECONDS, ROUNDS)
    with tempfile.TemporaryDirectory(prefix="bench-serve-") as folder:
        rates = measure(Path(folder), seconds, rounds)
    return judge(rates, MARK_QUICK if options.quick else MARK)


def judge(rates: Mapping[str, Sequence[float]], mark: float) -> int:
    """Print the ratio to each bare server; the exit code."""
    middles = {}
    for loop in LOOPS:
        ratios = [ours / bare for ours, bare in zip(rates["wiretool"], rates[loop], strict=True)]
        middles[loop] = statistics.median(ratios)
        spread = f"median of {len(ratios)}; {min(ratios):.2f} to {max(ratios):.2f}"
        told = f"ratio to bare {loop} {middles[loop]:.2f} ({spread})"
        print(told if loop != MARKED else f"{told}: mark {mark} {'reached' if middles[loop] >= mark else 'MISSED'}")
    return 0 if middles[MARKED] >= mark else 1


def measure(folder: Path, seconds: float, rounds: int) -> dict[str, list[float]]:
    """Round trips a second of each server in each round, printed as they come."""
    own = ["-m", "wiretool", "serve", "pravega", "--listen", "127.0.0.1:0", "--controller", "127.0.0.1:0"]
    commands = {"wiretool": [*own, "--ready-file", str(folder / "wiretool")]}
    for loop in LOOPS:
        commands[loop] = ["-m", "tests.bench.serve", "--bare", loop, str(folder / loop)]
    rates: dict[str, list[float]] = {name: [] for name in commands}
    with ExitStack() as stack:
        clients = {
            name: Client(stack.enter_context(started([sys.executable, *command], folder / name)))
            for name, command in commands.items()
        }
        for number in range(1, rounds + 1):
            for name, client in clients.items():
                rates[name].append(client.run(seconds))
            print(f"round {number}: " + ", ".join(f"{name} {each[-1]:,.0f}/s" for name, each in rates.items()))
        for client in clients.values():
            client.close()
    return rates


@contextmanager
def started(command: list[str], ready: Path) -> Iterator[int]:
    """A server process; gives its port once it says that it is ready."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + START_S
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"no server: {' '.join(command)}")
                time.sleep(0.02)
            yield int(json.loads(ready.read_text())["endpoints"]["store"].rpartition(":")[2])
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
    ready.write_text(json.dumps({"endpoints": {"store": f"127.0.0.1:{port}"}}))
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
