"""What finding the joints of a capture takes, against reading its segments, and what reading them with marks takes.

    python -m tests.bench.index [--quick]

Both read the same pcap file of 500 MB in turn; the first line is of packets of a few hundred bytes, the second of the
full size. The exit code is 1 if the index takes longer than MARK_MAX of the reading.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.pravega_appends import make_capture
from wiretool.capture.columns.segments import read_segment_tables
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.index.build import FileIndex, index_of, read_range

SIZE, SIZE_QUICK = 500_000_000, 50_000_000
FILE_HEADER_BYTES = 24
ROUNDS = 3
MARK_MAX = 1.2


def main() -> int:
    parser = argparse.ArgumentParser(description="the time of an index")
    parser.add_argument("--quick", action="store_true", help="a small capture")
    size = SIZE_QUICK if parser.parse_args().quick else SIZE
    with tempfile.TemporaryDirectory(prefix="bench-index-") as folder:
        verdicts = [measure(Path(folder) / "capture.pcap", size, frames) for frames in (1, 6)]
    return 0 if all(verdicts) else 1


def measure(capture: Path, size: int, frames: int) -> bool:
    """Whether the index is within the mark; prints a line."""
    make_long_capture(capture, size, frames)
    index = index_of(capture, cache=False)
    ways: list[Callable[[], object]] = [
        lambda: index_of(capture, cache=False),
        lambda: sum(len(table) for table in read_segment_tables(read_packet_tables([capture]))),
        lambda: segments_of(capture, index),
    ]
    rounds = [[timed(way) for way in ways] for _ in range(ROUNDS)]
    of_index, of_segments, of_ranges = (min(times) for times in zip(*rounds, strict=True))
    ratio: float = of_index / of_segments
    print(
        f"{size // 10**6} MB, {index.packets:,} packets: index {of_index:.2f} s, {ratio:.2f} of reading the segments "
        f"({of_segments:.2f} s; with marks {of_ranges / of_segments:.2f}); the mark is {MARK_MAX}"
    )
    return ratio <= MARK_MAX


def segments_of(capture: Path, index: FileIndex) -> int:
    return sum(len(part.table) for part in read_range(capture, index))


def timed(way: Callable[[], object]) -> float:
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


def make_long_capture(path: Path, size: int, frames: int) -> None:
    """The same packets again and again: their times go back, which costs nobody anything."""
    make_capture(path, packets=20_000, frames_per_packet=frames, event_bytes=100 if frames == 1 else 1_000)
    records = path.read_bytes()[FILE_HEADER_BYTES:]
    with path.open("ab") as file:
        for _ in range(size // len(records)):
            file.write(records)


if __name__ == "__main__":
    sys.exit(main())
