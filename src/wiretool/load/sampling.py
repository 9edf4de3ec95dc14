"""What a server uses while it is loaded: processors and memory of a process on this machine."""

from typing import NamedTuple

import psutil

from wiretool.errors import UsageError


class Sample(NamedTuple):
    """Since the last one: processors used. Now: bytes of memory."""

    cpu: float
    bytes: int


class Sampler:
    """Watches a process. UsageError where there is none of that number, or it may not be watched."""

    def __init__(self, pid: int) -> None:
        try:
            self._process = psutil.Process(pid)
            self._process.cpu_percent()
        except psutil.Error as err:
            raise UsageError(f"--sample-pid {pid}: {err.msg or type(err).__name__}") from err

    def sample(self) -> Sample | None:
        """What it uses; None once it is gone."""
        try:
            with self._process.oneshot():
                return Sample(self._process.cpu_percent() / 100, self._process.memory_info().rss)
        except psutil.Error:
            return None
