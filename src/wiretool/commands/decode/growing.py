"""Pipes that are read while another program still writes to them, as `tcpdump -U -w -` does."""

import os
import queue
import select
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from stat import S_ISCHR, S_ISFIFO, S_ISSOCK
from typing import Any, BinaryIO, NamedTuple, Self, cast

from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet, Tick
from wiretool.capture.tls.keylog import KeyLog
from wiretool.errors import UnopenedError, why_unreadable
from wiretool.limits import UNDECIDED_NS_MAX

#: What a pipe gave is settled once the pipe was empty for so long since, in one pause or in many short ones: a live
#: source may never pause. The pipe of a file is not empty, so that its records do not depend on the time they take.
SETTLED_S = 0.15
#: Arrivals whose pauses differ by less are settled together.
MARK_S = 0.02
#: Packets read so soon after their capture are of a live source, which may never pause.
FRESH_NS, TICK_NS = 2_000_000_000, 30_000_000
#: Packets given to the main thread at once, and how many such batches may wait there.
BATCH_PACKETS, BATCHES_MAX = 256, 8
#: How often a thread that cannot hand over packets looks whether anybody still reads them.
POLL_S = 0.1

Source = Path | BinaryIO


@contextmanager
def growing_packets(
    sources: Sequence[Source], on_wait: Callable[[], None], keys: KeyLog | None = None
) -> Iterator[Iterator[Packet | Tick]]:
    """Give the packets of all sources; where pipes are among them, also the ticks of a live source.

    Before it waits for a pipe, it calls `on_wait`. `keys` gets the secrets of TLS connections in the sources.
    """
    if not any(map(_is_pipe, sources)):
        yield read_packets(sources, keys)
        return
    with ExitStack() as stack:
        reader = stack.enter_context(_Reader(keys))
        reader.start([_growing(source, reader.wait, stack) for source in sources])
        yield reader.packets(on_wait)


class GrowingInput:
    """A pipe as a binary stream that calls `wait` before each read."""

    def __init__(self, stream: Any, name: str, wait: Callable[[Any], None], head: bytes = b"") -> None:
        self.name = name
        self._stream = stream
        self._wait = wait
        #: Bytes already taken from the pipe: the system does not report them as readable.
        self._head = head

    def read1(self, size: int) -> bytes:
        """Return the bytes that are there, at most `size`; wait where there are none."""
        if self._head:
            head, self._head = self._head[:size], self._head[size:]
            return head
        self._wait(self._stream)
        data: bytes = self._stream.read(size)
        return data


class _Batch(NamedTuple):
    """Packets from the reading thread, and whether the pipe had no more when they were sent."""

    packets: list[Packet | Tick]
    is_waiting: bool


class _Stopped(Exception):
    """Ends the reading thread: its packets are no longer needed."""


