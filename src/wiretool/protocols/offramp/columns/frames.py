"""WebSocket frames of one connection or many: where each begins, and their headers and payloads as arrays."""

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Flags, Integers, gathered, overlaid
from wiretool.codec.frames.boundaries import Headers, Hops
from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.base.columns import Frames
from wiretool.protocols.offramp import framing, http

#: First bytes of a frame that is a whole message, plain and compressed.
PLAIN, COMPRESSED = (0x81, 0x82), (0xC1, 0xC2)
_WHOLE = frozenset((*PLAIN, *COMPRESSED))
#: First bytes of Ping and Pong: they may stand anywhere, and no data frame depends on them.
_PINGS, _CLOSE = (0x89, 0x8A), 0x88
_MASK_BYTES = 4
#: What is read of a header at once: all but a mask, and a length of eight bytes.
_WORD_BYTES = 4

_IS_COMPRESSED = np.zeros(256, np.bool_)
_IS_COMPRESSED[list(COMPRESSED)] = True
_IS_WHOLE = np.zeros(256, np.bool_)
_IS_WHOLE[list(_WHOLE)] = True
_IS_PING = np.zeros(256, np.bool_)
_IS_PING[list(_PINGS)] = True
#: The beginning of compressed messages, and continuations. (The first letter of GET is neither.)
_OPCODES = np.arange(256) & framing.OPCODE
_MAY_EXPAND = (_OPCODES == 0) | np.isin(_OPCODES, (1, 2)) & (np.arange(256) & framing.RSV1 > 0)
_SIZES = np.full(256, 2)
_SIZES[[126, 254]], _SIZES[[127, 255]] = 4, 10
_SIZES[128:] += _MASK_BYTES


def split(side: Side, data: bytes, at: int, end: int) -> Hops:
    """The frames of `side` in `data[at:end]`, the first of which begins at `at`; HTTP messages without body are such.

    Broken where a header is none, and where an HTTP message with a body begins: its end may depend on earlier ones.
    """
    starts: list[int] = []
    append = starts.append
    masked, mask_bytes = (framing.MASKED, _MASK_BYTES) if side == "client" else (0, 0)
    short, long = masked + framing.SHORT_MAX, masked + 126
    head = 2 + mask_bytes
    last = end - head - 2
    while at < end:
        second = data[at + 1] if at <= last else 255
        if masked <= second <= long and data[at] in _WHOLE:
            stop = at + head + (second - masked if second <= short else 2 + (data[at + 2] << 8 | data[at + 3]))
        else:
            extent = _careful_extent(side, data, at, end)
            if not extent:
                return Hops(np.array(starts, np.int64), at, 0, is_broken=extent is None)
            stop = at + extent
        if stop > end:
            return Hops(np.array(starts, np.int64), at, stop - at)
        append(at)
        at = stop
    return Hops(np.array(starts, np.int64), at, 0)


def _careful_extent(side: Side, data: bytes, at: int, end: int) -> int | None:
    """Bytes of the frame at `data[at]`, 0 while that is not known; None where none begins there, or it has a body."""
    is_http = framing.is_http(side, data, at, end)
    if is_http is None:
        return 0
    try:
        return _head_extent(side, data, at, end) if is_http else framing.frame_extent(side, data, at, end)
    except DecodeError:
        return None


def _head_extent(side: Side, data: bytes, at: int, end: int) -> int | None:
    """Bytes of an HTTP message that is a head only, whatever was sent before it; None where it is not."""
    head = http.read_head(side, data, at, end)
    if head is None:
        return 0
    is_alone = head.status < 200 and http.body_length(head, data, at + head.size, end, answers_head=False) == 0
    return head.size if is_alone else None


