"""A mock server in a process of its own: `wiretool serve`, controlled through its API."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from wiretool.errors import PeerError, UsageError
from wiretool.net.addresses import Address, address_from
from wiretool.net.serving.control_client import ControlClient
from wiretool.net.serving.mock_thread import RuleCounts
from wiretool.processes import exit_words, held_interrupts, parent_death_hook

#: Seconds until it is ready, between two looks, and from SIGTERM to SIGKILL.
READY_S, LOOK_S, STOP_S = 30.0, 0.01, 10.0
#: The longest that a server outlives a process that was killed, on systems that do not end it at once.
DURATION = "1h"
#: The exit code of wrong usage.
USAGE = 2
#: Characters of its stderr in an error.
SHOWN_MAX = 2_000


class MockProcess:
    """`wiretool serve` from the start until `stop`."""

    def __init__(self, words: Sequence[str], *, record: Path) -> None:
        """`words` are those after `wiretool serve`. PeerError, or UsageError, with the reason where it does not start.

        The calling thread has to live as long as the server.
        """
        self._last_log: list[str] = []
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wiretool-")))
            self._stderr = stack.enter_context((folder / "stderr").open("w+b"))
            ready = folder / "ready"
            self._process = start_server([*words, "--record", str(record), "--ready-file", str(ready)], self._stderr)
            stack.callback(self._end)
            content = self._wait_ready(ready)
            self.addresses = {name: _address(text) for name, text in content["endpoints"].items()}
            self._control = ControlClient(_address(content["control"]))
            self._open = stack.pop_all()

    @property
    def log(self) -> list[str]:
        """The lines on its stderr."""
        if self._stderr.closed:
            return self._last_log
        self._stderr.seek(0)
        return self._stderr.read().decode("utf-8", "replace").splitlines()

    def _wait_ready(self, ready: Path) -> Mapping[str, Any]:
        """Return the content of the ready file, once it is there."""
        give_up_s = time.monotonic() + READY_S
        while not ready.exists():
            status = self._process.poll()
            if status is not None:
                why = "\n".join(self.log).removeprefix("wiretool: ")[-SHOWN_MAX:]
                error = UsageError if status == USAGE else PeerError
                raise error(why or f"wiretool serve {exit_words(status)}")
            if time.monotonic() > give_up_s:
                raise PeerError(f"wiretool serve: not ready within {READY_S:g} s")
            time.sleep(LOOK_S)
        found: Mapping[str, Any] = json.loads(ready.read_text())
        return found

    # -- fault rules and operations, as of `MockThread` ------------------------------------------------------------

    def add_rule(self, text: str) -> int:
        """Put a fault rule in force and return its number. UsageError for a bad one."""
        number: int = self._control.ask("POST", "/rules", {"rule": text})["id"]
        return number

    def remove_rule(self, number: int) -> None:
        """Take a fault rule out of force. UsageError where there is none of that number."""
        self._control.ask("DELETE", f"/rules/{number}")

    def count_rules(self) -> dict[int, RuleCounts]:
        """Return the figures of each rule in force, by its number."""
        rows = self._control.ask("GET", "/rules")
        return {row["id"]: RuleCounts(row["matches"], row["hits"], row["failures"], row["why"]) for row in rows}

    def operate(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Change the state of the mock from outside its protocol. UsageError for an unknown operation."""
        result: Mapping[str, Any] = self._control.ask("POST", f"/operations/{name}", dict(arguments))
        return result

    def restart(self) -> None:
        """Reset every connection and forget all state."""
        self._control.ask("POST", "/restart")

    def synchronize(self) -> None:
        """Return after the mock has handled and recorded all bytes that had arrived before this request."""
        self._control.ask("GET", "/connections")

    # -- the end ---------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop it. PeerError with the end of its log where it ended before, or by a failure."""
        died_early = self._process.poll() is not None
        self._end()
        status, lines = self._process.returncode, self.log
        self._last_log = lines
        self._open.close()
        if status or died_early:
            raise PeerError("\n".join([f"wiretool serve {exit_words(status)}", *lines])[-SHOWN_MAX:])

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def start_server(words: Sequence[str], stderr: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Start `wiretool serve`, which ends with this process."""
    command = [sys.executable, "-m", "wiretool", "serve", *words, "--control", "127.0.0.1:0", "--duration", DURATION]
    with held_interrupts():
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            preexec_fn=parent_death_hook(),
            start_new_session=True,
        )


def _address(text: str) -> Address:
    return address_from(text, option="address")
