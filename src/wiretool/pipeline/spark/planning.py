"""Shares captures out between tasks: large files cut where their index allows it, small ones together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wiretool.capture.index.build import JOINT_BYTES, FileIndex, Span, index_of
from wiretool.errors import CaptureError
from wiretool.pipeline.fetching import is_unread
from wiretool.storage.url_path import UrlPath

#: What a stretch costs beside its bytes, told in bytes (to open its file, and to begin); as part of a share at most.
STRETCH_BYTES, STRETCH_SHARE = 256 * 1024, 1 / 16
#: A packed capture is read as a whole, and is so many times as large when it is unpacked.
UNPACKED_TIMES = 4


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a capture, the `place`th of all; small enough to be sent to another process.

    The path is absolute: others may work in another folder. The name is as it was given. An object also has its URL,
    with the version that was indexed.
    """

    path: str
    name: str
    place: int
    span: Span
    url: UrlPath | None = None

    @property
    def file(self) -> Path:
        """Return the capture."""
        return self.url or Path(self.path)


@dataclass(frozen=True, slots=True)
class Window:
    """The times that are wanted, in ns, both ends included, and the captures; None for all of them."""

    first_ns: int = -(1 << 63)
    last_ns: int = (1 << 63) - 1
    files: frozenset[str] | None = None

    def has_file(self, name: str, index: FileIndex) -> bool:
        """Whether a capture may have what is wanted."""
        if self.files is not None and name not in self.files:
            return False
        return index.first_ns <= self.last_ns and index.last_ns >= self.first_ns

    def has_all_before(self, latest_ns: int) -> bool:
        """Whether packets of which the latest has that time may be wanted."""
        return latest_ns >= self.first_ns


@dataclass(slots=True)
class _Bin:
    """What one task takes."""

    parts: list[Part] = field(default_factory=list)
    bytes: int = 0


def planned(
    paths: Sequence[Path],
    split_bytes: int,
    *,
    is_strict: bool = False,
    optional: Iterable[Path] = (),
    window: Window | None = None,
) -> list[list[Part]]:
    """The parts of each task, in the order of the captures: of about `split_bytes` each, and no more where that can be.

    CaptureError for a capture that is not there or is none, but for `optional` ones, which are left out where they are
    none; with `is_strict` for a damaged one, too, of which otherwise the good part is used.
    """
    may_be_none = set(optional)
    indexes = [_index(path, split_bytes, may_be_none) for path in paths]
    for path, index in zip(paths, indexes, strict=True):
        if is_strict and index is not None and index.damage:
            raise CaptureError.from_reason(str(path), index.damage)
    return dealt(zip(paths, indexes, strict=True), split_bytes, window)


def dealt(
    captures: Iterable[tuple[Path, FileIndex | None]], split_bytes: int, window: Window | None = None
) -> list[list[Part]]:
    """As `planned`, for captures with their indexes; one without an index is passed over, though it has its place."""
    window = window or Window()
    bins = [_Bin()]
    for place, (path, index) in enumerate(captures):
        if index is not None and index.packets and window.has_file(str(path), index):
            _deal(bins, path, place, index, split_bytes, window)
    return [each.parts for each in bins if each.parts]


def _index(path: Path, split_bytes: int, may_be_none: set[Path]) -> FileIndex | None:
    try:
        return index_of(path, every_bytes=min(split_bytes, JOINT_BYTES))
    except CaptureError as err:
        if path in may_be_none and not is_unread(path, err):
            return None
        raise


def _deal(bins: list[_Bin], path: Path, place: int, index: FileIndex, split_bytes: int, window: Window) -> None:
    """Give the ranges of a capture to the last task as long as they fit, then to fresh ones."""
    cost = min(STRETCH_BYTES, int(split_bytes * STRETCH_SHARE))
    for first, stop, size in _stretches(index, split_bytes - cost, window):
        size += cost
        if bins[-1].bytes and bins[-1].bytes + size > split_bytes:
            bins.append(_Bin())
        url = path if isinstance(path, UrlPath) else None
        bins[-1].parts.append(Part(str(path.absolute()), str(path), place, index.span(first, stop), url))
        bins[-1].bytes += size


def _stretches(index: FileIndex, most: int, window: Window) -> Iterator[tuple[int, int, int]]:
    """Ranges that follow one another, of so many bytes at most if they are more than one: first, stop and bytes."""
    if index.is_packed:
        yield 0, len(index.joints), index.size * UNPACKED_TIMES
        return
    bounds = [*index.joints, index.tail]
    first, size = 0, 0
    for at in range(len(index.joints)):
        own = bounds[at + 1].at - bounds[at].at
        if not window.has_all_before(bounds[at + 1].before_ns):
            if size:
                yield first, at, size
            first, size = at + 1, 0
        elif size and size + own > most:
            yield first, at, size
            first, size = at, own
        else:
            size += own
    if size:
        yield first, len(index.joints), size
