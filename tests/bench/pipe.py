"""`decode` of a pipe that is always full, against the same file: `python -m tests.bench.pipe [--quick]`.

Both decode by rows. The ratio is one of processor time, the median of several runs; the mark is RATIO_MAX.
"""

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.helpers.captures import pcap_bytes
from wiretool.capture.files.reading import read_packets

CAPTURE = Path(__file__).parents[2] / "captures" / "pravega" / "java_pool4.pcap"
#: A pipe may take so many times the processor time of a file.
RATIO_MAX = 1.15
DECODE = (sys.executable, "-m", "wiretool", "decode", "--format", "ndjson", "--engine", "rows")


def processor_s(command: list[str], *, from_pipe: Path | None = None) -> float:
    """Run a command, with a file in a pipe to its stdin if there is one; return its own processor time in seconds."""
    cat = None if from_pipe is None else subprocess.Popen(["cat", from_pipe], stdout=subprocess.PIPE)
    given = None if cat is None else cat.stdout
    process = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if given is not None:
        given.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if cat is not None:
        cat.wait()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return _seconds(usage)


def _seconds(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def write_capture(path: Path, copies: int) -> None:
    """Write a capture with its packets again and again, a day after one another."""
    packets = list(read_packets([CAPTURE]))
    head = len(pcap_bytes([]))
    with path.open("wb") as out:
        out.write(pcap_bytes([]))
        for copy in range(copies):
            day_ns = copy * 86_400 * 1_000_000_000
            out.write(pcap_bytes([each._replace(time_ns=each.time_ns + day_ns) for each in packets])[head:])


def main() -> int:
    """Print both times and their ratio; return 1 where it is over the mark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smaller capture, fewer runs")
    is_quick = parser.parse_args().quick
    with TemporaryDirectory() as folder:
        capture = Path(folder) / "big.pcap"
        write_capture(capture, 10 if is_quick else 60)
        runs = range(3 if is_quick else 5)
        pairs = [(processor_s([*DECODE, "-"], from_pipe=capture), processor_s([*DECODE, str(capture)])) for _ in runs]
        size_mb = capture.stat().st_size / 1e6
    of_pipe, of_file = (median(times) for times in zip(*pairs, strict=True))
    ratio = median(pipe / file for pipe, file in pairs)
    print(f"{size_mb:.0f} MB: pipe {of_pipe:.2f} s, file {of_file:.2f} s; ratio {ratio:.2f}, at most {RATIO_MAX}")
    return int(ratio > RATIO_MAX)


if __name__ == "__main__":
    sys.exit(main())
