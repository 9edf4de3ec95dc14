"""Packets of capture files and streams: one in its own order, several merged by time."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from heapq import merge
from operator import attrgetter
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from wiretool.capture.packets import Packet
from wiretool.capture.pcap import VARIANTS, read_pcap
from wiretool.capture.pcapng import SECTION, read_pcapng
from wiretool.capture.source import Source, open_source
from wiretool.errors import CaptureError

#: Why a pipe or a device is not read where places in it are wanted.
NO_FILE = "no file that can be read from any place: copy it into one"
_packet = partial(tuple.__new__, Packet)


def read_packets(sources: Sequence[Path | BinaryIO]) -> Iterator[Packet]:
    """Packets of all sources, numbered from 1.

    A source that is damaged gives what is good of it; CaptureError comes after the last packet (with several sources,
    the first such error).
    """
    return _packets_of(sources[0]) if len(sources) == 1 else _merged(sources)


def _packets_of(source: Path | BinaryIO) -> Iterator[Packet]:
    with ExitStack() as stack:
        name, stream = opened(source, stack)
        yield from recognised(open_source(name, stream))


def opened(
    source: Path | BinaryIO, stack: ExitStack, *, opener: Callable[[str, int], int] | None = None
) -> tuple[str, BinaryIO]:
    """The name of a source and its stream, which `stack` closes if it was opened here; `opener` as that of `open`."""
    if not isinstance(source, Path):
        return str(getattr(source, "name", "a stream")), source
    try:
        return str(source), stack.enter_context(open(source, "rb", buffering=0, opener=opener))
    except OSError as err:
        raise CaptureError(str(source), f"cannot be opened: {err.strerror}", offset=0) from err


def opened_to_seek(path: Path, stack: ExitStack) -> tuple[str, BinaryIO, os.stat_result]:
    """The name of a file that is read at any place, its stream, which `stack` closes, and what the system says of it.

    CaptureError for what cannot be opened, and what is no such file: a named pipe is not waited for.
    """
    name, file = opened(path, stack, opener=_open_at_once)
    stat = os.fstat(file.fileno())
    if not S_ISREG(stat.st_mode):
        raise CaptureError(name, NO_FILE, offset=0)
    return name, file, stat


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def recognised(source: Source) -> Iterator[Packet]:
    """The packets of a source by its first bytes; nothing at all is a capture of nothing."""
    source.fill(4)
    magic = source.buffer[:4]
    if magic in VARIANTS:
        return read_pcap(source)
    if magic == SECTION:
        return read_pcapng(source)
    if magic:
        raise source.error(f"neither pcap nor pcapng: begins with {magic.hex(' ')}")
    return iter(())


def _merged(sources: Sequence[Path | BinaryIO]) -> Iterator[Packet]:
    errors: list[CaptureError] = []
    guarded = [_until_error(_packets_of(source), errors) for source in sources]
    for number, packet in enumerate(merge(*guarded, key=attrgetter("time_ns")), 1):
        yield _packet((number, *packet[1:]))
    if errors:
        raise errors[0]


def _until_error(packets: Iterator[Packet], errors: list[CaptureError]) -> Iterator[Packet]:
    try:
        yield from packets
    except CaptureError as err:
        errors.append(err)
