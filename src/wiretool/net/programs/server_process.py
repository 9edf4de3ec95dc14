"""A server program that a command starts, watches, restarts and stops."""

import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress

from wiretool.errors import PeerError, UsageError, system_reason
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.programs.descendants import Descendants, adopted_descendants
from wiretool.net.programs.server_stderr import ServerStderr
from wiretool.processes import exit_words, held_interrupts, parent_death_hook

#: Seconds in which a server must accept connections, and the most that a deadline gives it.
READY_S, READY_S_MAX = 10.0, 60.0
#: Seconds between two tries, and from SIGTERM to SIGKILL.
TRY_S, STOP_S = 0.05, 10.0
#: Seconds from the end of its connections to the end of a server that ends.
DEATH_S = 1.0
#: Seconds for one connection attempt.
CONNECT_S = 1.0


class ServerProcess:
    """One server; it is started and stopped as a context."""

    def __init__(
        self,
        command: str,
        addresses: Sequence[Address],
        *,
        ready_s: float = READY_S,
        more_time: str = "",
        on_left: Callable[[str], None] = lambda text: None,
        is_quiet: bool = False,
    ) -> None:
        """`command` is split as a shell splits words; the server must accept at all `addresses` within `ready_s`.

        `more_time` ends the message that it did not. `on_left` takes the name of each process that was not stopped.
        The stderr of the server is copied to that of wiretool, unless it `is_quiet`; errors have its last lines.
        """
        try:
            self._words = shlex.split(command)
        except ValueError as err:
            why = "a quote or an escape without its end; expected words as for a shell"
            raise UsageError(f"--command {command!r}: {why}") from err
        if not self._words:
            raise UsageError("--command: expected a program and its arguments")
        self._addresses = addresses
        self._ready_s = ready_s
        self._more_time = more_time
        self._on_left = on_left
        self._stderr = ServerStderr(is_quiet=is_quiet)
        self._adoption = ExitStack()
        self._descendants: Descendants | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.restarts = 0
        #: How it ended before it was last started again, in words; empty for never.
        self.last_death = ""
        #: Why it could not be started again; empty while it could.
        self.why_lost = ""

    def __enter__(self) -> "ServerProcess":
        with ExitStack() as stack:
            stack.enter_context(self._stderr.file)
            self._descendants = stack.enter_context(adopted_descendants())
            stack.callback(self._stop)
            self._start()
            self._adoption = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._adoption.close()

    def death(self, *, wait_s: float = 0.0) -> str:
        """Return how the server ended, in words; empty where it still runs after this time.

        A server that ends closes its connections first, so a client may know before its parent does.
        """
        assert self._process is not None
        self._stderr.copy()
        with suppress(subprocess.TimeoutExpired):
            return f"the server {exit_words(self._process.wait(wait_s))}"
        return ""

    def restart(self) -> None:
        """Start it again after its end, unless that failed before."""
        if self.why_lost:
            return
        self.last_death = self.death() or self.last_death
        self._stop()
        self.restarts += 1
        try:
            self._start()
        except PeerError as err:
            self.why_lost = str(err)

    def _start(self) -> None:
        self._stderr.forget()
        for address in self._addresses:
            if _accepts(address):
                raise UsageError(f"--command: {address} is in use already; stop the server there first")
        try:
            with held_interrupts():
                self._process = subprocess.Popen(
                    self._words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._stderr.file,
                    preexec_fn=parent_death_hook(),
                    start_new_session=True,
                )
        except OSError as err:
            raise UsageError(f"--command {self._words[0]}: {system_reason(err)}") from err
        give_up_s = time.monotonic() + self._ready_s
        waiting = list(self._addresses)
        while waiting:
            if death := self.death():
                raise PeerError(f"{death} before it accepted connections at {waiting[0]}{self._stderr.words()}")
            if time.monotonic() > give_up_s:
                self._stop()
                late = f"the server did not accept connections at {waiting[0]} within {self._ready_s:g} s"
                raise PeerError(f"{late}{self._more_time}{self._stderr.words()}")
            if _accepts(waiting[0]):
                waiting.pop(0)
            else:
                time.sleep(TRY_S)

    def _stop(self) -> None:
        """Stop it with all that it started: a server can be the child of a script."""
        process = self._process
        if process is None:
            return
        assert self._descendants is not None
        self._signal(signal.SIGTERM)
        self._descendants.signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        self._signal(signal.SIGKILL)
        process.wait()
        for text in self._descendants.kill():
            self._on_left(text)
        self._stderr.copy()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def free_address() -> Address:
    """Return an address of the loopback whose TCP port is free now."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        return Address(LOOPBACK, listener.getsockname()[1])


def _accepts(address: Address) -> bool:
    try:
        with socket.create_connection(address, CONNECT_S):
            return True
    except OSError:
        return False
