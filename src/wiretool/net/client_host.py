"""A client program that runs against a mock server of ours, for as long as it takes or may take."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from wiretool.errors import UsageError
from wiretool.faults import Interceptor, Rule
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.descendants import Descendants, adopted_descendants
from wiretool.net.host import Host
from wiretool.net.loops import fill_standard_streams, loop_factory
from wiretool.net.signals import on_stop
from wiretool.processes import parent_death_hook
from wiretool.servers.mock import Mock
from wiretool.sinks.pcapng import Recording

#: Seconds from SIGTERM to SIGKILL of a client, at most the time of its run, and bytes of its last output that are kept.
STOP_S, OUTPUT_BYTES_MAX = 5.0, 4_000
#: Seconds in which output is read that is in the pipe at the end, and bytes that are read at once.
DRAIN_S, PIECE_BYTES = 0.1, 65_536
#: The environment variable that names the server's address.
ADDRESS_VARIABLE = "WIRETOOL_ADDRESS"


@dataclass(frozen=True, slots=True)
class ClientEnd:
    """How a client program ended."""

    #: Its exit code, negative for a signal; None where it had to be stopped.
    exit_code: int | None
    seconds: float
    #: The end of its output, standard error included.
    output: str
    #: Processes that it started and that could not be stopped, in words.
    left: Sequence[str] = ()
    #: The signal that stopped wiretool meanwhile.
    stopped_by: int | None = None


def run_client(
    command: Sequence[str], mock: Mock, rules: Sequence[Rule], recording: Recording, *, timeout_s: float, seed: int = 0
) -> ClientEnd:
    """Serve `mock` on free ports of the loopback, run a client and record both. UsageError where it cannot start.

    `{address}` and the names of the other endpoints in the words of the command stand for `HOST:PORT`.
    """
    fill_standard_streams()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_run(command, mock, rules, recording, timeout_s, seed))


async def _run(
    command: Sequence[str], mock: Mock, rules: Sequence[Rule], recording: Recording, timeout_s: float, seed: int
) -> ClientEnd:
    host = Host(mock, lambda text: None, interceptor=Interceptor(rules, seed=seed, on_note=lambda text: None))
    host.recording = recording
    recording.begin()
    stopped = asyncio.Event()
    try:
        with on_stop(stopped.set) as came:
            doors = {door.name: await host.listen(door.name, Address(LOOPBACK, 0), None) for door in mock.doors}
            with adopted_descendants() as descendants:
                end = await _client(command, doors, mock.doors[0].name, timeout_s, stopped, descendants)
            return ClientEnd(*end, stopped_by=came[0] if stopped.is_set() and came else None)
    finally:
        await host.stop()


async def _client(
    command: Sequence[str],
    doors: Mapping[str, Address],
    first: str,
    timeout_s: float,
    stopped: asyncio.Event,
    descendants: Descendants,
) -> tuple[int | None, float, str, Sequence[str]]:
    names = {name: str(address) for name, address in doors.items()} | {"address": str(doors[first])}
    words = [filled(word, names) for word in command]
    loop = asyncio.get_running_loop()
    started = loop.time()
    output = _OutputTail()
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output.write_end,
            stderr=asyncio.subprocess.STDOUT,
            env=os.environ | {ADDRESS_VARIABLE: names["address"]},
            preexec_fn=parent_death_hook() if sys.platform == "linux" else None,
            start_new_session=True,
        )
    except OSError as err:
        output.close()
        raise UsageError(f"--client: {words[0]}: {err.strerror}") from err
    output.begin()
    waits = [asyncio.ensure_future(process.wait()), asyncio.ensure_future(stopped.wait())]
    await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    is_late = process.returncode is None
    if is_late:
        descendants.signal(signal.SIGTERM)
        await _stop(process, min(STOP_S, timeout_s))
    waits[1].cancel()
    await waits[0]
    _signal(process, signal.SIGKILL)
    left = descendants.kill()
    text = output.close().decode(errors="replace")
    return None if is_late else process.returncode, loop.time() - started, text, left


class _OutputTail:
    """The end of the output of a client, read from a pipe that a process which lives on may hold open."""

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._kept = bytearray()

    def begin(self) -> None:
        """Read what is written from now on; the client has the other end."""
        os.close(self.write_end)
        self.write_end = -1
        asyncio.get_running_loop().add_reader(self._read_end, self._read)

    def _read(self) -> bool:
        """Read a piece; return whether there was one."""
        try:
            data = os.read(self._read_end, PIECE_BYTES)
        except BlockingIOError:
            return False
        if not data:
            asyncio.get_running_loop().remove_reader(self._read_end)
        self._kept += data
        del self._kept[:-OUTPUT_BYTES_MAX]
        return bool(data)

    def close(self) -> bytes:
        """Return the end of all that is written by now, without waiting for more."""
        if self.write_end >= 0:
            os.close(self.write_end)
        give_up_s = time.monotonic() + DRAIN_S
        while self._read() and time.monotonic() < give_up_s:
            pass
        asyncio.get_running_loop().remove_reader(self._read_end)
        os.close(self._read_end)
        return bytes(self._kept)


async def _stop(process: asyncio.subprocess.Process, stop_s: float) -> None:
    _signal(process, signal.SIGTERM)
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), stop_s)
    if process.returncode is None:
        _signal(process, signal.SIGKILL)


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal to the client and all that it started: a client can be the child of a script."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def filled(word: str, names: Mapping[str, str]) -> str:
    """Return a word of a command with the addresses filled in."""
    for name, address in names.items():
        word = word.replace("{" + name + "}", address)
    return word
