"""What a user of the data source asks for: its options, and where the captures are."""

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from wiretool.capture.index.build import JOINT_BYTES
from wiretool.errors import CaptureError, UsageError, system_reason
from wiretool.storage.url_path import WEB, UrlPath, is_url, path_or_url
from wiretool.units import SIZE

#: What `mode` may be: the good part of a damaged capture is used, or nothing is.
PERMISSIVE, FAILFAST = "permissive", "failfast"
#: The tables whose rows are packets; those of all others are of flows.
PACKETS, SEGMENTS = "packets", "segments"
#: As Spark's own sources have them; their case does not matter. `path` is what `load` was given.
OPTIONS = ("path", "paths", "table", "splitBytes", "splits", "mode", "keylog")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a reading, understood."""

    table: str
    #: As they were given: files, folders and patterns.
    given: tuple[str, ...]
    #: About how much of the captures one task reads; and into how many flows are dealt, 0 for as many as it takes.
    split_bytes: int
    splits: int
    is_strict: bool
    #: The file of TLS secrets; empty if there is none.
    keylog: str = ""

    def captures(self) -> tuple[list[Path], set[Path]]:
        """The captures by path, and those among them that nobody has named, which may turn out to be none.

        UsageError where there are none, CaptureError for a pattern where we may not look.
        """
        from wiretool.pipeline.inputs import captures_in  # which knows all tables: only who plans wants it

        named = list(_named(self.given))
        folders = {path for path in named if os.path.isdir(path)}
        alone = {path.resolve() for path in named if path not in folders}
        found = captures_in(named, lambda text: None)
        return found, {path for path in found if path.resolve() not in alone}


def source_options_of(options: Mapping[str, str]) -> SourceOptions:
    """The options as Spark gives them; UsageError for what is none, or makes no sense. Tables are not looked for."""
    given = {name.lower(): value for name, value in options.items()}
    known = {name.lower(): name for name in OPTIONS}
    strangers = sorted(set(given) - set(known))
    if strangers:
        raise UsageError(f"no option {strangers[0]} of wirecap: it has {', '.join(OPTIONS)}")
    mode = given.get("mode", PERMISSIVE).lower()
    if mode not in (PERMISSIVE, FAILFAST):
        raise UsageError(f"mode {mode}: unknown mode; expected {PERMISSIVE} or {FAILFAST}")
    split_bytes = round(SIZE.parse(given.get("splitbytes", str(JOINT_BYTES)), "splitBytes", least=1))
    splits = _whole("splits", given.get("splits", "0"), "a number of tasks, or 0 for as many as it takes", 0)
    table, keylog = given.get("table", PACKETS), given.get("keylog", "")
    if keylog and table in (PACKETS, SEGMENTS):
        raise UsageError(f"keylog: the table {table} has bytes as they were captured; expected a table of flows")
    if is_url(keylog) and not keylog.startswith("file:"):
        raise UsageError(f"keylog {keylog}: a URL; expected a local file")
    return SourceOptions(table, _places(given), split_bytes, splits, mode == FAILFAST, _local(keylog))


def _whole(name: str, text: str, wants: str, least: int) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise UsageError(f"{name} {text}: not valid; expected {wants}")
    return int(text)


def _places(given: Mapping[str, str]) -> tuple[str, ...]:
    """What `load` was given: one path, which may be several with commas between, or a list."""
    several = json.loads(given["paths"]) if "paths" in given else []
    one = given.get("path", "")
    if one:
        several += [one] if os.path.exists(one) else [part.strip() for part in one.split(",") if part.strip()]
    if not several:
        raise UsageError('wirecap: no captures; expected spark.read.format("wirecap").load("captures/*.pcap")')
    return tuple(_local(each) for each in several)


def _local(place: str) -> str:
    """Return a place without the scheme of files; UsageError for a URL of which the scheme is not known."""
    place = re.sub("^file:(//)?(?=/)", "", place)
    path_or_url(place)
    return place


def _named(given: Sequence[str]) -> Iterator[Path]:
    """The files and folders; a pattern stands for all that fit it. UsageError where none does."""
    from wiretool.pipeline.fetching import objects_like  # as in `captures`

    for place in given:
        if not is_pattern(place):
            yield path_or_url(place)
            continue
        if is_url(place):
            yield from objects_like(UrlPath(place))
            continue
        found = sorted(glob(place, recursive=True))
        if not found:
            raise UsageError(f"{place}: no file fits this pattern")
        yield from map(Path, found)


def is_pattern(place: str) -> bool:
    """Whether a place is a pattern, and not what something is called; CaptureError where we may not look."""
    if not has_magic(place):
        return False
    if is_url(place):
        url = UrlPath(place)
        return url.scheme not in WEB and not _is_object(url)
    try:
        os.stat(place)
    except OSError as err:
        # A pattern sees nothing in a folder that is closed: it would be taken for an empty one.
        if err.errno in (errno.EACCES, errno.EPERM):
            raise CaptureError(place, f"cannot be looked at: {system_reason(err)}") from err
        return True
    except ValueError:  # a name with a null byte
        return True
    return False


def _is_object(url: UrlPath) -> bool:
    from wiretool.storage.folder import StoreFolder  # imported here: most captures are files

    return StoreFolder(url).is_object()
