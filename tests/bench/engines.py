"""How long rows and columns take by the number of connections, and which of them `--engine auto` takes.

    python -m tests.bench.engines [--packets N]

Each engine writes the same capture as NDJSON, in a process of its own; seconds are those of the processor, start-up
included. The exit code is 1 where auto takes the engine that needs half as much time again or more.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.pravega_appends import make_capture
from wiretool.commands.engines import suits_columns

CONNECTIONS = (1, 64, 1_000, 10_000)
#: Auto may take the slower one where the two are about as fast.
RATIO_MAX = 1.5


def cpu_seconds(capture: Path, engine: str, output: Path) -> float:
    """Seconds of the processor that it takes to decode a capture."""
    command = [sys.executable, "-m", "wiretool", "decode", str(capture), "--engine", engine, "--format", "ndjson"]
    before = os.times()
    subprocess.run([*command, "-o", str(output)], check=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=40_000)
    packets = parser.parse_args().packets
    is_good = True
    print("connections   rows s  columns s  rows/columns  auto")
    with tempfile.TemporaryDirectory() as folder:
        capture, output = Path(folder) / "c.pcap", Path(folder) / "out.ndjson"
        for connections in CONNECTIONS:
            make_capture(capture, packets=max(packets, 4 * connections), connections=connections)
            rows, columns = (cpu_seconds(capture, engine, output) for engine in ("rows", "columns"))
            chosen, other = (columns, rows) if suits_columns([capture]) else (rows, columns)
            is_good &= chosen < RATIO_MAX * other
            name = "columns" if chosen is columns else "rows"
            print(f"{connections:>11,} {rows:>8.2f} {columns:>10.2f} {rows / columns:>13.2f}  {name}", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
