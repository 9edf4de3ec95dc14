"""What many frames are about, as codes: small numbers, each of which stands for a value that comes again."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import count, repeat
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from wiretool.analysis.streams_bulk import Found, stream_ids
from wiretool.analysis.subjects import (
    CONNECTION_KEY,
    SEGMENT_FIELDS,
    WRITER_FIELDS,
    Key,
    Mention,
    Subject,
    Subjects,
    connection_subject,
    mention_of,
    stream_mention,
)
from wiretool.batches.batch import Batch, FrameRun
from wiretool.batches.rows import records_of, values_of
from wiretool.codec.columns import Bytes, Choice, Column, Columns, Integers, Uuids
from wiretool.codec.types import uuid_text
from wiretool.protocols.base.columns import Group

T = TypeVar("T", bound=Hashable)
_NOTHING = np.zeros(1, np.int64)


class Codes(Generic[T]):
    """Gives every value a code, counting from 0."""

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._codes: defaultdict[T, int] = defaultdict(count().__next__)
        self.all_of(values)

    def __len__(self) -> int:
        return len(self._codes)

    def of(self, value: T) -> int:
        """The code of a value."""
        return self._codes[value]

    def all_of(self, values: Iterable[T]) -> Integers:
        """The codes of values."""
        return np.fromiter(map(self._codes.__getitem__, values), np.int64)

    @property
    def values(self) -> Sequence[T]:
        """The value of each code."""
        return list(self._codes)


class Labels(NamedTuple):
    """Texts as codes: row i has `values[codes[i]]`, none where the code is -1. A single code is that of every row."""

    codes: Integers
    values: Sequence[str]


# -- what frames say by themselves -------------------------------------------------------------------------------------


class Mentions(NamedTuple):
    """The mentions of frames: codes of the subjects that they name, and of the name of the key of each.

    Code 0 is that of none. A single code is that of every frame.
    """

    subjects: Integers
    key_name: Integers


class MentionCodes:
    """Gives codes to the subjects that frames mention, and to names of keys, which are unique on a connection."""

    def __init__(self, subjects: Sequence[tuple[Subject, ...]] = ()) -> None:
        """`subjects` have the first codes; the first of them, if any, are none."""
        self.subjects: Codes[tuple[Subject, ...]] = Codes(subjects or [()])
        self.key_names: Codes[str | None] = Codes([None])
        self._streams: dict[int, int] = {}

    def of_each(self, mentions: Iterable[Mention]) -> Mentions:
        """Return the codes of some mentions."""
        pairs = [(each.subjects, None if each.key is None else each.key[1]) for each in mentions]
        return Mentions(
            self.subjects.all_of(subjects for subjects, _ in pairs), self.key_names.all_of(name for _, name in pairs)
        )

    def of_group(self, run: FrameRun, group: Group) -> Mentions:
        """Return the mentions of the frames of a group."""
        if _has_header(run, group):
            found = stream_ids(group.columns)
            if found is not None:
                return Mentions(self._of_streams(found, len(group.rows)), _NOTHING)
        if not _is_plain(run, group):
            return self.of_each(map(mention_of, records_of(alone(run, group))))
        if connection_subject(run.protocol):
            return Mentions(_NOTHING, self.key_names.all_of([CONNECTION_KEY]))
        segments, writers = _segments(group, run.frames.data), _labels(group.columns, WRITER_FIELDS, run.frames.data)
        subjects = self.subjects.all_of((Subject("segment", name),) for name in segments.values)
        key_names = self.key_names.all_of(writers.values)
        return Mentions(np.append(subjects, 0)[segments.codes], np.append(key_names, 0)[writers.codes])

    def _of_stream(self, number: int) -> int:
        if number not in self._streams:
            self._streams[number] = self.subjects.of(stream_mention([number]).subjects)
        return self._streams[number]

    def _of_streams(self, found: Found, count: int) -> Integers:
        """The streams that each of `count` frames names, each once, as a code."""
        codes = np.zeros(count, np.int64)
        starts = np.flatnonzero(np.diff(found.rows, prepend=-1))
        stops = np.append(starts[1:], len(found.rows))
        is_single = stops - starts == 1
        ids, of_row = np.unique(found.ids[starts[is_single]], return_inverse=True)
        singles = np.fromiter(map(self._of_stream, ids.tolist()), np.int64)
        codes[found.rows[starts[is_single]]] = singles[of_row]
        for start, stop in zip(starts[~is_single].tolist(), stops[~is_single].tolist(), strict=True):
            codes[found.rows[start]] = self.subjects.of(stream_mention(found.ids[start:stop].tolist()).subjects)
        return codes


def _has_header(run: FrameRun, group: Group) -> bool:
    return group.cls is None and "header" in group.columns and not connection_subject(run.protocol)


def _is_plain(run: FrameRun, group: Group) -> bool:
    """Whether the columns of text say all; a field that is no column, or a header with streams, is asked as such."""
    if kind := connection_subject(run.protocol):
        return not _has(group, kind)
    if group.cls is None:
        return "header" not in group.columns
    return all(name in group.columns or not _has(group, name) for name in (*SEGMENT_FIELDS, *WRITER_FIELDS))


def _has(group: Group, name: str) -> bool:
    return name in group.columns or (group.cls is not None and hasattr(group.cls, name))


def alone(run: FrameRun, group: Group) -> Batch:
    """The frames of a group as a batch."""
    return Batch(0, len(group.rows), [replace(run, groups=[group])], ())


def _segments(group: Group, data: bytes) -> Labels:
    named = _labels(group.columns, SEGMENT_FIELDS, data)
    if group.append is None:
        return named
    return _first(named, _labels(group.append, ("segment",), data))


def _labels(columns: Columns, names: Sequence[str], data: bytes) -> Labels:
    """The text in the first of the columns that has one."""
    found: Labels | None = None
    for name in names:
        if name in columns:
            more = labels_of(columns[name], data)
            found = more if found is None else _first(found, more)
    return found or Labels(np.full(1, -1), ())


def _first(one: Labels, other: Labels) -> Labels:
    if not one.values:
        return other
    codes = np.where((one.codes < 0) & (other.codes >= 0), other.codes + len(one.values), one.codes)
    return Labels(codes, (*one.values, *other.values))


def labels_of(column: Column, data: bytes) -> Labels:
    """The texts of a column; what is no text is none."""
    match column:
        case Choice(codes, values):
            if len(values) == 1 and isinstance(values[0], str) and not (codes < 0).any():
                return Labels(np.zeros(1, np.int64), values)
            texts: Codes[str] = Codes()
            table = np.array([texts.of(value) if isinstance(value, str) else -1 for value in (*values, None)], np.int64)
            return Labels(table[codes], texts.values)
        case Uuids(raw):
            return _uuids(raw)
        case _:
            return _texts(values_of(column, data))


def _uuids(raw: Bytes) -> Labels:
    """Ids that come in stretches of equal ones."""
    halves = np.ascontiguousarray(raw).view(np.int64)
    each = halves.reshape(-1)
    if len(halves) and (each[2:] == each[:-2]).all():  # one alone, as is usual
        return Labels(np.zeros(1, np.int64), [uuid_text(halves[0].tobytes())])
    first, second = halves[:, 0], halves[:, 1]
    begins = np.flatnonzero((first[1:] != first[:-1]) | (second[1:] != second[:-1])) + 1
    begins = np.append(0, begins)[: len(halves)]
    ids: Codes[bytes] = Codes()
    codes = ids.all_of(np.ascontiguousarray(halves[begins]).view("V16").reshape(-1).tolist())
    if len(ids) > 1:
        codes = np.repeat(codes, np.diff(begins, append=len(halves)))
    return Labels(codes, list(map(uuid_text, ids.values)))


def _texts(values: Sequence[Any]) -> Labels:
    texts: Codes[str] = Codes()
    codes = [texts.of(value) if isinstance(value, str) else -1 for value in values]
    return Labels(np.array(codes, np.int64), texts.values)


def distinct(codes: Integers, size: int) -> tuple[Integers, Integers]:
    """The codes that there are, ascending, and of each row the place of its code among them; all are below `size`."""
    if size > 4 * len(codes) + 1024:
        return np.unique(codes, return_inverse=True)
    is_there = np.zeros(size, np.bool_)
    is_there[codes] = True
    found = np.flatnonzero(is_there)
    if len(found) == size:
        return found, codes
    if len(found) == 1:
        return found, np.zeros(len(codes), np.int64)
    return found, (np.cumsum(is_there) - 1)[codes]


# -- what they are about in the end ------------------------------------------------------------------------------------


def follow_mentions(connection: Integers, mentions: Mentions, codes: MentionCodes, memory: Subjects) -> Integers:
    """Return the code of what each frame is about, as `Subjects.of` does one by one; `memory` is kept up to date.

    `connection` has the number of that of each frame; `mentions` have a row for each.
    """
    begins = find_begins(connection, *mentions)
    about: Integers = mentions.subjects[begins]
    keyed = np.flatnonzero(mentions.key_name[begins])
    if len(keyed):
        rows = begins[keyed]
        names = codes.key_names.values
        # Numbers of connections may have 63 bits.
        numbers, place = distinct(connection[rows], int(connection[rows].max()) + 1)
        pairs, key = np.unique(place * len(names) + mentions.key_name[rows], return_inverse=True)
        texts = map(names.__getitem__, (pairs % len(names)).tolist())
        keys = cast("list[Key]", list(zip(numbers[pairs // len(names)].tolist(), texts, strict=True)))
        about[keyed] = _follow_keys(key, about[keyed], keys, codes.subjects, memory)
    return np.repeat(about, np.diff(begins, append=len(connection)))


def find_begins(*columns: Integers) -> Integers:
    """Return the first of each series of rows that are equal in all columns."""
    is_other = np.zeros(max(len(columns[0]) - 1, 0), np.bool_)
    for column in columns:
        is_other |= column[1:] != column[:-1]
    later = np.flatnonzero(is_other) + 1
    return np.append(0, later) if len(columns[0]) else later


def _follow_keys(
    key: Integers, named: Integers, keys: Sequence[Key], subjects: Codes[tuple[Subject, ...]], memory: Subjects
) -> Integers:
    """Return what frames are about that have a key, by its place in `keys`; `named` are the subjects they name."""
    about: Integers = subjects.all_of(map(memory.known.get, keys, repeat(())))[key]
    is_set = named > 0
    changes = np.zeros(len(keys), np.bool_)
    changes[key[is_set & (named != about)]] = True
    if changes.any():
        if not memory.has_room(sum(keys[each] not in memory.known for each in np.flatnonzero(changes).tolist())):
            changes[:] = True  # what is set again to the same may have been forgotten meanwhile
        sets = np.flatnonzero(is_set & changes[key])
        events = _remember(sets, key[sets], named[sets], keys, subjects.values, memory)
        asks = np.flatnonzero(~is_set & changes[key])
        latest = _latest(asks, key[asks], *events)
        about[asks] = np.where(latest < 0, about[asks], latest)
    return np.where(is_set, named, about)


def _remember(
    places: Integers,
    key: Integers,
    named: Integers,
    keys: Sequence[Key],
    values: Sequence[tuple[Subject, ...]],
    memory: Subjects,
) -> tuple[Integers, Integers, Integers]:
    """Let keys stand for subjects, in order of the places; return all changes: place, key and what it stands for."""
    forgotten: list[tuple[int, Key]] = []
    for place, code, about in zip(places.tolist(), key.tolist(), named.tolist(), strict=True):
        oldest = memory.remember(keys[code], values[about])
        if oldest is not None:
            forgotten.append((place, oldest))
    if not forgotten:
        return places, key, named
    code_of = dict(zip(keys, range(len(keys)), strict=True))
    gone = np.array([(place, code_of[each]) for place, each in forgotten if each in code_of], np.int64).reshape(-1, 2)
    more = gone[:, 0], gone[:, 1], np.zeros(len(gone), np.int64)
    at, of_key, about_then = (np.append(*pair) for pair in zip((places, key, named), more, strict=True))
    return at, of_key, about_then


def _latest(asks: Integers, key: Integers, places: Integers, set_key: Integers, values: Integers) -> Integers:
    """Return what the key of each of the places `asks` was last set to before it, -1 where it was not."""
    size = int(max(asks.max(initial=0), places.max(initial=0))) + 1
    turns = set_key * size + places
    order = np.argsort(turns)
    turns = turns[order]
    at = np.searchsorted(turns, key * size + asks) - 1
    is_same = (at >= 0) & (turns[np.maximum(at, 0)] // size == key)
    latest: Integers = np.where(is_same, values[order][np.maximum(at, 0)], -1)
    return latest
