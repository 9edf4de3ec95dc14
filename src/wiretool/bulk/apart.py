"""Iterators that run in a process of their own, some items ahead of whoever takes them.

Each item crosses as a pickle whose arrays lie in memory that both processes share. Where processes cannot be forked
(Windows), everything happens in one: the items are the same.
"""

import os
import pickle
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from mmap import mmap
from multiprocessing.connection import Connection, Pipe
from multiprocessing.context import ForkContext, ForkProcess
from typing import Any, TypeVar

from wiretool.errors import WiretoolError

T = TypeVar("T")

#: Shared blocks, and bytes of each: a table of a capture with all its columns, or the batch that is made of it. What is
#: larger crosses in the pipe.
BLOCKS, BLOCK_BYTES = 3, 48 * 1024 * 1024
#: Seconds that the other process is given to end by itself.
PATIENCE_S = 1.0
#: What crosses the pipe in front of the items: an item, the end, what ended it early.
_ITEM, _END, _ERROR = "item", "end", "error"


def may_run_apart() -> bool:
    """Whether there are processes that share what this one has read."""
    return hasattr(os, "fork") and sys.platform != "darwin"


def apart(make: Callable[[], Iterator[T]]) -> Generator[T]:
    """The items of `make()`, which is called in another process; its WiretoolError is raised here, in its turn.

    The other process ends with this iterator, whichever way that ends.
    """
    if not may_run_apart():
        yield from make()
        return
    blocks = [mmap(-1, BLOCK_BYTES) for _ in range(BLOCKS)]
    (items, sent), (freed, free) = Pipe(duplex=False), Pipe(duplex=False)
    process = ForkContext().Process(target=_run, args=(make, (items, free), _Sender(sent, freed, blocks)))
    with _no_interrupts():  # it is born deaf to them
        process.start()
    sent.close()
    freed.close()
    try:
        yield from _received(items, free, blocks, process)
    finally:
        items.close()
        free.close()
        process.join(PATIENCE_S)
        if process.is_alive():  # it waits for input that may never come
            process.terminate()
            process.join()
        for block in blocks:
            block.close()


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ctrl-C waits until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _received(items: Connection, free: Connection, blocks: list[mmap], process: ForkProcess) -> Iterator[Any]:
    while True:
        try:
            kind, place, sizes = items.recv()
            pickled, *arrays = _taken(items, blocks, place, sizes)
        except EOFError:
            process.join()
            raise RuntimeError(f"the reading process ended with {process.exitcode}") from None
        if place >= 0:
            with suppress(BrokenPipeError):  # it has sent all it had
                free.send(place)
        item = pickle.loads(pickled, buffers=arrays)
        if kind == _END:
            return
        if kind == _ERROR:
            raise item
        yield item


def _taken(items: Connection, blocks: list[mmap], place: int, sizes: list[int]) -> list[bytearray]:
    """Copies of what stands in a block, or what comes behind in the pipe."""
    if place < 0:
        return [bytearray(items.recv_bytes()) for _ in sizes]
    with memoryview(blocks[place]) as block:
        ends = list(accumulate(sizes))
        return [bytearray(block[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


# -- the other process -------------------------------------------------------------------------------------------------


def _run(make: Callable[[], Iterator[Any]], others: Iterable[Connection], sender: "_Sender") -> None:
    """Send the items; whoever takes them decides when it is enough, so Ctrl-C is theirs to heed."""
    for other in others:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # so that a process of its own ends as well
    with suppress(BrokenPipeError, EOFError):  # nobody takes them any more
        try:
            for item in make():
                sender.send(_ITEM, item)
        except WiretoolError as err:
            sender.send(_ERROR, err)
        else:
            sender.send(_END, None)


class _Sender:
    """Puts items into blocks, and says so; takes blocks back."""

    def __init__(self, sent: Connection, freed: Connection, blocks: list[mmap]) -> None:
        self._sent = sent
        self._freed = freed
        self._blocks = blocks
        self._free = list(range(len(blocks)))

    def send(self, kind: str, item: object) -> None:
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(item, protocol=5, buffer_callback=buffers.append)
        parts = [memoryview(pickled), *(buffer.raw() for buffer in buffers)]
        sizes = [part.nbytes for part in parts]
        place = self._block() if sum(sizes) <= BLOCK_BYTES else -1
        if place >= 0:
            self._fill(place, parts)
        self._sent.send((kind, place, sizes))
        if place < 0:
            for part in parts:
                self._sent.send_bytes(part)

    def _block(self) -> int:
        """A block that is free, once there is one."""
        while not self._free or self._freed.poll():
            self._free.append(self._freed.recv())
        return self._free.pop()

    def _fill(self, place: int, parts: list[memoryview]) -> None:
        at = 0
        for part in parts:
            self._blocks[place][at : at + part.nbytes] = part
            at += part.nbytes