class _Reader:
    """Reads packets in a thread: a pause of the source can be seen only while another thread waits for bytes."""

    def __init__(self, keys: KeyLog | None) -> None:
        self._keys = keys
        #: None is the last arrival.
        self._arrivals: queue.Queue[_Batch | None] = queue.Queue(BATCHES_MAX)
        self._thread = ThreadPoolExecutor(1)
        self._reading: Future[None] = Future()
        self._is_stopped = False
        self._stop_in, self._stop_out = os.pipe()
        self._batch: list[Packet | Tick] = []
        self._newest_ns = self._ticked_ns = 0
        #: For how long the pipes were empty; for arrivals that are not settled, what it was then and the newest time.
        self._waited_s = 0.0
        self._marks: deque[tuple[float, int]] = deque()
        self._is_marked = True

    # -- in the main thread ----------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the thread, and wait for it: it must not read from a stream that is closed next."""
        self._is_stopped = True
        os.write(self._stop_out, b"x")
        self._thread.shutdown()
        os.close(self._stop_in)
        os.close(self._stop_out)

    def start(self, sources: Sequence[Source]) -> None:
        """Begin to read."""
        self._reading = self._thread.submit(self._run, sources)

    def packets(self, on_wait: Callable[[], None]) -> Iterator[Packet | Tick]:
        """Yield packets and ticks; raise the error of the reading thread after its last packet."""
        while (arrival := self._arrivals.get()) is not None:
            yield from arrival.packets
            if arrival.is_waiting and self._arrivals.empty():
                on_wait()
        self._reading.result()

    # -- in the reading thread -------------------------------------------------------------------------------------

    def _run(self, sources: Sequence[Source]) -> None:
        with suppress(_Stopped):
            try:
                self._read(sources)
            finally:
                self._hand_over()
                self._send(None)

    def _read(self, sources: Sequence[Source]) -> None:
        for packet in read_packets(sources, self._keys):
            self._batch.append(packet)
            self._newest_ns = max(self._newest_ns, packet.time_ns)
            self._is_marked = False
            if len(self._batch) >= BATCH_PACKETS:
                self._hand_over()

    def wait(self, stream: Any) -> None:
        """Wait until the stream has bytes, or has ended; hand over all packets before, and settle what is due."""
        if _ready([stream], 0):
            return
        self._hand_over(is_waiting=True)
        self._mark()
        ready: list[Any] | None = []
        while ready == []:
            since_s = time.monotonic()
            ready = _ready([stream, self._stop_in], self._due_s())
            self._waited_s += time.monotonic() - since_s
            self._settle()
        if self._is_stopped:
            raise _Stopped

    def _mark(self) -> None:
        """Note the packets that arrived since the last mark."""
        if self._is_marked:
            return
        self._is_marked = True
        waited_s = self._waited_s
        if self._marks and waited_s < self._marks[-1][0] + MARK_S:
            waited_s, _ = self._marks.pop()
        self._marks.append((waited_s, self._newest_ns))

    def _due_s(self) -> float | None:
        """Return the time until the next packets are settled; None where all are."""
        return max(self._marks[0][0] + SETTLED_S - self._waited_s, 0.0) if self._marks else None

    def _settle(self) -> None:
        """Send a tick where packets arrived long enough ago."""
        settled_ns = None
        while self._marks and self._marks[0][0] + SETTLED_S <= self._waited_s:
            _, settled_ns = self._marks.popleft()
        if settled_ns is not None:
            self._batch.append(Tick(settled_ns + UNDECIDED_NS_MAX))
            self._hand_over(is_waiting=True)

    def _hand_over(self, *, is_waiting: bool = False) -> None:
        """Send the packets read so far, with a tick where they were captured just now."""
        if self._batch and self._is_tick_due():
            self._ticked_ns = self._newest_ns
            self._batch.append(Tick(self._newest_ns))
        if self._batch or is_waiting:
            batch, self._batch = self._batch, []
            self._send(_Batch(batch, is_waiting))

    def _is_tick_due(self) -> bool:
        return self._newest_ns >= self._ticked_ns + TICK_NS and abs(time.time_ns() - self._newest_ns) < FRESH_NS

    def _send(self, arrival: _Batch | None) -> None:
        while not self._is_stopped:
            try:
                self._arrivals.put(arrival, timeout=POLL_S)
            except queue.Full:
                continue
            return
        raise _Stopped


def _growing(source: Source, wait: Callable[[Any], None], stack: ExitStack) -> Source:
    if not _is_pipe(source):
        return source
    if not isinstance(source, Path):
        return cast(BinaryIO, _unbuffered(source, wait))
    try:
        stream = stack.enter_context(source.open("rb", buffering=0))
    except OSError as err:
        raise UnopenedError(str(source), why_unreadable(err)) from err
    return cast(BinaryIO, GrowingInput(stream, str(source), wait))


def _unbuffered(stream: BinaryIO, wait: Callable[[Any], None]) -> GrowingInput:
    """Return an input that bypasses the stream's buffer, where a wait for the pipe would overlook bytes."""
    if not isinstance(stream, BufferedReader):
        return GrowingInput(stream, stream.name, wait)
    return GrowingInput(stream.raw, stream.name, wait, head=stream.read1(len(stream.peek(1))))


def _is_pipe(source: Source) -> bool:
    try:
        mode = os.stat(source).st_mode if isinstance(source, Path) else os.fstat(source.fileno()).st_mode
    except OSError:
        return False
    return S_ISFIFO(mode) or S_ISSOCK(mode) or (S_ISCHR(mode) and not isinstance(source, Path))


def _ready(streams: list[Any], timeout_s: float | None) -> list[Any] | None:
    """Return the streams that can be read without waiting; None where the system cannot tell."""
    try:
        return select.select(streams, [], [], timeout_s)[0]
    except (OSError, ValueError):
        return None
