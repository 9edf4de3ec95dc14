"""The folder in which a stream notes how far it is.

    CHECKPOINT/stream.json          which stream it is: of what, into what, how
    CHECKPOINT/commits/N.json       batch N is done: how far each capture was read, and what came of it
    CHECKPOINT/captures/N.json      where captures are many: how far they were read in batch N, for commits to name it
    CHECKPOINT/states/*.arrow       what is open of flows (see `states`); a commit names those that hold
    CHECKPOINT/copies/              packed captures, unpacked as long as they are read

A batch is done when its commit is there. What a batch has written before is of no use without it, and removed when the
stream goes on.
"""

import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from wiretool import __version__
from wiretool.capture.index.build import NO_TIME
from wiretool.errors import CaptureError, UsageError, why_unreadable
from wiretool.expectations import json_problem
from wiretool.folder_locks import HELD, release, take
from wiretool.ledger import Account
from wiretool.pipeline.layout import File, changed, fits, put, write_whole
from wiretool.pipeline.private import is_inside, is_name, is_special, make_private
from wiretool.pipeline.staging import STAGING
from wiretool.pipeline.stream.following import Followed
from wiretool.sinks.arrow.files import refused
from wiretool.sinks.partial import part_of

STREAM, COMMITS, CAPTURES, STATES, COPIES = "stream.json", "commits", "captures", "states", "copies"
#: A commit is written with each batch. When so many captures are new, all of them are written to a file of their own,
#: and commits have those that have changed since; where these are many, all are written again after so many batches.
CAPTURES_MAX, BATCHES_MAX = 256, 256
#: The version of this layout.
FORMAT = 2
#: The remedy where something of a checkpoint is missing.
ANEW = "start again with another checkpoint and other tables"


class StreamOptions(msgspec.Struct, frozen=True):
    """The options that decide what the tables hold; ports by number, as text."""

    protocol: str | None
    port: Mapping[str, str]
    events: bool


class Stream(msgspec.Struct, frozen=True):
    """Which stream it is: what must not change as long as it goes on."""

    folder: str
    tables: str
    options: StreamOptions
    parts: int
    id: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)
    wiretool: str = __version__
    format: int = FORMAT


class Commit(msgspec.Struct, frozen=True):
    """A batch that is done, and how far the stream is then."""

    batch: int
    #: The folder under the tables in which its files were made: what is still there is put in place.
    staging: str
    captures: Sequence[Followed]
    #: The files of states of each part, in their order.
    states: Sequence[Sequence[str]]
    #: The latest turn that was read, and whether several programs write captures.
    turn_ns: int
    has_taps: bool
    #: Flows that are open.
    open: int
    tables: Mapping[str, Sequence[File]]
    total: Account
    connections: int


class Noted(Commit, frozen=True):
    """A commit as its file has it: only with the captures that have changed since a batch of which there are all."""

    #: That batch; -1 where there is none. And the SHA-256 of the file that has all of them.
    base: int = -1
    base_sha256: str = ""
    #: The first captures are in place of those that have these places among all; the others follow them.
    places: Sequence[int] = ()


def nothing_done(parts: int) -> Commit:
    """What holds before the first batch."""
    return Commit(-1, "", (), [[]] * parts, NO_TIME, has_taps=False, open=0, tables={}, total=Account(), connections=0)


