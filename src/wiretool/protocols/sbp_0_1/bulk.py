"""Many frames of a connection of the batch style at once: as in the newest protocol, but for what payloads hold."""

from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import Bytes, Column, Flags, Integers, Lists, Made, Numbers, Spans, Sparse, Struct
from wiretool.codec.flatbuffers import Table
from wiretool.codec.flatbuffers_columns import gather, read_tables
from wiretool.protocols.sbp.bulk import SbpBulk, TablesOf
from wiretool.protocols.sbp.bulk_payloads import Batches, Chains, Links, follow
from wiretool.protocols.sbp.messages import SbpFrame
from wiretool.protocols.sbp.records import RECORD_MAGIC, body_form
from wiretool.protocols.sbp_0_1 import tables_s1, tables_s2
from wiretool.protocols.sbp_0_1.records import BatchMetaS1, BatchMetaS2, RecordMeta

#: Bytes of a batch in front of its meta: magic, base offset and a length; and of a record in front of its own.
_BATCH_HEAD, _RECORD_HEAD = 13, 8


class BatchBulk(SbpBulk):
    """Requests and responses of one connection, once its schema is known."""

    def _batches(
        self, frame: SbpFrame, headers: TablesOf | None, data: bytes, starts: Integers, ends: Integers
    ) -> Batches | None:
        if headers is None or headers.cls not in _CARRIERS:
            return None
        meta, lists = _CARRIERS[headers.cls]
        # Without its header a payload is just bytes: the row path says so.
        is_read = headers.has.copy()
        view = np.frombuffer(data, np.uint8)
        cuts = _cut(headers, lists, starts, ends, is_read) if lists else _split(view, starts, ends, is_read)
        forms = _forms(data, view, meta, cuts, is_read)
        return Batches(Lists(np.bincount(cuts.of, minlength=len(starts)), forms), is_read)


#: What the batches behind a header begin with, and which list of the header says how long each is.
_CARRIERS: dict[type[Table], tuple[type[Table], str]] = {
    tables_s1.AppendRequest: (BatchMetaS1, "append_requests"),
    tables_s1.FetchResponse: (BatchMetaS1, "fetch_responses"),
    tables_s2.AppendRequest: (BatchMetaS2, "append_requests"),
    tables_s2.FetchResponse: (BatchMetaS2, ""),
}


class Cuts(NamedTuple):
    """Batches, those of one payload after those of another: of which payload, and the bytes of each."""

    of: Integers
    starts: Integers
    ends: Integers


def _cut(headers: TablesOf, lists: str, starts: Integers, ends: Integers, is_read: Flags) -> Cuts:
    """The batches of the lengths that the headers say; payloads with one that does not fit are no longer read."""
    of, lengths = _lengths(headers, lists)
    if headers.cls is tables_s1.FetchResponse:
        of, lengths = of[lengths != 0], lengths[lengths != 0]
    is_read[of[lengths <= 0]] = False
    of, lengths = of[is_read[of]], lengths[is_read[of]]
    behind = np.cumsum(lengths)
    count = np.bincount(of, minlength=len(starts))
    before = np.append(0, behind)[np.cumsum(count) - count]
    behind += (starts - before)[of]
    is_read[of[behind > ends[of]]] = False
    fits = is_read[of]
    return Cuts(of[fits], (behind - lengths)[fits], behind[fits])


def _lengths(headers: TablesOf, lists: str) -> tuple[Integers, Integers]:
    """The lengths in a list of each header: of which payload, and how many bytes."""
    column: Column = Sparse(headers.fields.columns[lists], headers.has)
    rows = np.arange(len(headers.has))
    while isinstance(column, Sparse):
        rows, column = rows[column.has], column.column
    if not isinstance(column, Lists) or not isinstance(column.items, Struct):
        return rows[:0], rows[:0]
    lengths = column.items.columns["batch_length"]
    assert isinstance(lengths, Numbers)
    return np.repeat(rows, column.counts), lengths.values


def _split(view: Bytes, starts: Integers, ends: Integers, is_read: Flags) -> Cuts:
    """The batches up to the end of each payload: each goes on as long as its records do."""

    def step(at: Integers, end: Integers) -> tuple[Links, Flags, Flags]:
        links, fits = _batch(view, at, end)
        is_whole = np.ones(len(at), np.bool_)
        of, records = _records(view, links.behind, end, fits, is_whole)
        behind = links.behind.copy()
        np.maximum.at(behind, of, records.behind)
        return links._replace(behind=behind), fits & is_whole, behind < end

    rows = np.flatnonzero(is_read)
    of, links = follow(step, rows, starts[rows], ends[rows], is_read)
    return Cuts(of, links.starts, links.behind)


def _batch(view: Bytes, at: Integers, end: Integers) -> tuple[Links, Flags]:
    """What stands in front of the records of batches, and of which it fits."""
    meta_length = gather(view, at + _BATCH_HEAD - 4, ">i4").astype(np.int64)
    behind = at + _BATCH_HEAD + meta_length
    fits = (view[at] == RECORD_MAGIC) & (meta_length >= 0) & (behind <= end)
    return Links(at, meta_length, np.zeros_like(at), np.where(fits, behind, at)), fits


def _records(view: Bytes, starts: Integers, ends: Integers, is_whole_head: Flags, is_read: Flags) -> Chains:
    """The records of batches, from `starts` on: up to the end, or to where another batch begins."""

    def goes_on(at: Integers, end: Integers) -> Flags:
        is_record: Flags = (at < end) & (gather(view, at, "u1") != RECORD_MAGIC)
        return is_record

    def step(at: Integers, end: Integers) -> tuple[Links, Flags, Flags]:
        meta_length = gather(view, at, ">i4").astype(np.int64)
        body_length = gather(view, at + 4, ">i4").astype(np.int64)
        behind = at + _RECORD_HEAD + meta_length + body_length
        fits = (meta_length >= 0) & (body_length >= 0) & (behind <= end)
        return Links(at, meta_length, body_length, behind), fits, goes_on(behind, end)

    of = np.flatnonzero(is_whole_head & goes_on(starts, ends))
    return follow(step, of, starts[of], ends[of], is_read)


def _forms(data: bytes, view: Bytes, meta: type[Table], cuts: Cuts, is_read: Flags) -> Struct:
    """Batches in the form of `records.batch_form`."""
    links, fits = _batch(view, cuts.starts, cuts.ends)
    fields, is_meta = read_tables(meta, data, cuts.starts + _BATCH_HEAD, links.behind)
    is_whole = fits & is_meta
    of, records = _records(view, links.behind, cuts.ends, fits, is_whole)
    meta_ends = records.starts + _RECORD_HEAD + records.meta_lengths
    record, is_record = read_tables(RecordMeta, data, records.starts + _RECORD_HEAD, meta_ends)
    is_whole[of[~is_record]] = False
    behind = links.behind.copy()
    np.maximum.at(behind, of, records.behind)
    is_read[cuts.of[~(is_whole & (behind == cuts.ends))]] = False
    body = Made(Spans(meta_ends, records.body_lengths, is_text=False), body_form)
    inner = Struct({"offset_delta": record.columns["offset_delta"], "body": body}, len(of))
    return Struct(
        {
            "magic": Numbers(np.full(len(cuts.of), RECORD_MAGIC)),
            "base_offset": Numbers(gather(view, cuts.starts + 1, ">i8").astype(np.int64)),
            "meta": fields,
            "length": Numbers(cuts.ends - cuts.starts),
            "records": Lists(np.bincount(of, minlength=len(cuts.of)), inner),
        },
        len(cuts.of),
    )
