"""Watermarks, as the controller appends them to the `_MARK` stream of a stream and readers find them there.

Each is one event: a record of VersionedSerializer, with the position as a map of segments. The layout is that of the
watermarks of a real server 0.13.0.
"""

from collections.abc import Sequence
from typing import NamedTuple

from wiretool.codec.doubles import pack_double
from wiretool.errors import EncodeError

#: Before each record: format, version, one revision, revision 0; the length of its data follows.
_RECORD = bytes([0, 0, 1, 0])
_ONE_BYTE_MAX = 0x7F
_TWO_BYTES_MAX = 0x3FFF
_TWO_BYTES = 0x8000


class SegmentPosition(NamedTuple):
    """An offset in a segment, which has keys from `low` to below `high`."""

    segment: int
    low: float
    high: float
    offset: int


def encode_watermark(lower: int, upper: int, position: Sequence[SegmentPosition]) -> bytes:
    """Return the event of a watermark: everything before the position has a time of at most `upper`.

    `lower`: no writer will write anything older. Times are the writers' own.
    """
    entries = b"".join(
        _record(_i64(each.segment) + pack_double(each.low) + pack_double(each.high)) + _i64(each.offset)
        for each in position
    )
    return _record(_i64(lower) + _i64(upper) + _compact(len(position)) + entries)


def _record(data: bytes) -> bytes:
    return _RECORD + len(data).to_bytes(4, "big") + data


def _i64(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def _compact(count: int) -> bytes:
    """Return a count as the serializer packs it: the first two bits tell how many bytes there are."""
    if count <= _ONE_BYTE_MAX:
        return bytes([count])
    if count <= _TWO_BYTES_MAX:
        return (_TWO_BYTES | count).to_bytes(2, "big")
    raise EncodeError(f"a watermark over {count} segments; expected at most {_TWO_BYTES_MAX}")
