"""Many frames of the batch style at once: as in the newest protocol, but for what payloads hold."""

from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import Column, Flags, Integers, Lists, Made, Numbers, Spans, Sparse, Struct, begins_of
from wiretool.codec.flatbuffers.columns import Tables, gather, read_tables
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.protocols.base.columns import UNSURE, Frames, Weights
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.sbp.columns.conversation import SbpColumns
from wiretool.protocols.sbp.columns.frames import FrameReader, TablesOf, envelopes_of
from wiretool.protocols.sbp.columns.payloads import Batches, Chains, Links, follow
from wiretool.protocols.sbp.columns.trust import SURE, trust_in
from wiretool.protocols.sbp.messages import SbpFrame
from wiretool.protocols.sbp.records import RECORD_MAGIC, body_form
from wiretool.protocols.sbp_0_1 import tables_s1, tables_s2
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.records import BatchMetaS1, BatchMetaS2, RecordMeta
from wiretool.protocols.sbp_0_1.session import BatchConversation

_SCHEMAS = (S1, S2)
#: Bytes of a batch in front of its meta: magic, base offset and a length; and of a record in front of its own.
_BATCH_HEAD, _RECORD_HEAD = 13, 8


class BatchFrameReader(FrameReader):
    """Reads frames of the batch style."""

    def batches(
        self, frame: SbpFrame, headers: TablesOf | None, data: bytes, starts: Integers, ends: Integers
    ) -> Batches | None:
        if headers is None or headers.cls not in _CARRIERS:
            return None
        meta, lists = _CARRIERS[headers.cls]
        # Without its header a payload is just bytes: the row path says so.
        is_read = headers.has.copy()
        payloads = Payloads(data, meta)
        cuts = _cut(headers, lists, starts, ends, is_read) if lists else payloads.split(starts, ends, is_read)
        forms = payloads.forms(cuts, is_read)
        return Batches(Lists(np.bincount(cuts.of, minlength=len(starts)), forms), is_read)


class BatchColumns(SbpColumns):
    """Reads connections once their schema is known."""

    def weigh(self, frames: Frames, owner: Integers) -> Weights:
        envelopes = envelopes_of(frames)
        both = np.stack([trust_in(BatchFrameReader(schema), frames, envelopes) for schema in _SCHEMAS])
        return weigh_schemas(both, owner)


def weigh_schemas(both: Integers, owner: Integers) -> Weights:
    """Return the weights of frames, whose trust by each schema is in `both`, one row for each.

    As `BatchConversation` has it, a frame that only one schema fits decides which is in use from then on.
    """
    trust = both.max(0)
    is_unsure = (both == UNSURE).any(0)
    firsts = begins_of(owner)
    counts = np.diff(firsts, append=len(owner))
    decides = ~is_unsure & (both[0] != both[1]) & (trust >= SURE)
    place = np.where(decides, np.arange(len(owner)), len(owner))
    decider = np.repeat(np.minimum.reduceat(place, firsts), counts) if len(firsts) else place
    passed = np.cumsum(is_unsure)
    has_doubt = passed - np.repeat(passed[firsts] - is_unsure[firsts], counts) > 0
    is_decided = (np.arange(len(owner)) >= decider) & ~has_doubt
    chosen = (both[1] > both[0])[np.minimum(decider, len(owner) - 1)].astype(np.int64)
    trust = np.where(is_decided, np.take_along_axis(both, chosen[None], 0)[0], trust)
    trust[is_unsure] = UNSURE
    schema_of = dict(zip(owner[is_decided].tolist(), chosen[is_decided].tolist(), strict=True))

    def trial(index: int) -> Conversation | None:
        conversation = BatchConversation(True)
        if index in schema_of:
            conversation.is_decided, conversation.schema = True, _SCHEMAS[schema_of[index]]
        return conversation

    return Weights(trust, is_decided, trial)


COLUMNS = BatchColumns(BatchFrameReader)


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


