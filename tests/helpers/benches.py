"""What `wiretool bench` leaves behind, as the tests of its command read it."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

#: What no run here should ever need.
END_S = 90.0


def report(path: Path) -> dict[str, Any]:
    """The JSON report."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def logged(path: Path, tag: str) -> int:
    """How many times an interval log has under a tag, read with HdrHistogram's own reader."""
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000, 3))
    count = 0
    while (histogram := reader.get_next_interval_histogram()) is not None:
        count += histogram.get_total_count() if histogram.get_tag() == tag else 0
    reader.close()
    return count


def wait_for(path: Path, process: "subprocess.Popen[str]", words: str = "") -> None:
    """Until a file that this process writes has something in it, and these words among that."""
    deadline = time.monotonic() + END_S
    while not (path.exists() and (text := path.read_text()) and words in text):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
