"""Processes of ours that do not outlive this one, and servers in them until they are ready."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

from wiretool.processes import held_interrupts, parent_death_hook

#: Seconds that a server may take to be ready, between two looks, and that a process may take to end after SIGTERM.
READY_S, LOOK_S, END_S = 30.0, 0.01, 15.0


@contextmanager
def child_process(
    command: Sequence[str],
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: IO[bytes] | None = None,
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a process until the block ends, or this process does, if the calling thread lives as long.

    It has a session of its own: Ctrl-C and the end of a terminal reach this process alone, which passes on the signals
    that concern the child.
    """
    child = None
    try:
        with held_interrupts():
            child = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=None if sys.platform == "win32" else parent_death_hook(),
            )
        yield child
    finally:
        if child is not None:
            _end(child)


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Let it end, and make it where it does not."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(OSError):  # it may be gone, with something for it unsent
                pipe.close()
    child.terminate()
    try:
        child.wait(END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def wait_ready(child: "subprocess.Popen[bytes]", ready: Path) -> Mapping[str, Any] | None:
    """Return the content of the ready file of a server; None where it has ended, or is not ready in time."""
    end_s = monotonic() + READY_S
    while not ready.exists():
        if child.poll() is not None or monotonic() > end_s:
            return None
        sleep(LOOK_S)
    content: Mapping[str, Any] = json.loads(ready.read_text())
    return content
