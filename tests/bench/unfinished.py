"""What unfinished frames of many connections hold at most: of one, 30 and 200 connections, 15 MB each.

    python -m tests.bench.unfinished [--quick]

Every client sends a Hello and all but the end of a ConditionalAppend of 15 MB, at the same time. Prints the largest
resident size of each command that reads such a capture, and of a mock and a tap with such clients. The exit code is 1
where 200 connections take more than one connection and the bound of limits.py together.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.pravega_appends import Connection, hello
from tests.bench.segments import ACK, PSH, handshake, segment, write_pcap
from wiretool import limits

FRAME_BYTES, FRAME_BYTES_QUICK = 15_000_000, 2_000_000
#: WireCommandType of ConditionalAppend; the length that follows is never reached.
HEAD = (5).to_bytes(4, "big")
PACKET_BYTES = 60_000
CONNECTIONS = (1, 30, 200)
#: Bytes are there twice while the packets of a batch are joined with those before, and an allocator keeps freed ones.
SLACK = 2.5


def main() -> int:
    parser = argparse.ArgumentParser(description="the largest resident size with unfinished frames")
    parser.add_argument("--quick", action="store_true", help="frames of 2 MB")
    frame_bytes = FRAME_BYTES_QUICK if parser.parse_args().quick else FRAME_BYTES
    with tempfile.TemporaryDirectory(prefix="bench-unfinished-") as folder:
        verdicts = [*measure_files(Path(folder), frame_bytes), *measure_servers(frame_bytes)]
    return 0 if all(verdicts) else 1


def frame_pieces(frame_bytes: int) -> Iterator[bytes]:
    """Yield the bytes of a frame without its end, by packet."""
    head = HEAD + frame_bytes.to_bytes(4, "big")
    left = frame_bytes - 1_000
    yield head
    while left > 0:
        yield bytes(min(PACKET_BYTES, left))
        left -= PACKET_BYTES


def capture_packets(connections: int, frame_bytes: int) -> Iterator[bytes]:
    """Yield the packets of clients that all send at the same time."""
    peers = [Connection(index) for index in range(connections)]
    for peer in peers:
        yield from handshake(peer.client, peer.server)
        yield segment(peer.client, peer.server, PSH | ACK, hello(15))
        yield segment(peer.server, peer.client, PSH | ACK, hello(15))
    for piece in frame_pieces(frame_bytes):
        for peer in peers:
            yield segment(peer.client, peer.server, PSH | ACK, piece)


def measure_files(folder: Path, frame_bytes: int) -> Iterator[bool]:
    """Yield for each command whether 200 connections stay within the bound."""
    capture, lake = folder / "capture.pcap", folder / "lake"
    commands = {
        "rows": ["decode", str(capture), "--engine", "rows"],
        "columns": ["decode", str(capture), "--engine", "columns", "--format", "parquet", "-o", str(folder / "out")],
        "pipeline": ["pipeline", "run", str(capture), "-o", str(lake)],
    }
    peaks: dict[str, list[int]] = {name: [] for name in commands}
    for connections in CONNECTIONS:
        write_pcap(capture, capture_packets(connections, frame_bytes))
        shutil.rmtree(lake, ignore_errors=True)
        for name, words in commands.items():
            peaks[name].append(peak_of([sys.executable, "-m", "wiretool", *words]))
    yield from (is_bounded(name, found) for name, found in peaks.items())


def peak_of(command: Sequence[str]) -> int:
    """Return the largest resident size of a command in bytes, its children's included."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_maxrss * 1024


def is_bounded(name: str, peaks: Sequence[int]) -> bool:
    """Print the peaks of a command, and return whether the last one is within the bound."""
    bound = round(peaks[0] + SLACK * limits.UNFINISHED_BYTES_MAX)
    if name == "serve":
        bound = round(peaks[0] + SLACK * limits.MOCK_UNFINISHED_BYTES_MAX)
    verdict = "within" if peaks[-1] <= bound else "ABOVE"
    figures = ", ".join(
        f"{count} connections {peak / 1e6:.0f} MB" for count, peak in zip(CONNECTIONS, peaks, strict=True)
    )
    print(f"{name}: {figures}; {verdict} {bound / 1e6:.0f} MB, {peaks[-1] / bound:.2f} of it", flush=True)
    return peaks[-1] <= bound


def measure_servers(frame_bytes: int) -> Iterator[bool]:
    """Yield for a mock, and a tap before one, whether 200 clients stay within the bound."""
    serve = ["serve", "pravega", "--listen", "127.0.0.1:0"]
    peaks = []
    for connections in CONNECTIONS:
        with Server(serve) as mock:
            send_all(mock.address, connections, frame_bytes)
            peaks.append(mock.peak)
    yield is_bounded("serve", peaks)
    peaks = []
    for connections in CONNECTIONS:
        with Server(serve) as mock:
            tap = Server(["tap", "pravega", "--listen", "127.0.0.1:0", "--upstream", ":".join(map(str, mock.address))])
            with tap:
                send_all(tap.address, connections, frame_bytes)
                peaks.append(tap.peak)
    yield is_bounded("tap", peaks)


class Server:
    """A command that listens, until its block ends."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words

    def __enter__(self) -> "Server":
        command = [sys.executable, "-m", "wiretool", *self._words]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        line = ""
        while (found := re.search(r"127\.0\.0\.1:(\d+)", line)) is None:
            line = self._process.stderr.readline()
            if not line:
                raise SystemExit(f"wiretool {' '.join(self._words)} ended before it listened")
        self.address = ("127.0.0.1", int(found[1]))
        threading.Thread(target=self._process.stderr.read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)

    @property
    def peak(self) -> int:
        """The largest resident size so far in bytes."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024


def send_all(address: tuple[str, int], connections: int, frame_bytes: int) -> None:
    """Send the frame on all connections at the same time, as far as the server takes it."""
    links = [socket.create_connection(address) for _ in range(connections)]
    for link in links:
        link.sendall(hello(15))
    is_open = dict.fromkeys(links, True)
    for piece in frame_pieces(frame_bytes):
        for link in [each for each, yes in is_open.items() if yes]:
            link.settimeout(10)
            try:
                link.sendall(piece)
            except OSError:
                is_open[link] = False
    time.sleep(1)
    for link in links:
        link.close()


if __name__ == "__main__":
    sys.exit(main())
