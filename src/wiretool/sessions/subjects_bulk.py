"""What many frames are about, as codes: small numbers, each of which stands for a value that comes again."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from wiretool.batches.batch import Batch, FrameRun
from wiretool.batches.rows import records_of, values_of
from wiretool.codec.columns import Bytes, Choice, Column, Columns, Flags, Integers, Uuids
from wiretool.codec.types import uuid_text
from wiretool.protocols.bulk import Group
from wiretool.sessions.streams_bulk import Found, stream_ids
from wiretool.sessions.subjects import (
    SEGMENT_FIELDS,
    WRITER_FIELDS,
    Key,
    Mention,
    Subject,
    Subjects,
    mention_of,
    road_mention,
    segment_mention,
    stream_mention,
)

T = TypeVar("T", bound=Hashable)


class Codes(Generic[T]):
    """Gives every value a code, counting from 0."""

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._codes: dict[T, int] = {}
        for value in values:
            self.of(value)

    def __len__(self) -> int:
        return len(self._codes)

    def of(self, value: T) -> int:
        """The code of a value."""
        return self._codes.setdefault(value, len(self._codes))

    def all_of(self, values: Iterable[T]) -> Integers:
        """The codes of values."""
        return np.array([self.of(value) for value in values], np.int64)

    @property
    def values(self) -> Sequence[T]:
        """The value of each code."""
        return list(self._codes)


class Labels(NamedTuple):
    """Texts as codes: row i has `values[codes[i]]`, none where the code is -1. A single code is that of every row."""

    codes: Integers
    values: Sequence[str]


# -- what frames say by themselves -------------------------------------------------------------------------------------


def mention_codes(run: FrameRun, group: Group, codes: Codes[Mention]) -> Integers:
    """What each frame of a group says of its subjects, as a code; a single one is that of every frame."""
    if _has_header(run, group):
        found = stream_ids(group.columns)
        if found is not None:
            return _stream_codes(found, len(group.rows), codes)
    if not _is_plain(run, group):
        return codes.all_of(map(mention_of, records_of(alone(run, group))))
    if run.protocol == "offramp":
        return codes.all_of(road_mention(ends.connection, None) for ends in run.connections)[_owners(run, group)]
    segments, writers = _segments(group, run.frames.data), _labels(group.columns, WRITER_FIELDS, run.frames.data)
    width, height = len(writers.values) + 1, len(segments.values) + 1
    of_owner = _owners(run, group) * height
    triples = (of_owner + segments.codes + 1) * width + writers.codes + 1
    cells, of_row = distinct(triples, len(run.connections) * height * width)
    at = [(*divmod(pair, height), writer) for pair, writer in (divmod(triple, width) for triple in cells.tolist())]
    names, ids, ends = (*segments.values, None), (*writers.values, None), run.connections
    mentions = (
        segment_mention(ends[owner].connection, names[segment - 1], ids[writer - 1]) for owner, segment, writer in at
    )
    said: Integers = codes.all_of(mentions)[of_row]
    return said


def _owners(run: FrameRun, group: Group) -> Integers:
    """Return the index of the connection of each frame of a group; a single one is that of every frame."""
    return run.connection_of[:1] if len(run.connections) == 1 else run.connection_of[group.rows]


def _has_header(run: FrameRun, group: Group) -> bool:
    return group.cls is None and "header" in group.columns and run.protocol != "offramp"


def _stream_codes(found: Found, count: int, codes: Codes[Mention]) -> Integers:
    """The streams that each of `count` frames names, each once, as a code."""
    said = np.full(count, codes.of(Mention()))
    starts = np.flatnonzero(np.diff(found.rows, prepend=-1))
    stops = np.append(starts[1:], len(found.rows))
    is_single = stops - starts == 1
    ids, of_row = np.unique(found.ids[starts[is_single]], return_inverse=True)
    singles = codes.all_of(stream_mention([number]) for number in ids.tolist())
    said[found.rows[starts[is_single]]] = singles[of_row]
    for start, stop in zip(starts[~is_single].tolist(), stops[~is_single].tolist(), strict=True):
        said[found.rows[start]] = codes.of(stream_mention(found.ids[start:stop].tolist()))
    return said


def _is_plain(run: FrameRun, group: Group) -> bool:
    """Whether the columns of text say all; a field that is no column, or a header with streams, is asked as such."""
    if run.protocol == "offramp":
        return not _has(group, "road")
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
    heads = halves[begins].tobytes()
    ids: Codes[bytes] = Codes()
    codes = ids.all_of(heads[at : at + 16] for at in range(0, len(heads), 16))
    if len(ids) > 1:
        codes = np.repeat(codes, np.diff(begins, append=len(halves)))
    return Labels(codes, [uuid_text(each) for each in ids.values])


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


class Resolved(NamedTuple):
    """What each record of a batch is about by what it says, as a code, 0 for nothing; and what the keys stand for."""

    codes: Integers
    keys: Sequence[tuple[Key, tuple[Subject, ...]]]


def resolve(
    said: Integers, mentions: Sequence[Mention], about: Codes[tuple[Subject, ...]], subjects: Subjects
) -> Resolved | None:
    """What records are about that say those mentions, -1 for none; None where a key would be forgotten meanwhile.

    `said` is in order of the records. Nothing is remembered yet: that is what `keys` are for, in order.
    """
    keys: Codes[Key] = Codes()
    key_of = np.array([-1 if each.key is None else keys.of(each.key) for each in mentions] + [-1], np.int64)
    names = np.array([about.of(each.subjects) for each in mentions] + [0], np.int64)
    known = np.array([about.of(subjects.known.get(key, ())) for key in keys.values], np.int64)
    result = np.where((names == 0) & (key_of >= 0), np.append(known, 0)[key_of], names)
    is_set = (names > 0) & (key_of >= 0)
    changes = np.zeros(len(keys) + 1, np.bool_)
    changes[key_of[is_set & (names != np.append(known, 0)[key_of])]] = True
    if not changes.any():
        return Resolved(result[said], ())
    is_set &= changes[key_of]
    all_keys = keys.values
    new = sum(all_keys[key] not in subjects.known for key in set(key_of[is_set].tolist()))
    if not subjects.has_room(new):
        return None
    return _in_turn(said, key_of, names, result, is_set, changes[key_of], all_keys, about.values)


def _in_turn(
    said: Integers,
    key_of: Integers,
    names: Integers,
    result: Integers,
    is_set: Flags,
    changes: Flags,
    keys: Sequence[Key],
    values: Sequence[tuple[Subject, ...]],
) -> Resolved:
    """As `resolve`, where keys are set to something else on the way: a frame follows the latest that was said."""
    codes: Integers = result[said]
    turns = _Turns(np.flatnonzero(is_set[said]), len(said), lambda places: key_of[said[places]])
    asks = np.flatnonzero((changes & (names == 0))[said])
    latest = turns.latest(asks)
    codes[asks[latest >= 0]] = names[said[latest[latest >= 0]]]
    pairs = [(keys[key_of[said[place]]], values[names[said[place]]]) for place in turns.last_of_each()]
    return Resolved(codes, pairs)


class _Turns:
    """Places at which keys were set."""

    def __init__(self, places: Integers, count: int, key_at: Callable[[Integers], Integers]) -> None:
        self._places = places
        self._count = count
        self._key_at = key_at
        #: By key, and for each in order.
        self._sorted = np.sort(key_at(places) * count + places)

    def latest(self, places: Integers) -> Integers:
        """For each of the places the latest before it at which its key was set, -1 for none."""
        keys = self._key_at(places)
        at = np.searchsorted(self._sorted, keys * self._count + places) - 1
        found = self._sorted[np.maximum(at, 0)]
        return np.where((at >= 0) & (found // self._count == keys), found % self._count, -1)

    def last_of_each(self) -> list[int]:
        """The last place of each key; the keys in the order in which they were first set."""
        keys = self._sorted // self._count
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        lasts = np.append(firsts[1:], len(keys)) - 1
        order = np.argsort(self._sorted[firsts] % self._count)
        places: list[int] = (self._sorted[lasts] % self._count)[order].tolist()
        return places
