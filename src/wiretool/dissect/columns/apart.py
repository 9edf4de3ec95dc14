"""Iterators that run in a process of their own, some items ahead of whoever takes them.

Each item crosses as a pickle in memory that both processes share. Its arrays stay there: who takes the item looks at
them in place, and the memory is used again once nobody does. Where processes cannot be forked (Windows), everything
happens in one: the items are the same.
"""

import os
import pickle
import signal
import sys
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from mmap import mmap
from multiprocessing.connection import Connection, Pipe
from multiprocessing.context import ForkContext, ForkProcess
from typing import Any, TypeVar

import numpy as np

from wiretool.errors import Killed, WiretoolError
from wiretool.processes import STOP_SIGNALS, parent_death_hook

T = TypeVar("T")

#: Shared blocks, and bytes of each: a table of a capture with all its columns, or the batch that is made of it. What is
#: larger crosses in the pipe. Of a block only what an item filled takes memory.
BLOCKS, BLOCK_BYTES = 5, 48 * 1024 * 1024
#: Blocks that are left to the other process whatever happens: one is filled while the other one crosses.
BLOCKS_MOVING = 2
#: Blocks in the hands of the process that takes items from which on it has enough to do.
BLOCKS_AHEAD = 2
#: Where arrays begin: at a multiple of this.
ALIGNED_BYTES = 64
#: Seconds that the other process is given to end by itself.
PATIENCE_S = 1.0
#: The exit code of a process that was told to end.
ENDED = 128 + signal.SIGTERM
#: What crosses the pipe in front of the items: an item, the end, what ended it early.
_ITEM, _END, _ERROR = "item", "end", "error"


def may_run_apart() -> bool:
    """Whether there are processes that share what this one has read."""
    return hasattr(os, "fork") and sys.platform != "darwin"


def apart(
    make: Callable[[], Iterator[T]], advice: str = "", *, finish: Callable[[T, bool], T] | None = None
) -> Generator[T]:
    """The items of `make()`, which is called in another process; its WiretoolError is raised here, in its turn.

    Killed, with that advice, where that process is, behind the items that came before. The other process calls `finish`
    on each item before it crosses, and says whether this one has items left to take: then it may take over some of the
    work that is done here.

    The other process ends with this iterator, and with this process and the calling thread, however they end. Items
    stay valid afterwards.
    """
    if not may_run_apart():
        yield from make()
        return
    blocks = [mmap(-1, BLOCK_BYTES) for _ in range(BLOCKS)]
    (items, sent), (freed, free) = Pipe(duplex=False), Pipe(duplex=False)
    arguments = make, finish, (items, free), _Sender(sent, freed, blocks), parent_death_hook()
    process = ForkContext().Process(target=_run, args=arguments)
    with _no_interrupts():  # the child changes their handlers first
        process.start()
    sent.close()
    freed.close()
    try:
        yield from _received(items, _Blocks(blocks, free), process, advice)
    finally:
        items.close()
        free.close()
        try:
            process.join(PATIENCE_S)
        finally:  # also where this process is told to end meanwhile
            if process.is_alive():  # it waits for input that may never come
                process.terminate()
                process.join()


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Defer stop signals to the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Page:
    """A block as a file that is read or written once, from its beginning on."""

    def __init__(self, block: mmap) -> None:
        self._view = memoryview(block)
        self.at = 0

    def write(self, data: Any) -> None:
        """Add bytes; _Full where there is no room for them."""
        with memoryview(data) as raw:
            start, self.at = self.at, self.at + raw.nbytes
            if self.at > len(self._view):
                raise _Full
            self._view[start : self.at] = raw

    def align(self) -> None:
        """Go on where an array may begin."""
        self.at += -self.at % ALIGNED_BYTES

    def readinto(self, out: Any) -> int:
        """Fill `out` with the next bytes."""
        start, self.at = self.at, self.at + len(out)
        out[:] = self._view[start : self.at]
        return len(out)

    def read(self, size: int) -> bytes:
        """The next bytes."""
        start, self.at = self.at, self.at + size
        return bytes(self._view[start : self.at])

    def readline(self) -> bytes:
        """The next line: what a pickle of this form has none of."""
        raise pickle.UnpicklingError("a line in a pickle of protocol 5")


class _Full(Exception):
    """A block has no room for an item."""


# -- this process ------------------------------------------------------------------------------------------------------


def _received(items: Connection, blocks: "_Blocks", process: ForkProcess, advice: str) -> Iterator[Any]:
    while True:
        try:
            kind, place, spans = items.recv()
            item = blocks.item(place, spans) if place >= 0 else pickle.loads(items.recv_bytes())
        except (EOFError, OSError) as err:
            raise _failure(process, advice) from err
        if kind == _END:
            return
        if kind == _ERROR:
            raise item
        yield item
        del item  # or its block would be in use until the next one is there


