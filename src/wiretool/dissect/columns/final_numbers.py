"""Batches of pending output, with the final numbers of its records."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np
from msgspec.structs import force_setattr

from wiretool.batches.batch import Batch, FrameRun
from wiretool.codec.columns import Integers
from wiretool.dissect.columns.numbering import Numbers
from wiretool.dissect.columns.pending_output import PendingOutput
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.records import Record


def batch_of(output: PendingOutput, provisional: Numbers) -> Batch:
    """Return the batch of all pending output, which gets final numbers; later output has larger ones."""
    rows = [_rows_of(run) for run in output.runs]
    single = np.array([record.n for record in output.records], np.int64)
    parts = [single, *(run.frames.numbers[mine] for run, mine in zip(output.runs, rows, strict=True))]
    first, numbers = provisional.settle(np.concatenate(parts))
    of_run = np.split(numbers, np.cumsum([len(part) for part in parts])[:-1])
    runs = [_final_run(*each, provisional) for each in zip(output.runs, rows, of_run[1:], strict=True)]
    return Batch(first, len(numbers), runs, _final_records(output.records, of_run[0], provisional))


def _rows_of(run: FrameRun) -> Integers | slice:
    """Return the frames of a run that are in columns, in order."""
    if sum(len(group.rows) for group in run.groups) == len(run.frames.starts):
        return slice(None)
    return np.sort(np.concatenate([group.rows for group in run.groups]))


def _final_run(run: FrameRun, rows: Integers | slice, numbers: Integers, provisional: Numbers) -> FrameRun:
    every = numbers
    if len(numbers) < len(run.frames.numbers):
        every = run.frames.numbers.copy()
        every[rows] = numbers
    groups = [replace(group, reply_to=_answered(group.reply_to, provisional)) for group in run.groups]
    return replace(run, frames=replace(run.frames, numbers=every), groups=groups)


def _answered(reply_to: Integers | None, provisional: Numbers) -> Integers | None:
    if reply_to is None:
        return None
    is_reply = reply_to != NO_REPLY
    if is_reply.all():
        return provisional.final(reply_to)
    final = reply_to.copy()
    final[is_reply] = provisional.final(reply_to[is_reply])
    return final


def _final_records(records: list[Record], numbers: Integers, provisional: Numbers) -> Sequence[Record]:
    """Set the numbers of records, which nothing else has seen yet; return them in order."""
    replies = [record for record in records if record.reply_to is not None]
    answered = provisional.final(np.array([record.reply_to for record in replies], np.int64))
    for record, n in zip(replies, answered.tolist(), strict=True):
        force_setattr(record, "reply_to", n)
    for record, n in zip(records, numbers.tolist(), strict=True):
        force_setattr(record, "n", n)
    records.sort(key=attrgetter("n"))
    return records