class Payloads:
    """The batches in payloads, which begin with a `meta` of one schema."""

    def __init__(self, data: bytes, meta: type[Table]) -> None:
        self._data = data
        self._view = np.frombuffer(data, np.uint8)
        self._meta = meta

    def split(self, starts: Integers, ends: Integers, is_read: Flags) -> Cuts:
        """The batches up to the end of each payload: each goes on as long as its records do."""

        def step(at: Integers, end: Integers) -> tuple[Links, Flags, Flags]:
            links, fits = self._batch(at, end)
            is_whole = np.ones(len(at), np.bool_)
            of, records = self._records(links.behind, end, fits, is_whole)
            behind = links.behind.copy()
            np.maximum.at(behind, of, records.behind)
            return links._replace(behind=behind), fits & is_whole, behind < end

        rows = np.flatnonzero(is_read)
        of, links = follow(step, lambda passed: self._metas(passed).is_read, rows, starts[rows], ends[rows], is_read)
        return Cuts(of, links.starts, links.behind)

    def forms(self, cuts: Cuts, is_read: Flags) -> Struct:
        """Batches in the form of `records.batch_form`; payloads with one that cannot be read are no longer read."""
        links, fits = self._batch(cuts.starts, cuts.ends)
        fields, is_meta = self._metas(links)
        is_whole = fits & is_meta
        of, records = self._records(links.behind, cuts.ends, fits, is_whole)
        record, is_record = self._record_metas(records)
        is_whole[of[~is_record]] = False
        behind = links.behind.copy()
        np.maximum.at(behind, of, records.behind)
        is_read[cuts.of[~(is_whole & (behind == cuts.ends))]] = False
        bodies = Spans(records.behind - records.body_lengths, records.body_lengths, is_text=False)
        inner = Struct({"offset_delta": record.columns["offset_delta"], "body": Made(bodies, body_form)}, len(of))
        return Struct(
            {
                "magic": Numbers(np.full(len(cuts.of), RECORD_MAGIC)),
                "base_offset": Numbers(gather(self._view, cuts.starts + 1, ">i8").astype(np.int64)),
                "meta": fields,
                "length": Numbers(cuts.ends - cuts.starts),
                "records": Lists(np.bincount(of, minlength=len(cuts.of)), inner),
            },
            len(cuts.of),
        )

    def _batch(self, at: Integers, end: Integers) -> tuple[Links, Flags]:
        """What stands in front of the records of batches, and of which it fits."""
        meta_length = gather(self._view, at + _BATCH_HEAD - 4, ">i4").astype(np.int64)
        behind = at + _BATCH_HEAD + meta_length
        fits = (self._view[at] == RECORD_MAGIC) & (meta_length >= 0) & (behind <= end)
        return Links(at, meta_length, np.zeros_like(at), np.where(fits, behind, at)), fits

    def _records(self, starts: Integers, ends: Integers, has_head: Flags, is_read: Flags) -> Chains:
        """The records of batches, from `starts` on: up to the end, or to where another batch begins."""

        def goes_on(at: Integers, end: Integers) -> Flags:
            is_record: Flags = (at < end) & (gather(self._view, at, "u1") != RECORD_MAGIC)
            return is_record

        def step(at: Integers, end: Integers) -> tuple[Links, Flags, Flags]:
            meta_length = gather(self._view, at, ">i4").astype(np.int64)
            body_length = gather(self._view, at + 4, ">i4").astype(np.int64)
            behind = at + _RECORD_HEAD + meta_length + body_length
            fits = (meta_length >= 0) & (body_length >= 0) & (behind <= end)
            return Links(at, meta_length, body_length, behind), fits, goes_on(behind, end)

        of = np.flatnonzero(has_head & goes_on(starts, ends))
        return follow(step, lambda passed: self._record_metas(passed).is_read, of, starts[of], ends[of], is_read)

    def _metas(self, batches: Links) -> Tables:
        starts = batches.starts + _BATCH_HEAD
        return read_tables(self._meta, self._data, starts, starts + batches.meta_lengths)

    def _record_metas(self, records: Links) -> Tables:
        starts = records.starts + _RECORD_HEAD
        return read_tables(RecordMeta, self._data, starts, starts + records.meta_lengths)
