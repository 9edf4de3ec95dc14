"""HTTP/2 frames (RFC 9113 §4): where one ends, what its header says, and where one may begin."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hyperframe.exceptions import HyperframeError, InvalidFrameError, InvalidPaddingError
from hyperframe.frame import ExtensionFrame, Frame

from wiretool.codec.message import Side
from wiretool.codec.remembering import remembered
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.pravega_controller.messages import BY_TYPE, ERRORS, SETTINGS

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER_BYTES = 9
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS_TYPE, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITISED = 0x01, 0x01, 0x04, 0x08, 0x20
#: The flags that each type defines.
_FLAGS = {DATA: 0x09, HEADERS: 0x2D, SETTINGS_TYPE: 0x01, PUSH_PROMISE: 0x0C, PING: 0x01, CONTINUATION: 0x04}
#: Types that belong to the connection, and to a stream; WINDOW_UPDATE to either.
_OF_CONNECTION = frozenset({SETTINGS_TYPE, PING, GOAWAY})
_OF_EITHER = frozenset({WINDOW_UPDATE})
#: The largest frame that everybody takes (RFC 9113 §4.2).
FRAME_LENGTH_DEFAULT = 16_384
#: The range of some settings (RFC 9113 §6.5.2).
_SETTING_RANGES = {"ENABLE_PUSH": (0, 1), "INITIAL_WINDOW_SIZE": (0, 2**31 - 1), "MAX_FRAME_SIZE": (2**14, 2**24 - 1)}


class Header(NamedTuple):
    """The nine bytes in front of a frame."""

    length: int
    type: int
    flags: int
    #: With the reserved bit.
    stream: int

    @property
    def stream_id(self) -> int:
        """Which stream it belongs to, 0 for the connection."""
        return self.stream & 0x7FFF_FFFF


def read_header(data: bytes, at: int) -> Header:
    """The header at `data[at]`, of which all nine bytes are there."""
    length = int.from_bytes(data[at : at + 3], "big")
    return Header(length, data[at + 3], data[at + 4], int.from_bytes(data[at + 5 : at + 9], "big"))


def is_preface(side: Side, data: bytes, at: int, end: int) -> bool:
    """Whether the bytes from `at` on are, as far as they go, the preface of a client: no frame is so long."""
    return (
        side == "client"
        and end - at >= 3
        and data[at] == PREFACE[0]  # the length of a frame seldom begins so
        and PREFACE.startswith(data[at : min(end, at + len(PREFACE))])
    )


def begins(side: Side, data: bytes) -> bool:
    """Whether a side may begin a connection so: a client with its preface, a server with settings."""
    if side == "client":
        return is_preface(side, data, 0, len(data))
    return len(data) >= HEADER_BYTES and data[3:9] == bytes((SETTINGS_TYPE, 0, 0, 0, 0, 0))


def frame_extent(side: Side, data: bytes, at: int, end: int, length_max: int) -> int:
    """Bytes of the frame at `data[at]`, 0 while that is not known; DecodeError for one longer than it may be."""
    if is_preface(side, data, at, end):
        return len(PREFACE)
    return plain_extent(data, at, end, length_max)


def plain_extent(data: bytes, at: int, end: int, length_max: int) -> int:
    """Return the length of the frame at `at`, after the preface; 0 where its header is incomplete."""
    if end - at < HEADER_BYTES:
        return 0
    length = int.from_bytes(data[at : at + 3], "big")
    if length > length_max:
        raise OverLimit("frame_size", f"a frame of {length} bytes, {length_max} are allowed", path="length")
    return HEADER_BYTES + length


#: RFC 9113, 6: what frames of a type have in common, beside their size and padding.
_RULES = {
    "Settings": "expected stream 0, and nothing in an acknowledgement",
    "Ping": "expected stream 0",
    "GoAway": "expected stream 0",
    "WindowUpdate": "expected an increment from 1 to 2^31-1",
    "PushPromise": "expected a stream other than 0, and an even number for the promised one",
}


@remembered
def read_frame(data: bytes, at: int, end: int) -> Frame:
    """The whole frame `data[at:end]`; DecodeError where its bytes do not fit its type, which is one of RFC 9113."""
    header = read_header(data, at)
    name = BY_TYPE[header.type].__name__
    try:
        frame, _ = Frame.parse_frame_header(memoryview(data)[at : at + HEADER_BYTES])
        frame.parse_body(memoryview(data)[at + HEADER_BYTES : end])
    except InvalidPaddingError as err:
        why = f"the padding does not fit into the {header.length} bytes of the frame"
        raise DecodeError("bad_padding", why, path=name, offset=HEADER_BYTES) from err
    except InvalidFrameError as err:
        why = f"a {name} frame does not have {header.length} bytes with these flags"
        raise DecodeError("frame_size", why, path=name, offset=HEADER_BYTES) from err
    except HyperframeError as err:
        rule = _RULES.get(name, "expected a stream other than 0")
        raise DecodeError("bad_frame", f"on stream {header.stream_id}; {rule}", path=name) from err
    assert not isinstance(frame, ExtensionFrame)
    return frame


def setting_defects(settings: dict[str, int]) -> Iterator[DecodeError]:
    """What is wrong with the values of settings."""
    for name, value in settings.items():
        low, high = _SETTING_RANGES.get(name, (0, 2**32 - 1))
        if not low <= value <= high:
            yield DecodeError("bad_setting", f"takes {low} to {high}, not {value}", path=f"Settings.{name}")


# -- searching ---------------------------------------------------------------------------------------------------------

#: Nine bytes that can be a header: length (up to 16,384, or as its type fixes it), type, its flags, stream. All that a
#: gRPC client opens are odd.
_LENGTH = rb"\x00(?:[\x00-\x3f].|\x40\x00)"
_ODD = rb"[\x00-\x7f]..[%s]" % b"".join(b"\\x%02x" % number for number in range(1, 256, 2))
_BEGINS = re.compile(
    rb"(?=(?:"
    rb"%(length)s(?:"
    rb"(?:\x00[\x00\x01\x08\x09]|\x01[\x00\x01\x04\x05\x08\x09\x0c\x0d\x20-\x2d]|\x05[\x04\x0c]|\x09[\x00\x04])%(odd)s"
    rb"|\x07\x00\x00\x00\x00\x00)"
    rb"|\x00\x00\x05\x02\x00%(odd)s"
    rb"|\x00\x00\x04(?:\x03\x00%(odd)s|\x08\x00[\x00-\x7f]...)"
    rb"|\x00[\x00\x01].\x04[\x00\x01]\x00\x00\x00\x00"
    rb"|\x00\x00\x08\x06[\x00\x01]\x00\x00\x00\x00"
    rb"|PRI \* HTTP/2\.0\r\n\r\nSM\r\n\r\n"
    rb"))" % {b"length": _LENGTH, b"odd": _ODD},
    re.DOTALL,
)


def frame_candidates(data: bytes, at: int, end: int) -> Iterator[int]:
    """Where a frame might begin: at `at`, and wherever nine bytes can be a header."""
    if at < end:
        yield at
    for found in _BEGINS.finditer(data, at + 1, end):
        yield found.start()


def is_plausible(side: Side, header: Header, length_max: int) -> bool:
    """Whether nine bytes can be the header of a frame that follows the rules."""
    if header.type not in BY_TYPE or header.length > max(length_max, FRAME_LENGTH_DEFAULT) or header.stream >= 2**31:
        return False
    if header.flags & ~_FLAGS.get(header.type, 0):
        return False
    if header.type in _OF_EITHER:
        return True
    if header.type in _OF_CONNECTION:
        return not header.stream
    return header.stream % 2 == 1 and not (header.type == PUSH_PROMISE and side == "client")


def fits(frame: Frame) -> bool:
    """Whether the numbers in a frame of fixed form are such as are sent."""
    if getattr(frame, "error_code", 0) not in ERRORS:
        return False
    settings = getattr(frame, "settings", {})
    named = {SETTINGS[number]: value for number, value in settings.items() if number in SETTINGS}
    # Beyond the registered ones there are a few of private use.
    return len(named) * 2 >= len(settings) and not any(setting_defects(named))
