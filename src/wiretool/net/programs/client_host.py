"""A client program that runs against a mock server of ours, for as long as it takes or may take."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from wiretool.errors import UsageError, system_reason
from wiretool.faults import Interceptor, Rule
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.loops import fill_standard_streams, loop_factory
from wiretool.net.programs.descendants import Descendants, adopted_descendants
from wiretool.net.serving.host import Host
from wiretool.net.signals import on_stop
from wiretool.processes import parent_death_hook
from wiretool.server.mock import Mock
from wiretool.sinks.pcapng import Recording

#: Seconds from SIGTERM to SIGKILL of a client, at most the time of its run, and bytes of its last output that are kept.
STOP_S, OUTPUT_BYTES_MAX = 5.0, 4_000
#: Seconds in which output is read that is in the pipe at the end, and bytes that are read at once.
DRAIN_S, PIECE_BYTES = 0.1, 65_536
#: Seconds between two measurements of the memory of a client.
MEASURE_S = 0.05
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
    #: The most memory that was measured of it and its descendants; 0 where it was not measured.
    peak_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ClientWatch:
    """The observation of a client beyond its exit code, and a limit on its memory."""

    #: Resident memory of the client and its descendants at which it is stopped; None to measure nothing.
    memory_max_bytes: int | None = None
    output_bytes: int = OUTPUT_BYTES_MAX
    #: Is called before a client is stopped that did not end in time.
    on_late: Callable[[], None] = lambda: None


def run_client(
    command: Sequence[str],
    mock: Mock,
    rules: Sequence[Rule],
    recording: Recording | None,
    *,
    timeout_s: float,
    seed: int = 0,
    watch: ClientWatch | None = None,
) -> ClientEnd:
    """Serve `mock` on free ports of the loopback, run a client and record both. UsageError where it cannot start.

    `{address}` and the names of the other endpoints in the words of the command stand for `HOST:PORT`.
    """
    fill_standard_streams()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_run(command, mock, rules, recording, timeout_s, seed, watch or ClientWatch()))


async def _run(
    command: Sequence[str],
    mock: Mock,
    rules: Sequence[Rule],
    recording: Recording | None,
    timeout_s: float,
    seed: int,
    watch: ClientWatch,
) -> ClientEnd:
    host = Host(mock, lambda text: None, interceptor=Interceptor(rules, seed=seed, on_note=lambda text: None))
    if recording is not None:
        host.recording = recording
        recording.begin()
    stopped = asyncio.Event()
    try:
        with on_stop(stopped.set) as came:
            doors = {door.name: await host.listen(door.name, Address(LOOPBACK, 0), None) for door in mock.doors}
            with adopted_descendants() as descendants:
                end = await _client(command, doors, mock.doors[0].name, timeout_s, stopped, descendants, watch)
            return replace(end, stopped_by=came[0] if stopped.is_set() and came else None)
    finally:
        await host.stop()


async def _client(
    command: Sequence[str],
    doors: Mapping[str, Address],
    first: str,
    timeout_s: float,
    stopped: asyncio.Event,
    descendants: Descendants,
    watch: ClientWatch,
) -> ClientEnd:
    names = {name: str(address) for name, address in doors.items()} | {"address": str(doors[first])}
    words = [filled(word, names) for word in command]
    loop = asyncio.get_running_loop()
    started = loop.time()
    output = _OutputTail(watch.output_bytes)
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
        raise UsageError(f"--client: {words[0]}: {system_reason(err)}") from err
    output.begin()
    meter = _MemoryMeter(descendants, watch.memory_max_bytes)
    waits: list[asyncio.Future[Any]] = [
        asyncio.ensure_future(each) for each in (process.wait(), stopped.wait(), meter.exceeded())
    ]
    await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    is_late = process.returncode is None
    if is_late:
        watch.on_late()
        descendants.signal(signal.SIGTERM)
        await _stop(process, min(STOP_S, timeout_s))
    for wait in waits[1:]:
        wait.cancel()
    await waits[0]
    _signal(process, signal.SIGKILL)
    left = descendants.kill()
    text = output.close().decode(errors="replace")
    code = None if is_late else process.returncode
    return ClientEnd(code, loop.time() - started, text, left, peak_bytes=meter.peak_bytes)


class _MemoryMeter:
    """Measures the resident memory of processes again and again."""

    def __init__(self, descendants: Descendants, limit_bytes: int | None) -> None:
        self._descendants = descendants
        self._limit_bytes = limit_bytes
        self.peak_bytes = 0

    async def exceeded(self) -> None:
        """Return once the memory is beyond the limit; without a limit, never."""
        if self._limit_bytes is None:
            await asyncio.Event().wait()
            return
        while self.peak_bytes <= self._limit_bytes:
            self.peak_bytes = max(self.peak_bytes, self._descendants.resident_bytes())
            await asyncio.sleep(MEASURE_S)


class _OutputTail:
    """The end of the output of a client, read from a pipe that a process which lives on may hold open."""

    def __init__(self, size: int) -> None:
        """`size` bytes of the end are kept."""
        self._size = size
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
        del self._kept[: -self._size]
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
