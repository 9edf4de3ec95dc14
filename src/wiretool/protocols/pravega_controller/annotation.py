"""What each byte of a frame means, as far as the frame itself shows it."""

from collections.abc import Iterator

from hpack.exceptions import HPACKDecodingError
from hpack.hpack import decode_integer
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from wiretool.codec.cursor import Span
from wiretool.codec.message import Side
from wiretool.protocols.pravega_controller import frames
from wiretool.protocols.pravega_controller.calls import PREFIX_BYTES, wire_fields
from wiretool.protocols.pravega_controller.grpc_messages import is_whole
from wiretool.protocols.pravega_controller.messages import BY_TYPE, ERROR_CODE, SETTINGS

_FLAG_NAMES = {
    frames.DATA: {0x01: "END_STREAM", 0x08: "PADDED"},
    frames.HEADERS: {0x01: "END_STREAM", 0x04: "END_HEADERS", 0x08: "PADDED", 0x20: "PRIORITY"},
    frames.SETTINGS_TYPE: {0x01: "ACK"},
    frames.PUSH_PROMISE: {0x04: "END_HEADERS", 0x08: "PADDED"},
    frames.PING: {0x01: "ACK"},
    frames.CONTINUATION: {0x04: "END_HEADERS"},
}
#: Frames of fixed form: the size, name and type of each part; the rest has size 0.
_PARTS = {
    frames.PRIORITY: ((4, "depends_on", "u32"), (1, "weight", "u8")),
    frames.RST_STREAM: ((4, "error_code", "u32"),),
    frames.PING: ((8, "opaque_data", "bytes"),),
    frames.GOAWAY: ((4, "last_stream_id", "u31"), (4, "error_code", "u32"), (0, "debug_data", "bytes")),
    frames.WINDOW_UPDATE: ((4, "window_increment", "u31"),),
}
_BLOCKS = (frames.HEADERS, frames.PUSH_PROMISE, frames.CONTINUATION)


def annotate_frame(side: Side, data: bytes, at: int, end: int) -> list[Span]:
    """The spans of one frame, or of the preface."""
    if frames.is_preface(side, data, at, end) and end - at == len(frames.PREFACE):
        return [Span(at, end - at, "Preface", "preface", data[at:end].decode("ascii"))]
    header = frames.read_header(data, at)
    name = BY_TYPE[header.type].__name__ if header.type in BY_TYPE else "Unknown"
    flags = _FLAG_NAMES.get(header.type, {})
    shown = [text for bit, text in flags.items() if header.flags & bit]
    rest = header.flags & ~sum(flags)
    spans = [
        Span(at, 3, "frame.length", "u24", header.length),
        Span(at + 3, 1, "frame.type", "u8", f"{header.type} ({name})"),
        Span(at + 4, 1, "frame.flags", "u8", " ".join(shown + ([f"0x{rest:02x}"] if rest else [])) or "none"),
        Span(at + 5, 4, "frame.stream_id", "u31", header.stream),
    ]
    return [*spans, *_body_spans(header, name, data, at + frames.HEADER_BYTES, end)]


def _body_spans(header: frames.Header, name: str, data: bytes, at: int, end: int) -> Iterator[Span]:
    padding = 0
    if header.flags & _padded(header.type) and at < end:
        padding = data[at]
        yield Span(at, 1, f"{name}.pad_length", "u8", padding)
        at += 1
    stop = max(end - padding, at)
    if header.type == frames.DATA:
        yield from _data_spans(data, at, stop)
    elif header.type in _BLOCKS:
        yield from _block_spans(header, name, data, at, stop)
    elif header.type == frames.SETTINGS_TYPE:
        yield from _setting_spans(data, at, stop)
    else:
        yield from _part_spans(header, name, data, at, stop)
    if stop < end:
        yield Span(stop, end - stop, f"{name}.padding", "bytes", data[stop:end])


def _padded(kind: int) -> int:
    return frames.PADDED if kind in (frames.DATA, frames.HEADERS, frames.PUSH_PROMISE) else 0


def _part_spans(header: frames.Header, name: str, data: bytes, at: int, end: int) -> Iterator[Span]:
    for size, part, kind in _PARTS.get(header.type, ()):
        stop = at + size if size else end
        if at < end and stop <= end:
            yield Span(at, stop - at, f"{name}.{part}", kind, _part_value(part, kind, data[at:stop]))
            at = stop
    if at < end:
        yield Span(at, end - at, f"{name}.data", "bytes", data[at:end])


def _part_value(part: str, kind: str, raw: bytes) -> object:
    if kind == "bytes":
        return raw
    number = int.from_bytes(raw, "big")
    return ERROR_CODE.name_of(number) if part == "error_code" else number