class FrameHeaders(Headers):
    """Headers of WebSocket frames; each range is of a side."""

    def __init__(self, is_server: Flags) -> None:
        self._is_server = is_server

    def ends(self, data: bytes, starts: Integers, stops: Integers, ranges: Integers) -> Integers:
        ends = stops + 1
        is_there = starts + _WORD_BYTES <= stops
        at = starts[is_there]
        heads = overlaid(data, np.dtype(">u4"))[at].astype(np.int64)
        first, second, is_masked = heads >> 24, heads >> 16 & framing.LENGTH, heads & framing.MASKED << 16 > 0
        sizes = _SIZES[second] + _MASK_BYTES * is_masked + np.where(second == 126, heads & 0xFFFF, second)
        is_regular = _IS_WHOLE[first] & (second < 127) | _IS_PING[first] & (second <= framing.SHORT_MAX)
        is_regular &= is_masked != self._is_server[ranges[is_there]]
        ends[is_there] = np.where(is_regular, at + sizes, ends[is_there])
        return ends

    def walk(self, data: bytes, start: int, stop: int, index: int) -> Hops:
        return split("server" if self._is_server[index] else "client", data, start, stop)


def is_compressed(data: bytes, starts: Integers) -> Flags:
    """Return which of the frames that begin there are compressed messages by themselves."""
    flags: Flags = _IS_COMPRESSED[np.frombuffer(data, np.uint8)[starts]]
    return flags


def may_expand(data: bytes, starts: Integers) -> Flags:
    """Return which of the frames that begin there may belong to a compressed message."""
    flags: Flags = _MAY_EXPAND[np.frombuffer(data, np.uint8)[starts]]
    return flags


class Heads:
    """The headers of frames, each a row. `is_whole`: a data frame that is a message by itself.

    Such a frame is lawful, if compression is; its payload has one byte at least, and no more than a client
    may send. `is_ping`: a lawful Ping or Pong.
    """

    def __init__(self, frames: Frames) -> None:
        view = np.frombuffer(frames.data, np.uint8)
        first, second = view[frames.starts], view[frames.starts + 1]
        self._data = frames.data
        self._ends = frames.ends
        self._payloads: Integers = frames.starts + _SIZES[second]
        self.is_masked: Flags = second >= framing.MASKED
        self.is_compressed: Flags = _IS_COMPRESSED[first]
        self.is_server = frames.is_server
        is_lawful = self.is_masked != frames.is_server
        lengths = frames.ends - self._payloads
        self.is_ping: Flags = _IS_PING[first] & is_lawful & (lengths <= framing.SHORT_MAX)
        is_lawful &= (lengths > 0) & (frames.is_server | (lengths <= limits.OFFRAMP_CLIENT_MESSAGE_BYTES_MAX))
        self.is_whole: Flags = _IS_WHOLE[first] & is_lawful
        self.is_close: Flags = first == _CLOSE

    def payloads(self, rows: Integers) -> list[bytes]:
        """Return the payloads of the frames in these rows, without mask."""
        begins, ends = self._payloads[rows], self._ends[rows]
        data = self._data
        out = [data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        masked = np.flatnonzero(self.is_masked[rows])
        if len(masked):
            found = unmasked(data, begins[masked], ends[masked])
            for row, payload in zip(masked.tolist(), found, strict=True):
                out[row] = payload
        return out


def unmasked(data: bytes, begins: Integers, ends: Integers) -> list[bytes]:
    """The payloads `data[begins[i] : ends[i]]` without the masks, which stand in front of each."""
    lengths = ends - begins
    words = (lengths + 3) // 4
    stops = begins + 4 * words
    parts = [data[begin:stop] for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)]
    latest = int(stops.argmax())
    parts[latest] += bytes(max(int(stops[latest]) - len(data), 0))  # only one frame can be the last
    masks = gathered(data, begins - _MASK_BYTES, "u4")
    every = (np.frombuffer(b"".join(parts), np.uint32) ^ np.repeat(masks, words)).tobytes()
    places = 4 * (np.cumsum(words) - words)
    return [every[at:to] for at, to in zip(places.tolist(), (places + lengths).tolist(), strict=True)]
