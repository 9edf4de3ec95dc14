"""Processes that a program started, those in sessions of their own included: found and stopped with it."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import psutil

#: prctl(2): processes whose parent ends become children of this process.
PR_SET_CHILD_SUBREAPER = 36
#: Seconds for killed processes to end, and rounds of killing: a process may start others meanwhile.
KILL_S, ROUNDS = 1.0, 5
#: Characters of a command line in a message.
COMMAND_MAX = 80


class Descendants:
    """The processes that this process has started, directly or not, since the beginning of a block."""

    def __init__(self) -> None:
        self._earlier = set(_children())

    def find(self) -> Sequence[psutil.Process]:
        """Return those that live."""
        return [each for each in _children() if each not in self._earlier and _is_alive(each)]

    def resident_bytes(self) -> int:
        """Return the resident memory of all of them together."""
        return sum(map(_resident_bytes, self.find()))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all of them."""
        for process in self.find():
            with suppress(psutil.Error):
                process.send_signal(number)

    def kill(self) -> Sequence[str]:
        """Kill them and what they start meanwhile; return those that live on, in words."""
        for _ in range(ROUNDS):
            left = self.find()
            if not left:
                break
            self.signal(signal.SIGKILL)
            give_up_s = time.monotonic() + KILL_S / ROUNDS
            while any(map(_is_alive, left)) and time.monotonic() < give_up_s:
                time.sleep(0.005)
        self._reap()
        return [_words(process) for process in self.find()]

    def _reap(self) -> None:
        """Take the exit codes of orphans, which became children of this process."""
        for process in _children():
            if process in self._earlier or _is_alive(process):
                continue
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


@contextmanager
def adopted_descendants() -> Iterator[Descendants]:
    """Give the processes that are started in the block; on Linux, orphans stay below this process as well."""
    with _subreaper():
        yield Descendants()


@contextmanager
def _subreaper() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    from ctypes import CDLL

    prctl = CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _children() -> list[psutil.Process]:
    return list(psutil.Process().children(recursive=True))


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _words(process: psutil.Process) -> str:
    try:
        command = " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        command = "unknown command"
    return f"process {process.pid} could not be stopped: {command[:COMMAND_MAX]}"
