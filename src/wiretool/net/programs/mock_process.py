"""A mock server in a process of its own: `wiretool serve`, controlled through its API."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from wiretool.errors import PeerError, UsageError
from wiretool.net.addresses import Address, address_from
from wiretool.net.programs.child import READY_S, child_process, wait_ready
from wiretool.net.serving.control_client import ControlClient
from wiretool.net.serving.mock_thread import RuleCounts
from wiretool.processes import exit_words

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
            command = server_command([*words, "--record", str(record), "--ready-file", str(ready)])
            #: Ends the process; the folder is kept until its log is read.
            self._ending = stack.enter_context(ExitStack())
            self._process = self._ending.enter_context(child_process(command, stderr=self._stderr))
            content = wait_ready(self._process, ready)
            if content is None:
                raise self._why_not_ready()
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

    def _why_not_ready(self) -> PeerError | UsageError:
        status = self._process.poll()
        if status is None:
            return PeerError(f"wiretool serve: not ready within {READY_S:g} s")
        why = "\n".join(self.log).removeprefix("wiretool: ")[-SHOWN_MAX:]
        error = UsageError if status == USAGE else PeerError
        return error(why or f"wiretool serve {exit_words(status)}")

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
        self._ending.close()
        status, lines = self._process.returncode, self.log
        self._last_log = lines
        self._open.close()
        if status or died_early:
            raise PeerError("\n".join([f"wiretool serve {exit_words(status)}", *lines])[-SHOWN_MAX:])


def server_command(words: Sequence[str]) -> list[str]:
    """Return the command of `wiretool serve`, which ends by itself where this process was killed."""
    return [sys.executable, "-m", "wiretool", "serve", *words, "--control", "127.0.0.1:0", "--duration", DURATION]


def _address(text: str) -> Address:
    return address_from(text, option="address")
