"""Trust in many frames at once, by one schema: as framing.py has it in each."""

import numpy as np

from wiretool.codec.columns import Integers, Numbers, Struct
from wiretool.codec.flatbuffers.layout import FIT, MISFIT, fits_of
from wiretool.protocols.base.columns import UNSURE, Frames
from wiretool.protocols.sbp.columns.frames import Envelopes, FrameReader, find_whole, read_headers
from wiretool.protocols.sbp.columns.payloads import Batches
from wiretool.protocols.sbp.framing import FIXED_BYTES
from wiretool.protocols.sbp.messages import FLATBUFFERS, SbpFrame, Schema

#: Trust in a frame with nothing out of the ordinary, and in one that merely may be of the schema.
SURE, POSSIBLE = 4, 1


def trust_in(reader: FrameReader, frames: Frames, envelopes: Envelopes) -> Integers:
    """Return `framing.trust` of each frame by the schema of the reader; UNSURE where that must be asked."""
    is_whole = find_whole(frames.data, envelopes)
    trust = np.zeros(len(is_whole), np.int64)
    for key in np.unique(envelopes.keys[is_whole]).tolist():
        rows = np.flatnonzero(is_whole & (envelopes.keys == key))
        trust[rows] = _trust_in_kind(reader, frames, envelopes, SbpFrame(opcode=key >> 8, flags=key & 0xFF), rows)
    return trust


def _trust_in_kind(
    reader: FrameReader, frames: Frames, envelopes: Envelopes, frame: SbpFrame, rows: Integers
) -> Integers:
    """Return the trust in whole frames of an operation, with the flags of `frame`."""
    schema, mine = reader.schema, envelopes.take(rows)
    cls = schema.header_table(frame)
    starts = frames.starts[rows] + FIXED_BYTES
    has_header, has_payload = mine.header_length > 0, mine.payload_length > 0
    fits = np.full(len(rows), FIT, np.int8)
    if cls is not None and has_header.any():
        ends = (starts + mine.header_length)[has_header]
        fits[has_header] = fits_of(cls, frames.data, starts[has_header], ends, _may_lack(schema))
    is_known = frame.is_system_error or (frame.opcode != 0 and schema.operation(frame.opcode) is not None)
    is_usual = (mine.flags & ~schema.flags == 0) & (mine.header_format == FLATBUFFERS) & is_known
    is_usual &= (has_header | (not schema.wants_header(frame))) & (has_payload | (mine.checksum == 0))
    trust = np.where(is_usual, SURE, POSSIBLE)
    with_batches = np.flatnonzero(has_payload & is_usual & (fits == FIT))
    if len(with_batches):
        of_them = mine.take(with_batches)
        headers = read_headers(cls, frames.data, starts[with_batches], of_them)
        bodies = of_them.payload_start, of_them.payload_start + of_them.payload_length
        every = np.ones(len(with_batches), np.bool_)
        batches = reader.batches(frame, headers.tables(every), frames.data, *bodies)
        if batches is not None:
            is_all = _batch_bytes(batches) == of_them.payload_length
            trust[with_batches] = np.where(batches.is_read, np.where(is_all, SURE, POSSIBLE), UNSURE)
    trust[fits != FIT] = UNSURE
    trust[fits == MISFIT] = 0
    return trust


def _batch_bytes(batches: Batches) -> Integers:
    """Return the bytes that the batches of each payload take."""
    counts, forms = batches.column.counts, batches.column.items
    assert isinstance(forms, Struct)
    lengths = forms.columns["length"]
    assert isinstance(lengths, Numbers)
    ends = np.append(0, np.cumsum(lengths.values))
    stops = np.cumsum(counts)
    taken: Integers = ends[stops] - ends[stops - counts]
    return taken


def _may_lack(schema: Schema) -> frozenset[str]:
    """Return the names of the required fields that real servers are known to leave out."""
    return frozenset(path.rpartition(".")[2] for path in schema.left_out)
