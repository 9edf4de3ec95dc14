"""What a client's frame says, with a bound on the work that its header makes (limits.SBP_ENTRIES_MAX)."""

import msgspec

from wiretool import limits
from wiretool.codec.flatbuffers.reader import Reader
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.sbp.framing import FIXED_BYTES, HEADER_LENGTH_AT, FrameReading, read_frame
from wiretool.protocols.sbp.messages import CHECKSUM_BYTES, SbpFrame, Schema

OPCODE = slice(5, 7)
FLAGS_AT = 7


def read_request(schema: Schema, data: bytes) -> FrameReading:
    """What the frame says; a header with too many tables stays bytes, and OverLimit is the first of the defects."""
    excess = over_limit(schema, data)
    if excess is None:
        return read_frame(schema, data, 0, len(data))
    end = FIXED_BYTES + _header_length(data)
    blank = data[:FIXED_BYTES] + bytes(end - FIXED_BYTES) + data[end:]
    reading = read_frame(schema, blank, 0, len(blank))
    frame = msgspec.structs.replace(reading.frame, header=data[FIXED_BYTES:end])
    return reading._replace(frame=frame, defects=[excess, *reading.defects])


def over_limit(schema: Schema, data: bytes) -> OverLimit | None:
    """The error where the header of a frame has more tables than a server reads."""
    length = _header_length(data)
    if length <= limits.SBP_ENTRIES_MAX or length > len(data) - FIXED_BYTES - CHECKSUM_BYTES:
        return None  # no reader takes more tables than the header has bytes; or there is no such header
    cls = schema.header_table(SbpFrame(opcode=int.from_bytes(data[OPCODE], "big"), flags=data[FLAGS_AT]))
    if cls is None:
        return None
    reader = Reader(data, FIXED_BYTES, FIXED_BYTES + length, "bad_flatbuffer_header", exact=False)
    reader.tables_left = min(reader.tables_left, limits.SBP_ENTRIES_MAX)
    try:
        reader.root(cls)
    except OverLimit as err:
        return err
    except DecodeError:
        return None  # what is broken is found again when the frame is read
    return None


def _header_length(data: bytes) -> int:
    return int.from_bytes(data[HEADER_LENGTH_AT:FIXED_BYTES], "big")