def _failure(process: ForkProcess, advice: str) -> Exception:
    """Why the other process has ended before the items have."""
    process.join()
    code = process.exitcode or 0
    if code < 0 or code == ENDED:
        return Killed("a reading process", signal.SIGTERM if code == ENDED else -code, advice)
    return RuntimeError(f"the reading process ended with {code}")


class _Blocks:
    """The items in blocks; a block goes back once nobody looks at what was in it."""

    def __init__(self, blocks: Sequence[mmap], free: Connection) -> None:
        self._blocks = blocks
        self._free = free
        #: Blocks that somebody looks at.
        self._held: set[int] = set()

    def item(self, place: int, spans: Sequence[tuple[int, int]]) -> Any:
        """The item in a block, the arrays of which begin and end there."""
        block = self._blocks[place]
        if len(self._held) + BLOCKS_MOVING >= len(self._blocks):  # its arrays may be looked at for long
            with memoryview(block) as view:
                item = _loaded(block, [bytearray(view[start:end]) for start, end in spans])
            self._give_back(place)
            return item
        whole = np.frombuffer(block, np.uint8)
        self._held.add(place)
        weakref.finalize(whole, self._give_back, place).atexit = False
        arrays = whole.data  # whatever is made of it keeps the whole
        return _loaded(block, [arrays[start:end] for start, end in spans])

    def _give_back(self, place: int) -> None:
        """In whichever thread drops the last array of a block."""
        self._held.discard(place)
        with suppress(OSError):  # the other process has sent all it had, or is not wanted any more
            self._free.send(place)


def _loaded(block: mmap, arrays: Sequence[bytearray | memoryview]) -> Any:
    return pickle.Unpickler(_Page(block), buffers=arrays).load()


# -- the other process -------------------------------------------------------------------------------------------------


def _run(
    make: Callable[[], Iterator[Any]],
    finish: Callable[[Any, bool], Any] | None,
    others: Iterable[Connection],
    sender: "_Sender",
    tie_to_parent: Callable[[], None],
) -> None:
    """Send the items. A terminal sends Ctrl-C and SIGHUP to the parent too, which decides what they mean."""
    tie_to_parent()
    for other in others:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    is_over = False
    # Suppressed: the parent takes no more items.
    with suppress(BrokenPipeError, EOFError, _Ended):
        signal.signal(signal.SIGTERM, _end)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        try:
            with _closed_at_end(make()) as items:
                for item in items:
                    sender.send(_ITEM, item if finish is None else finish(item, sender.is_ahead))
        except WiretoolError as err:
            sender.send(_ERROR, err)
        else:
            sender.send(_END, None)
        is_over = True
    if not is_over:
        sys.exit(ENDED)


@contextmanager
def _closed_at_end(items: Iterator[T]) -> Iterator[Iterator[T]]:
    """Close a generator at the end of the block: it may wait there for a process of its own.

    Python prints and loses the exception of a signal that arrives while it deletes a generator.
    """
    try:
        yield items
    finally:
        if isinstance(items, Generator):
            items.close()


class _Ended(SystemExit):
    """This process has been told to end."""


def _end(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once said is enough: another one would cut the ending in two
    raise _Ended


class _Sender:
    """Puts items into blocks, and says so; takes blocks back."""

    def __init__(self, sent: Connection, freed: Connection, blocks: Sequence[mmap]) -> None:
        self._sent = sent
        self._freed = freed
        self._blocks = blocks
        self._free = list(range(len(blocks)))

    def send(self, kind: str, item: object) -> None:
        place = self._block()
        try:
            spans = _put(_Page(self._blocks[place]), item)
        except _Full:
            self._free.append(place)
            self._sent.send((kind, -1, ()))
            self._sent.send_bytes(pickle.dumps(item, protocol=5))
        else:
            self._sent.send((kind, place, spans))

    @property
    def is_ahead(self) -> bool:
        """Return whether the other process works on an item and has another one to take."""
        self._take_back()
        return len(self._blocks) - len(self._free) >= BLOCKS_AHEAD

    def _block(self) -> int:
        """A block that is free, once there is one; the one that was used last, whose memory is there already."""
        self._take_back()
        if not self._free:
            self._free.append(self._freed.recv())
        return self._free.pop()

    def _take_back(self) -> None:
        while self._freed.poll():
            self._free.append(self._freed.recv())


def _put(page: _Page, item: object) -> list[tuple[int, int]]:
    """Write an item; where each of its arrays begins and ends."""
    buffers: list[pickle.PickleBuffer] = []
    pickle.Pickler(page, protocol=5, buffer_callback=buffers.append).dump(item)
    spans = []
    for buffer in buffers:
        page.align()
        start = page.at
        with buffer.raw() as raw:
            page.write(raw)
        spans.append((start, page.at))
    return spans
