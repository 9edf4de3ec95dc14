"""WebSocket frames of a whole stretch of a connection: where each begins, and their headers and payloads as arrays."""

import numpy as np

from wiretool.codec.columns import Flags, Integers, windows
from wiretool.codec.hops import Hops
from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.bulk import Frames
from wiretool.protocols.offramp import framing

#: First bytes of a frame that is a whole message, plain and compressed.
PLAIN, COMPRESSED = (0x81, 0x82), (0xC1, 0xC2)
_WHOLE = frozenset((*PLAIN, *COMPRESSED))
#: First bytes of Ping and Pong: they may stand anywhere, and no data frame depends on them.
_PINGS = (0x89, 0x8A)
_MASK_BYTES = 4

_IS_COMPRESSED = np.zeros(256, np.bool_)
_IS_COMPRESSED[list(COMPRESSED)] = True
_IS_WHOLE = np.zeros(256, np.bool_)
_IS_WHOLE[list(_WHOLE)] = True
_IS_PING = np.zeros(256, np.bool_)
_IS_PING[list(_PINGS)] = True
_SIZES = np.full(256, 2)
_SIZES[[126, 254]], _SIZES[[127, 255]] = 4, 10
_SIZES[128:] += _MASK_BYTES


def split(side: Side, data: bytes, at: int, end: int) -> Hops:
    """The frames of `side` in `data[at:end]`, the first of which begins at `at`.

    Broken where a header is none, and where an HTTP head begins.
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
    """Bytes of the frame at `data[at]`, 0 while that is not known; None where no frame begins there."""
    is_http = framing.is_http(side, data, at, end)
    if is_http is not False:
        return None if is_http else 0
    try:
        return framing.frame_extent(side, data, at, end)
    except DecodeError:
        return None


def is_compressed(data: bytes, starts: Integers) -> Flags:
    """Which of the frames that begin there are compressed messages by themselves."""
    flags: Flags = _IS_COMPRESSED[np.frombuffer(data, np.uint8)[starts]]
    return flags


class Heads:
    """The headers of frames, each a row. `is_whole`: a data frame that is a message by itself.

    Such a frame is lawful, if compression is; its payload has one byte at least, and of a client `client_max` at most.
    `is_ping`: a lawful Ping or Pong.
    """

    def __init__(self, frames: Frames, client_max: int) -> None:
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
        is_lawful &= (lengths > 0) & (frames.is_server | (lengths <= client_max))
        self.is_whole: Flags = _IS_WHOLE[first] & is_lawful

    def payloads(self, start: int, stop: int) -> list[bytes]:
        """What the frames in rows [start, stop) carry, without mask."""
        begins, ends = self._payloads[start:stop], self._ends[start:stop]
        data = self._data
        out = [data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        masked = np.flatnonzero(self.is_masked[start:stop])
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
    masks = np.ascontiguousarray(windows(np.frombuffer(data, np.uint8), _MASK_BYTES)[begins - _MASK_BYTES])
    every = (np.frombuffer(b"".join(parts), np.uint32) ^ np.repeat(masks.view(np.uint32)[:, 0], words)).tobytes()
    places = 4 * (np.cumsum(words) - words)
    return [every[at:to] for at, to in zip(places.tolist(), (places + lengths).tolist(), strict=True)]
