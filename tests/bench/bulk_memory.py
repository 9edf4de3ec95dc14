"""What reading in bulk holds at most: whatever the size of the capture, with very many connections, at once or in turn.

    python -m tests.bench.bulk_memory [--quick]

Runs `wiretool stats` and `wiretool decode --format parquet` on each capture in a process of its own, and prints the
largest resident size of that process. The exit code is 1 if one is above the mark, or if it grows with the file as that
of a reader does that holds it; 2 if a run fails.
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.bench.bulk import remove
from tests.bench.decode import ToolFailed
from tests.bench.pravega_appends import Connection, close_connection, hello, make_capture
from tests.bench.segments import ACK, PSH, handshake, segment, write_pcap

MARK_BYTES = 300_000_000
#: How much of what is freed the allocator keeps differs between machines.
MARK_QUICK_BYTES = 400_000_000
#: Appends of 1,000 bytes, six in a packet: bytes of file for each packet, the acks between them included.
EVENT_BYTES, FRAMES = 1_000, 6
PACKET_BYTES = 3_420
SIZES = (100_000_000, 400_000_000, 2_000_000_000)
SIZES_QUICK = (20_000_000, 60_000_000)
#: Bytes that a process may grow by for each byte that the largest file is larger than the smallest. One that holds the
#: file grows by 1 or more; batches that are not full yet in the smallest one make up to 0.6.
GROWTH_MAX = 0.9
FLOWS, FLOWS_QUICK = 10_000, 2_000
FLOW_PACKETS = 20
#: Connections one after another, and how many of them one client has.
SHORT, SHORT_QUICK, CLIENT_CONNECTIONS = 60_000, 5_000, 20_000

COMMANDS = {"stats": ("stats",), "Parquet": ("decode", "--format", "parquet", "-o")}


def main() -> int:
    parser = argparse.ArgumentParser(description="the largest resident size of reading in bulk")
    parser.add_argument("--quick", action="store_true", help="small captures, a higher mark")
    is_quick = parser.parse_args().quick
    try:
        with tempfile.TemporaryDirectory(prefix="bench-memory-") as folder:
            verdicts = list(measure(Path(folder), is_quick))
    except ToolFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 2
    return 0 if all(verdicts) else 1


def measure(folder: Path, is_quick: bool) -> Iterator[bool]:
    """Whether the peaks are within the mark; prints a line for each capture."""
    mark = MARK_QUICK_BYTES if is_quick else MARK_BYTES
    capture = folder / "capture.pcap"
    sizes, peaks = SIZES_QUICK if is_quick else SIZES, []
    for size in sizes:
        make_capture(capture, packets=size // PACKET_BYTES, frames_per_packet=FRAMES, event_bytes=EVENT_BYTES)
        peaks.append(peaks_of(capture, "one connection", mark))
        yield all(peak <= mark for peak in peaks[-1].values())
    yield from is_flat(peaks[0], peaks[-1], sizes[-1] - sizes[0])
    flows = FLOWS_QUICK if is_quick else FLOWS
    make_capture(capture, packets=flows * FLOW_PACKETS, frames_per_packet=FRAMES, connections=flows)
    yield all(peak <= mark for peak in peaks_of(capture, f"{flows:,} connections open at once", mark).values())
    short = SHORT_QUICK if is_quick else SHORT
    make_short_connections(capture, short)
    yield all(peak <= mark for peak in peaks_of(capture, f"{short:,} connections one after another", mark).values())


def is_flat(smallest: Mapping[str, int], largest: Mapping[str, int], more_bytes: int) -> Iterator[bool]:
    """Yield for each command whether it grew by less than a reader does that holds the file."""
    for name in smallest:
        growth = (largest[name] - smallest[name]) / more_bytes
        said = "within" if growth <= GROWTH_MAX else "ABOVE"
        print(f"{name} grew by {growth:.2f} of what the file grew by ({said} {GROWTH_MAX})")
        yield growth <= GROWTH_MAX


def make_short_connections(path: Path, connections: int) -> None:
    """Write a capture of connections that say HELLO both ways and end, each before the next one begins."""
    write_pcap(path, itertools.chain.from_iterable(map(short_connection, range(connections))))


def short_connection(index: int) -> Iterator[bytes]:
    """The packets of one of them."""
    client, number = divmod(index, CLIENT_CONNECTIONS)
    peer = Connection(number)
    peer.client.ip = bytes((10, 0, 1, client))
    yield from handshake(peer.client, peer.server)
    yield segment(peer.client, peer.server, PSH | ACK, hello(15))
    yield segment(peer.server, peer.client, PSH | ACK, hello(17))
    yield from close_connection(peer)


def peaks_of(capture: Path, what: str, mark: int) -> dict[str, int]:
    """Return the largest resident size of each command, printed beside the mark."""
    peaks = {}
    print(f"{capture.stat().st_size:,} bytes, {what}:", end="", flush=True)
    for name, words in COMMANDS.items():
        out = capture.with_suffix(".out")
        more = [str(out)] if words[-1] == "-o" else []
        peak = peaks[name] = peak_of([sys.executable, "-m", "wiretool", words[0], str(capture), *words[1:], *more])
        remove(out)
        said = "within" if peak <= mark else "ABOVE"
        print(f" {name} {peak / 1e6:.0f} MB ({said} {mark / 1e6:.0f})", end="", flush=True)
    print()
    return peaks


def peak_of(command: list[str]) -> int:
    """The largest resident size of a command in bytes; ToolFailed where it ends badly."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ToolFailed(f"{' '.join(command)} ended with {process.returncode}:\n{said.decode(errors='replace')}")
    return usage.ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
