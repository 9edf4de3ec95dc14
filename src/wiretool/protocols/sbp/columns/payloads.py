"""The record batches in the payloads of many frames at once: the columns of what records.py reads one by one."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import Bytes, Flags, Integers, Lists, Made, Numbers, Spans, Struct
from wiretool.codec.flatbuffers.columns import Tables, gather, read_tables
from wiretool.protocols.sbp.records import RECORD_MAGIC, RecordBatchMeta, body_form

#: Chains that are followed side by side however long they are, and how far fewer are: beyond, the row path is faster.
ABREAST_MIN, STEPS_FEW_MAX = 16, 256
#: After so many steps, and each time there were twice as many, it is looked whether what was passed can be read: the
#: row path stops at the first link that cannot.
STEPS_UNSEEN_MAX = 16
#: Bytes of an entry in front of its meta: magic and a length.
_ENTRY_HEAD = 5


class Batches(NamedTuple):
    """A list of batches for each payload, and which payloads could be read so."""

    column: Lists
    is_read: Flags


class Links(NamedTuple):
    """What is found at some places: where it begins, the lengths of its meta and body, where the next one begins."""

    starts: Integers
    meta_lengths: Integers
    body_lengths: Integers
    behind: Integers


class Chains(NamedTuple):
    """The links of chains, those of one after those of another, and of which chain each is."""

    of: Integers
    links: Links


#: Places and ends -> what is found there, whether it fits, and whether the chain goes on.
Step = Callable[[Integers, Integers], tuple[Links, Flags, Flags]]
#: Which links have a meta that can be read.
Sound = Callable[[Links], Flags]


def follow(step: Step, sound: Sound, of: Integers, starts: Integers, ends: Integers, is_read: Flags) -> Chains:
    """The links of chains from `starts` on; chains `of` which a link does not fit are no longer read."""
    parts: list[Chains] = [_joined([], of[:0])]
    at, steps, seen, unseen_max = starts, 0, 0, STEPS_UNSEEN_MAX
    while len(of):
        if len(of) < ABREAST_MIN and steps >= STEPS_FEW_MAX:
            is_read[of] = False
            break
        links, fits, goes_on = step(at, ends)
        is_read[of[~fits]] = False
        parts.append(Chains(of[fits], Links(*(column[fits] for column in links))))
        goes_on &= fits
        at, steps = links.behind, steps + 1
        if steps == unseen_max:
            passed = _joined(parts[seen:], of[:0])
            is_read[passed.of[~sound(passed.links)]] = False
            goes_on &= is_read[of]
            seen, unseen_max = len(parts), 2 * unseen_max
        of, at, ends = of[goes_on], at[goes_on], ends[goes_on]
    every = _joined(parts, of[:0])
    order = np.argsort(every.of, kind="stable")
    return Chains(every.of[order], Links(*(column[order] for column in every.links)))


def _joined(parts: Sequence[Chains], none: Integers) -> Chains:
    """The parts one after the other."""
    parts = [Chains(none, Links(none, none, none, none)), *parts]
    columns = zip(*(part.links for part in parts), strict=True)
    return Chains(np.concatenate([part.of for part in parts]), Links(*map(np.concatenate, columns)))


def read_entries(data: bytes, starts: Integers, ends: Integers) -> Batches:
    """The entries that the payloads `data[starts[i] : ends[i]]` consist of, in the form of `records.entry_form`."""
    view = np.frombuffer(data, np.uint8)
    is_read = np.ones(len(starts), np.bool_)

    def step(at: Integers, end: Integers) -> tuple[Links, Flags, Flags]:
        return _entry(view, at, end)

    def metas(entries: Links) -> Tables:
        meta_starts = entries.starts + _ENTRY_HEAD
        return read_tables(RecordBatchMeta, data, meta_starts, meta_starts + entries.meta_lengths)

    rows = np.arange(len(starts))
    of, entries = follow(step, lambda passed: metas(passed).is_read, rows, starts, ends, is_read)
    meta, is_meta = metas(entries)
    is_read[of[~is_meta]] = False
    bodies = Spans(entries.behind - entries.body_lengths, entries.body_lengths, is_text=False)
    forms = Struct(
        {
            "magic": Numbers(np.full(len(of), RECORD_MAGIC)),
            "meta": meta,
            "payload_len": Numbers(entries.body_lengths),
            "payload": Made(bodies, body_form),
            "length": Numbers(entries.behind - entries.starts),
        },
        len(of),
    )
    return Batches(Lists(np.bincount(of, minlength=len(starts)), forms), is_read)


def _entry(view: Bytes, at: Integers, end: Integers) -> tuple[Links, Flags, Flags]:
    """An entry: magic, length and meta, length and body."""
    meta_length = gather(view, at + 1, ">i4").astype(np.int64)
    body_at = at + _ENTRY_HEAD + meta_length
    body_length = gather(view, body_at, ">i4").astype(np.int64)
    behind = body_at + 4 + body_length
    fits = (view[at] == RECORD_MAGIC) & (meta_length >= 0) & (body_length >= 0) & (behind <= end)
    return Links(at, meta_length, body_length, behind), fits, behind < end
