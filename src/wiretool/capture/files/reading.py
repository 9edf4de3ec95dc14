"""Packets of capture files and streams: one in its own order, several merged by time."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from heapq import merge
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO, NamedTuple, Protocol, cast

from wiretool.capture.files.pcap import VARIANTS, read_pcap
from wiretool.capture.files.pcapng import SECTION, read_pcapng
from wiretool.capture.files.source import Source, open_source
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.origins import Origins
from wiretool.capture.tls.keylog import KeyLog
from wiretool.errors import CaptureError, UnopenedError, why_unreadable
from wiretool.storage.url_path import UrlPath

_packet = partial(tuple.__new__, Packet)


def read_packets(sources: Sequence[Path | BinaryIO], keys: KeyLog | None = None) -> Iterator[Packet]:
    """Packets of all sources, numbered from 1; `keys` gets the secrets of TLS connections in them.

    A source that is damaged gives what is good of it; CaptureError comes after the last packet (with several sources,
    the first such error, which has the others in `others`).
    """
    return _packets_of(sources[0], keys) if len(sources) == 1 else map(itemgetter(1), _merged(sources, keys))


def read_with_origins(
    sources: Sequence[Path | BinaryIO], origins: Origins, keys: KeyLog | None = None
) -> Iterator[Packet]:
    """Packets of several sources as `read_packets` gives them; `origins` notes the source of each."""
    for at, packet in _merged(sources, keys):
        origins.note_packet(at)
        yield packet


def _packets_of(source: Path | BinaryIO, keys: KeyLog | None) -> Iterator[Packet]:
    with ExitStack() as stack:
        name, stream = opened(source, stack)
        yield from recognised(open_source(name, stream), keys)


def opened(source: Path | BinaryIO, stack: ExitStack) -> tuple[str, BinaryIO]:
    """Return the name of a source and its stream, which `stack` closes if it was opened here.

    UnopenedError, a CaptureError, for a file that the system does not open; RemoteError for an unreachable object.
    """
    if not isinstance(source, Path):
        return str(getattr(source, "name", "a stream")), source
    if isinstance(source, UrlPath):
        from wiretool.storage.opening import open_url

        return str(source), cast(BinaryIO, stack.enter_context(open_url(source)))
    try:
        return str(source), stack.enter_context(source.open("rb", buffering=0))
    except OSError as err:
        raise UnopenedError(str(source), why_unreadable(err)) from err


class FileStatus(Protocol):
    """The size and the time of a file, and its inode, 0 for an object."""

    @property
    def st_size(self) -> int: ...

    @property
    def st_mtime_ns(self) -> int: ...

    @property
    def st_ino(self) -> int: ...


class ObjectStatus(NamedTuple):
    """The status of an object."""

    st_size: int
    st_mtime_ns: int
    st_ino: int = 0


def opened_to_seek(path: Path, stack: ExitStack, end: int | None = None) -> tuple[str, BinaryIO, FileStatus]:
    """Return the name of a file that is read at any place, its stream, which `stack` closes, and its status.

    Bytes from `end` on are not expected to be read. CaptureError for what cannot be opened, and what `check_to_seek`
    refuses; RemoteError for an object that cannot be read by ranges.
    """
    if isinstance(path, UrlPath):
        from wiretool.storage.opening import open_ranges

        reader = stack.enter_context(open_ranges(path))
        reader.end = reader.info.size if end is None else end
        return str(path), cast(BinaryIO, reader), ObjectStatus(reader.info.size, reader.info.mtime_ns)
    check_to_seek(path)
    name, file = opened(path, stack)
    return name, file, os.fstat(file.fileno())


def check_to_seek(path: Path) -> None:
    """CaptureError for a named pipe or a device: who opens a pipe waits for its writer, and who leaves it ends that."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # who opens it tells why
        return
    if not S_ISREG(mode) and not S_ISDIR(mode):
        raise CaptureError(str(path), "not a seekable file; expected a regular file; copy it into one")


def recognised(source: Source, keys: KeyLog | None = None) -> Iterator[Packet]:
    """The packets of a source by its first bytes; nothing at all is a capture of nothing."""
    source.fill(4)
    magic = source.buffer[:4]
    if magic in VARIANTS:
        return read_pcap(source)
    if magic == SECTION:
        return read_pcapng(source, keys)
    if magic:
        raise source.error(f"neither pcap nor pcapng: starts with {magic.hex(' ')}")
    return iter(())


def _merged(sources: Sequence[Path | BinaryIO], keys: KeyLog | None) -> Iterator[tuple[int, Packet]]:
    """Yield the packets of all sources by time, each with the index of its source."""
    errors: list[CaptureError] = []
    guarded = [zip(repeat(at), _until_error(_packets_of(source, keys), errors)) for at, source in enumerate(sources)]
    for number, (at, packet) in enumerate(merge(*guarded, key=lambda pair: pair[1].time_ns), 1):
        yield at, _packet((number, *packet[1:]))
    if errors:
        errors[0].others = errors[1:]
        raise errors[0]


def _until_error(packets: Iterator[Packet], errors: list[CaptureError]) -> Iterator[Packet]:
    try:
        yield from packets
    except CaptureError as err:
        errors.append(err)