def _setting_spans(data: bytes, at: int, end: int) -> Iterator[Span]:
    while end - at >= 6:
        number = int.from_bytes(data[at : at + 2], "big")
        value = int.from_bytes(data[at + 2 : at + 6], "big")
        yield Span(at, 6, f"Settings.{SETTINGS.get(number, number)}", "u16 + u32", value)
        at += 6
    if at < end:
        yield Span(at, end - at, "Settings.data", "bytes", data[at:end])


# -- messages of calls -------------------------------------------------------------------------------------------------


def _data_spans(data: bytes, at: int, end: int) -> Iterator[Span]:
    """The data; where it is by its looks one message, its prefix and protobuf's fields, which have numbers only."""
    if not is_whole(data[at:end]):
        if at < end:
            yield Span(at, end - at, "Data.data", "bytes", data[at:end])
        return
    yield Span(at, 1, "message.compressed", "u8", data[at])
    yield Span(at + 1, 4, "message.length", "u32", int.from_bytes(data[at + 1 : at + PREFIX_BYTES], "big"))
    at += PREFIX_BYTES
    for field in wire_fields(data, at, end) if not data[at - PREFIX_BYTES] else ():
        value = _wire_value(field.type, data[field.value_at : field.end])
        yield Span(field.at, field.end - field.at, f"message.{field.number}", _WIRE[field.type], value)
        at = field.end
    if at < end:
        yield Span(at, end - at, "message", "bytes", data[at:end])


_WIRE = {0: "varint", 1: "fixed64", 2: "length-delimited", 5: "fixed32"}


def _wire_value(wire_type: int, raw: bytes) -> object:
    if wire_type == 0:
        return _varint_value(raw)
    if wire_type != 2:
        return int.from_bytes(raw, "little")
    return raw.decode("ascii") if raw.isascii() and raw.decode("ascii").isprintable() else raw


def _varint_value(raw: bytes) -> int:
    return sum((byte & 0x7F) << (7 * index) for index, byte in enumerate(raw))


# -- header blocks -----------------------------------------------------------------------------------------------------


def _block_spans(header: frames.Header, name: str, data: bytes, at: int, end: int) -> Iterator[Span]:
    if header.type == frames.HEADERS and header.flags & frames.PRIORITISED and end - at >= 5:
        yield Span(at, 5, f"{name}.priority", "u32 + u8", data[at : at + 5])
        at += 5
    if header.type == frames.PUSH_PROMISE and end - at >= 4:
        yield Span(at, 4, f"{name}.promised_stream_id", "u31", int.from_bytes(data[at : at + 4], "big"))
        at += 4
    if header.type != frames.CONTINUATION:  # which may go on in the middle of a field
        for size, kind, key, value in _header_fields(data[at:end]):
            yield Span(at, size, f"{name}.headers.{key}", kind, value)
            at += size
    if at < end:
        yield Span(at, end - at, f"{name}.headers", "header block", data[at:end])


def _header_fields(block: bytes) -> Iterator[tuple[int, str, str, str]]:
    """Size, kind, name and value of each field of a block, as far as they can be told."""
    at = 0
    while at < len(block):
        try:
            field = _header_field(block, at)
        except HPACKDecodingError:
            return
        yield field
        at += field[0]


def _header_field(block: bytes, at: int) -> tuple[int, str, str, str]:
    first = block[at]
    if first & 0x80:
        index, used = _integer(block, at, 7)
        return used, "indexed", *_entry(index)
    if first & 0x40 == 0 and first & 0x20:
        size, used = _integer(block, at, 5)
        return used, "u5+", "table_size", str(size)
    index, used = _integer(block, at, 6 if first & 0x40 else 4)
    name = _entry(index)[0]
    if not index:
        name, size = _string(block, at + used)
        used += size
    value, size = _string(block, at + used)
    kind = "literal, kept" if first & 0x40 else "literal, never kept" if first & 0x10 else "literal"
    return used + size, kind, name, value


def _entry(index: int) -> tuple[str, str]:
    """An entry of the static table; of the other one only its place, as what was said before is not known here."""
    if 1 <= index <= HeaderTable.STATIC_TABLE_LENGTH:
        name, value = HeaderTable.STATIC_TABLE[index - 1]
        return name.decode("ascii"), value.decode("ascii")
    return f"entry {index}", ""


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    return decode_integer(block[at : at + 16], bits)


def _string(block: bytes, at: int) -> tuple[str, int]:
    length, used = _integer(block, at, 7)
    raw = block[at + used : at + used + length]
    if len(raw) < length:
        raise HPACKDecodingError("a string after the end of its block")
    value = decode_huffman(raw) if block[at] & 0x80 else raw
    return value.decode("latin-1"), used + length