class Checkpoint:
    """The folder, held by this process."""

    def __init__(self, root: Path, stream: Stream) -> None:
        self.root = root
        self.stream = stream
        #: The captures as they were in the batch of which there are all, and that batch.
        self._captures: list[Followed] = []
        self._base, self._base_sha256 = -1, ""
        self.last = self._read_last()

    @property
    def states(self) -> Path:
        """The folder of states."""
        return self.root / STATES

    @property
    def copies(self) -> Path:
        """The folder of unpacked captures."""
        return self.root / COPIES

    def commit(self, commit: Commit) -> None:
        """The batch is done from here on; what it has in place of others is removed. UsageError where it cannot be."""
        path = self._path(commit.batch)
        write_whole(path, _with_checksum(msgspec.json.encode(self._noted(commit))))
        self.last = commit
        with refused(path):
            self.clear()

    def is_done(self, batch: int) -> bool:
        """Whether the commit of a batch is there, also where nobody could be told any more."""
        return self._path(batch).exists()

    def clear(self) -> None:
        """Remove what no commit that holds names."""
        kept = {name for names in self.last.states for name in names}
        _remove(path for path in self.states.iterdir() if path.name not in kept)
        kept = {each.copy for each in self.last.captures if each.has_more}
        _remove(path for path in self.copies.iterdir() if path.name not in kept)
        base = self._base_path(self._base)
        _remove(path for path in base.parent.glob("*") if path != base)
        commits = sorted((self.root / COMMITS).glob("*.json"))
        _remove(commits[:-1])

    def _path(self, batch: int) -> Path:
        return self.root / COMMITS / f"{batch:08d}.json"

    def _base_path(self, batch: int) -> Path:
        return self.root / CAPTURES / f"{batch:08d}.json"

    def _noted(self, commit: Commit) -> Noted:
        """What is to be written of a batch; before it all captures, where it would have many."""
        places, captures = changed(self._captures, commit.captures)
        is_due = len(captures) >= CAPTURES_MAX and commit.batch - self._base >= BATCHES_MAX
        if is_due or len(captures) - len(places) >= CAPTURES_MAX:
            path = self._base_path(commit.batch)
            with refused(path):
                make_private(path.parent)
            raw = msgspec.json.encode(commit.captures)
            write_whole(path, raw)
            self._captures, self._base, places, captures = list(commit.captures), commit.batch, [], []
            self._base_sha256 = sha256(raw).hexdigest()
        values = {name: getattr(commit, name) for name in Commit.__struct_fields__}
        values |= {"captures": captures, "places": places, "base": self._base, "base_sha256": self._base_sha256}
        return Noted(**values)

    def _read_last(self) -> Commit:
        found = sorted((self.root / COMMITS).glob("*.json"))
        if not found:
            return nothing_done(self.stream.parts)
        raw = _content(found[-1])
        noted: Noted = _decoded(found[-1], raw, Noted)
        _check(found[-1], is_sound=_has_checksum(raw))
        if found[-1] != self._path(noted.batch):
            why = f"is of batch {noted.batch}; expected that of its name; {ANEW}"
            raise CaptureError(str(found[-1]), why)
        if noted.base >= 0:
            self._read_base(noted)
        captures = [msgspec.structs.replace(each) for each in self._captures]  # who goes on changes them
        if not fits(len(captures), noted.places, noted.captures):
            raise CaptureError(str(found[-1]), f"does not fit the captures before it; {ANEW}")
        put(captures, noted.places, noted.captures)
        values = {name: getattr(noted, name) for name in Commit.__struct_fields__}
        commit = Commit(**{**values, "captures": captures})
        if wrong := next(_wrong_names(commit), None):
            raise CaptureError(str(found[-1]), f"names a file outside its folder: {wrong!a}; {ANEW}")
        return commit

    def _read_base(self, noted: Noted) -> None:
        """Take over all captures as they were in an earlier batch; errors as those of `_decoded`."""
        path = self._base_path(noted.base)
        raw = _content(path)
        self._base, self._base_sha256 = noted.base, noted.base_sha256
        self._captures = _decoded(path, raw, list[Followed])
        _check(path, is_sound=sha256(raw).hexdigest() == noted.base_sha256)


def _with_checksum(body: bytes) -> bytes:
    """Return a JSON object with the SHA-256 of its text as first value.

    It finds damage and changes by hand. The owner of the folder, who alone may write to it, could compute it, too.
    """
    return b'{"sha256":"%s",%s' % (sha256(body).hexdigest().encode(), body[1:])


def _has_checksum(raw: bytes) -> bool:
    """Return whether the checksum of a JSON object is that of its other values."""
    return raw == _with_checksum(b"{" + raw.partition(b",")[2])


def _check(path: Path, *, is_sound: bool) -> None:
    """Raise CaptureError where the content of a file does not match its checksum."""
    if not is_sound:
        why = f"is damaged, and with it the checkpoint: its content does not match its checksum; {ANEW}"
        raise CaptureError(str(path), why)


def _wrong_names(commit: Commit) -> Iterator[str]:
    """Names that lead out of the folders in which what they name is."""
    names = [name for part in commit.states for name in part]
    names += [each.copy for each in commit.captures if each.copy]
    yield from (name for name in names if not is_name(name))
    if commit.staging and not (is_name(commit.staging) and commit.staging.startswith(STAGING)):
        yield commit.staging
    for name, files in commit.tables.items():
        yield from (each for each in (name, *(file.path for file in files)) if not is_inside(each) or "/" in name)


def _remove(paths: "Iterator[Path] | Sequence[Path]") -> None:
    for path in paths:
        path.unlink(missing_ok=True)


