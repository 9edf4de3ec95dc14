"""How sure it is that bytes are a frame of HTTP/2, by themselves."""

import re
from collections.abc import Sequence

from hyperframe import frame as h2

from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.pravega_controller import frames
from wiretool.protocols.pravega_controller.grpc_messages import is_whole
from wiretool.protocols.pravega_controller.headers import Pair, read_alone

#: The name of a header field as HTTP/2 has it (RFC 9113 §8.2.1), and fields that only gRPC has.
_NAME = re.compile(r":?[!#$%&'*+.^_`|~0-9a-z-]+")
_OF_GRPC = frozenset({"grpc-status", "grpc-message", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding"})


def trust_frame(side: Side, data: bytes, at: int, end: int, length_max: int) -> int:
    """See `Conversation.trust`; `length_max`: of the frames that this side may send."""
    if frames.is_preface(side, data, at, end):
        return 4 if end - at == len(frames.PREFACE) else 0
    if end - at < frames.HEADER_BYTES:
        return 0
    header = frames.read_header(data, at)
    if not frames.is_plausible(side, header, length_max) or header.length != end - at - frames.HEADER_BYTES:
        return 0
    try:
        frame = frames.read_frame(data, at, end)
    except DecodeError:
        return 0
    return _trust(frame) if frames.fits(frame) else 0


def _trust(frame: h2.Frame) -> int:
    if isinstance(frame, h2.DataFrame):
        return 2 if is_whole(frame.data) else 1
    if isinstance(frame, h2.HeadersFrame) and "END_HEADERS" in frame.flags:
        try:
            return _trust_headers(read_alone(frame.data))
        except DecodeError:
            return 0
    if isinstance(frame, h2.HeadersFrame | h2.ContinuationFrame | h2.PushPromiseFrame | h2.PriorityFrame):
        return 1
    # Lengths, flags and numbers of these have to fit.
    return 4 if isinstance(frame, h2.SettingsFrame) and len(frame.settings) > 1 else 2


def _trust_headers(headers: Sequence[Pair]) -> int:
    names = [name for name, _ in headers if name is not None]
    if not all(_NAME.fullmatch(name) for name in names):
        return 0
    if _OF_GRPC & set(names) or ("content-type", "application/grpc") in headers:
        return 4
    return 2 if names else 1
