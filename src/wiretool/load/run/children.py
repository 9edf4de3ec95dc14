"""The processes of a run: the mock server where no target is named, and the load processes.

None of them outlives this process.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from wiretool.errors import PeerError
from wiretool.faults.applied import NEVER_APPLIED
from wiretool.load.measure.intervals import Orders, Said
from wiretool.load.part import load_part
from wiretool.load.run.bench_folder import working_folder
from wiretool.net.addresses import Address, address_from
from wiretool.net.programs.child import child_process, wait_ready

#: A mock that is left alone ends so long after the run would have.
ALONE_S = 120.0

_SAID = msgspec.json.Decoder(Said)
#: What stands before each line of the log.
_PREFIX = "wiretool: "
_WIRETOOL = (sys.executable, "-m", "wiretool")


class Mock(NamedTuple):
    """A server of ours in a process of its own."""

    address: Address
    pid: int


@contextmanager
def mock_server(
    protocol: str,
    *,
    seed: int,
    faults: Sequence[str],
    run_s: float,
    feed_per_s: float = 0.0,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[Mock]:
    """Run `wiretool serve` on free ports until the block ends; then `tell` which fault rules never applied.

    PeerError where it does not get ready.
    """
    with working_folder(tell) as folder:
        ready, log = folder / "ready.json", folder / "log"
        command = [*_WIRETOOL, "serve", protocol, "--listen", "127.0.0.1:0", "--seed", str(seed)]
        command += ["--ready-file", str(ready), "--duration", str(run_s + ALONE_S)]
        command += [word for rule in faults for word in ("--fault", rule)]
        command += load_part(protocol).mock_options
        command += ["--rate", str(feed_per_s)] if feed_per_s else []
        with log.open("wb") as errors, child_process(command, stderr=errors) as child:
            doors = _ready(child, ready, log)
            yield Mock(address_from(next(iter(doors.values())), option="--listen"), child.pid)
        for line in log.read_text(errors="replace").splitlines():
            if NEVER_APPLIED in line:
                tell(line.removeprefix(_PREFIX))


def _ready(child: "subprocess.Popen[bytes]", ready: Path, log: Path) -> dict[str, str]:
    """Return the address of each endpoint of a server by its name, once it is ready."""
    content = wait_ready(child, ready)
    if content is None:
        lines = log.read_text(errors="replace").strip().splitlines()
        raise PeerError(f"the mock did not get ready: {lines[-1] if lines else 'it said nothing'}")
    endpoints: dict[str, str] = content["endpoints"]
    return endpoints


class Load:
    """A load process: what it says, and how it is stopped."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self._child = child

    def order(self, orders: Orders) -> None:
        """Let it begin."""
        assert self._child.stdin is not None
        self._child.stdin.write(msgspec.json.encode(orders) + b"\n")
        self._child.stdin.flush()

    def next(self) -> Said | None:
        """The next that it says; None once it says no more."""
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        return _SAID.decode(line) if line else None

    def stop(self) -> None:
        """Ask it to end the run early; what it measured it still says, if it has come as far as that."""
        self._child.terminate()


@contextmanager
def load_process(*, is_silent: bool = False) -> Iterator[Load]:
    """A process in which Locust runs, until the block ends; a silent one is told its orders and says nothing here."""
    command = [sys.executable, "-m", "wiretool.load.run.process"]
    stdout = subprocess.DEVNULL if is_silent else subprocess.PIPE
    with child_process(command, stdin=subprocess.PIPE, stdout=stdout) as child:
        yield Load(child)
