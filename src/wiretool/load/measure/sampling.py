"""What a server uses while it is loaded: processors and memory of a process on this machine."""

from contextlib import suppress
from time import monotonic
from typing import NamedTuple

import psutil

from wiretool.errors import UsageError


class Sample(NamedTuple):
    """Since the last one: processors used. Now: bytes of memory."""

    cpu: float
    bytes: int


#: Over less than this a share of a processor says nothing: the system counts in hundredths of a second.
SAMPLED_MIN_S = 0.2


class Sampler:
    """Watches a process. UsageError where there is none of that number, or it may not be watched."""

    def __init__(self, pid: int) -> None:
        #: Processors used, when that was asked last.
        self._cpu = 0.0
        self._since_s = monotonic()
        try:
            self._process = psutil.Process(pid)
            self._process.cpu_percent()
        except psutil.Error as err:
            raise UsageError(f"--sample-pid {pid}: {err.msg or type(err).__name__}") from err

    def begin(self) -> None:
        """From here on what it uses is counted."""
        with suppress(psutil.Error):  # it may be gone by now, which shows in what is asked next
            self._process.cpu_percent()
        self._since_s = monotonic()

    def sample(self) -> Sample | None:
        """What it uses; None once it is gone, be it that nobody has taken note of that yet."""
        try:
            with self._process.oneshot():
                if self._process.status() == psutil.STATUS_ZOMBIE:
                    return None
                if monotonic() - self._since_s >= SAMPLED_MIN_S:
                    self._cpu = self._process.cpu_percent() / 100
                    self._since_s = monotonic()
                return Sample(self._cpu, self._process.memory_info().rss)
        except psutil.Error:
            return None
