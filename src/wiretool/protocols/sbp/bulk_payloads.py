"""The record batches in the payloads of many frames at once: the columns of what records.py reads one by one."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import Bytes, Flags, Integers, Lists, Made, Numbers, Spans, Struct
from wiretool.codec.flatbuffers_columns import gather, read_tables
from wiretool.protocols.sbp.records import RECORD_MAGIC, RecordBatchMeta, body_form

#: Chains that are followed side by side however long they are, and how far fewer are: beyond, the row path is faster.
ABREAST_MIN, STEPS_FEW_MAX = 16, 256


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


def follow(step: Step, of: Integers, starts: Integers, ends: Integers, is_read: Flags) -> Chains:
    """The links of chains from `starts` on; chains `of` which a link does not fit are no longer read."""
    parts: list[Chains] = [Chains(of[:0], Links(*([of[:0]] * 4)))]
    at, steps = starts, 0
    while len(of):
        if len(of) < ABREAST_MIN and steps >= STEPS_FEW_MAX:
            is_read[of] = False
            break
        links, fits, goes_on = step(at, ends)
        is_read[of[~fits]] = False
        parts.append(Chains(of[fits], Links(*(column[fits] for column in links))))
        goes_on &= fits
        of, at, ends = of[goes_on], links.behind[goes_on], ends[goes_on]
        steps += 1
    every = np.concatenate([part.of for part in parts])
    columns = [np.concatenate(column) for column in zip(*(part.links for part in parts), strict=True)]
    order = np.argsort(every, kind="stable")
    return Chains(every[order], Links(*(column[order] for column in columns)))


def read_entries(data: bytes, starts: Integers, ends: Integers) -> Batches:
    """The entries that the payloads `data[starts[i] : ends[i]]` consist of, in the form of `records.entry_form`."""
    view = np.frombuffer(data, np.uint8)
    is_read = np.ones(len(starts), np.bool_)
    of, entries = follow(lambda at, end: _entry(view, at, end), np.arange(len(starts)), starts, ends, is_read)
    meta_starts = entries.starts + 5
    meta_ends = meta_starts + entries.meta_lengths
    meta, is_meta = read_tables(RecordBatchMeta, data, meta_starts, meta_ends)
    is_read[of[~is_meta]] = False
    forms = Struct(
        {
            "magic": Numbers(np.full(len(of), RECORD_MAGIC)),
            "meta": meta,
            "payload_len": Numbers(entries.body_lengths),
            "payload": Made(Spans(meta_ends + 4, entries.body_lengths, is_text=False), body_form),
            "length": Numbers(entries.behind - entries.starts),
        },
        len(of),
    )
    return Batches(Lists(np.bincount(of, minlength=len(starts)), forms), is_read)


def _entry(view: Bytes, at: Integers, end: Integers) -> tuple[Links, Flags, Flags]:
    """An entry: magic, length and meta, length and body."""
    meta_length = gather(view, at + 1, ">i4").astype(np.int64)
    body_at = at + 5 + meta_length
    body_length = gather(view, body_at, ">i4").astype(np.int64)
    behind = body_at + 4 + body_length
    fits = (view[at] == RECORD_MAGIC) & (meta_length >= 0) & (body_length >= 0) & (behind <= end)
    return Links(at, meta_length, body_length, behind), fits, behind < end
