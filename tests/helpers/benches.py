"""What `wiretool bench` leaves behind, as the tests of its command read it."""

import json
import re
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


#: What the reasons of an INVALID run say where only the machine was too busy (load/measure/health.py).
BUSY = ("waited for a processor", "replies lay unread", "the generator sent", "seconds; look for the reason")


def reasons_in(text: str) -> list[str]:
    """Return the reasons that the last verdict of a printed report gives; none of a VALID one."""
    _, _, after = text.rpartition("INVALID: do not quote these figures\n")
    lines = after.splitlines() if "INVALID: " in text else []
    return [line.strip() for line in lines if line.startswith("  ")]


def is_busy(text: str) -> bool:
    """Return whether a printed report is INVALID for no other reason than a busy machine."""
    reasons = reasons_in(text)
    return bool(reasons) and all(any(words in reason for words in BUSY) for reason in reasons)


def is_progress(line: str) -> bool:
    """Return whether a line on standard error says how far a load is."""
    return re.match(r"wiretool: (warming up|reading the backlog|\d+ s of [\d.]+ s): ", line) is not None