@contextmanager
def opened(root: Path, stream: Stream, parts: int) -> Iterator[Checkpoint]:
    """The checkpoint of a stream, new or to go on with; nobody else can have it meanwhile.

    A new one of which it is not said into how many parts flows are dealt has so many `parts`.
    UsageError where it is in use, of another stream, or the folder holds other things.
    """
    with refused(root):
        _check_folder(root)
        make_private(root)
        held = take(root)
    if held is None:
        raise UsageError(f"{root} is the checkpoint of a running stream; stop it, or use another folder")
    try:
        with refused(root):
            for name in (COMMITS, STATES, COPIES):
                make_private(root / name)
        yield Checkpoint(root, _same(root / STREAM, stream, parts))
    finally:
        release(held)


def _check_folder(root: Path) -> None:
    if os.path.exists(root) and not os.path.isdir(root):
        raise UsageError(f"{root} is not a folder; expected a new or empty folder for the checkpoint")
    if os.path.isdir(root) and not os.path.exists(root / STREAM):
        with refused(root):
            names = os.listdir(root)
        others = set(names) - {HELD, COMMITS, STATES, COPIES, part_of(root / STREAM).name}
        if others:
            raise UsageError(f"{root} is not a checkpoint: it holds {min(others)}; expected a new or empty folder")


def _same(path: Path, stream: Stream, parts: int) -> Stream:
    """The stream that is noted, which has to be this one; or this one, noted now."""
    has_begun = any((path.parent / COMMITS).glob("*.json"))
    if not has_begun:  # without a batch it is as good as a new one
        name = _read_stream(path).id if path.exists() else stream.id
        stream = msgspec.structs.replace(stream, parts=stream.parts or parts, id=name)
        write_whole(path, _with_checksum(msgspec.json.encode(stream)))
        return stream
    noted = _read_stream(path)
    if (noted.wiretool, noted.format) != (stream.wiretool, stream.format):
        raise UsageError(f"{path.parent} was begun with wiretool {noted.wiretool}: go on with that version, or {ANEW}")
    for was, now in _compare_options(noted, stream):
        if was != now:
            raise UsageError(f"{path.parent} was begun {was}, not {now}: go on with that, or {ANEW}")
    return noted


def _read_stream(path: Path) -> Stream:
    """Return the stream that was noted; errors as those of `_decoded`, and CaptureError for a wrong checksum."""
    raw = _content(path)
    noted: Stream = _decoded(path, raw, Stream)
    _check(path, is_sound=_has_checksum(raw))
    return noted


def _compare_options(noted: Stream, stream: Stream) -> Iterator[tuple[str, str]]:
    """Yield the options that must be the same, as errors describe those of both."""
    for name in ("folder", "tables"):
        yield f"with the {name} {getattr(noted, name)}", f"with the {name} {getattr(stream, name)}"
    if stream.parts:  # otherwise it is not said
        yield f"with --splits {noted.parts}", f"with --splits {stream.parts}"
    for said in (_protocol, _ports, _events):
        yield said(noted.options), said(stream.options)


def _protocol(options: StreamOptions) -> str:
    return f"with --protocol {options.protocol}"


def _ports(options: StreamOptions) -> str:
    pairs = [f"--port {port}={protocol}" for port, protocol in options.port.items()]
    return f"with {' '.join(pairs)}" if pairs else "without --port"


def _events(options: StreamOptions) -> str:
    return "with --events" if options.events else "without --events"


def _content(path: Path) -> bytes:
    """Return the bytes of a file of the checkpoint. CaptureError where it is special, UsageError where it is absent."""
    if is_special(path):
        raise CaptureError(str(path), f"is not a regular file; expected one that wiretool wrote; {ANEW}")
    try:
        return path.read_bytes()
    except OSError as err:
        raise UsageError(f"{path}: {why_unreadable(err)}; expected a file of the checkpoint; {ANEW}") from err


def _decoded(path: Path, raw: bytes, kind: type[Any]) -> Any:
    """Return the value in the content `raw` of a file of the checkpoint; CaptureError where it is not of that kind."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, RecursionError) as err:
        raise CaptureError(str(path), f"is damaged, and with it the checkpoint: {json_problem(err)}; {ANEW}") from err


def remove_folder(path: Path) -> None:
    """Remove a folder of a batch that was not done, as far as that goes."""
    shutil.rmtree(path, ignore_errors=True)
