"""Where a frame might begin after a hole, and how sure it is that one does.

After a hole the beginning of a frame is looked for at every byte. A continuation, a Ping with a payload or a short
fragment of compressed data has little that must fit: such a one begins a chain only where the hole ends, or the tail of
a broken frame would be taken for it. Inside a chain it is as good as any.
"""

import re
from collections.abc import Iterator

from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.offramp import events
from wiretool.protocols.offramp.closing import read_close
from wiretool.protocols.offramp.framing import Header, unmasked

_METHODS = rb"(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH) "
_STATUS = rb"HTTP/1\.[01] "
#: The high byte of a close code, with the low one where the high one alone says little.
_CODE = rb"(?:\x03[\xe8-\xf6]|[\x0b-\x13])"
#: A frame of a server comes behind text, or behind deflated data, whose last bits are zero: not behind 0x80.
_BEHIND_TEXT = rb"(?<![\x80-\xff])"


def _patterns(side: Side, may_deflate: bool) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """How a frame that is worth a look begins anywhere, and how one may begin where the hole ends."""
    if side == "client":
        short, long, empty, head, code, behind = rb"\x80-\xfd", rb"\xfe\xff", rb"\x80", _METHODS, b"", b""
    else:
        short, long, empty, head, code, behind = rb"\0-\x7d", rb"\x7e\x7f", rb"\0", _STATUS, _CODE, _BEHIND_TEXT
    whole = rb"\x01\x02\x81\x82" + (rb"\xc1\xc2" if may_deflate else b"")
    parts = rb"\x41\x42" if may_deflate else b""
    ways = [
        rb"[%s][%s%s]" % (whole, short, long),
        rb"[\x88-\x8a]%s" % empty,
        rb"\x88[%s]%s" % (short, code),
        head,
        *([rb"[%s][%s]" % (parts, long)] if parts else []),
    ]
    first = rb"[\0-\x02\x80-\x82\xc1\xc2%s][%s%s]|[\x88-\x8a][%s]" % (parts, short, long, short)
    return re.compile(rb"%s(?=%s)" % (behind, rb"|".join(ways))), re.compile(first)


_PATTERNS = {
    (side, may_deflate): _patterns(side, may_deflate) for side in ("client", "server") for may_deflate in (False, True)
}


#: With what a method or a status line begins; no frame that is looked for does.
_FIRST_LETTERS = b"CDGHOPT"
HEADS_MAX = 64


def candidates(side: Side, data: bytes, at: int, end: int, *, may_deflate: bool) -> Iterator[int]:
    """Where a lawful frame or an HTTP head might begin, ascending; of heads only so many, as each is dear to read."""
    anywhere, first = _PATTERNS[side, may_deflate]
    if first.match(data, at, end):
        yield at
        at += 1
    heads = 0
    for found in anywhere.finditer(data, at, end):
        place = found.start()
        if data[place] in _FIRST_LETTERS:
            heads += 1
            if heads > HEADS_MAX:
                continue
        yield place


# -- how sure --------------------------------------------------------------------------------------------------------

_FIRST_OF_JSON = re.compile(rb"[ \t\r\n]*\{")
#: How an object may begin, as far as one has looked.
_MAY_BEGIN = re.compile(rb'[ \t\r\n]*(?:\{[ \t\r\n]*(?:["}]|\Z)|\Z)')
#: From here on a frame is judged by its two ends.
LONG_BYTES = 256 * 1024
_NO_TEXT = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f]")
#: Defects of an event that is one all the same.
_SMALL_DEFECTS = frozenset({"missing_field", "bad_field_type", "out_of_range", "bad_partition_key"})


def trust_control(side: Side, header: Header, payload: bytes) -> int:
    """Points of a lawful control frame."""
    if header.opcode != 8:
        return 1
    if read_close(side, payload).wrong is not None:
        return 0
    return 2 if payload else 1


def trust_message(side: Side, content: bytes) -> int:
    """Points of a whole message: it is an event or nothing of ours, but a server ignores an empty one."""
    if not content:
        return int(side == "client")
    if _FIRST_OF_JSON.match(content) is None:
        return 0
    try:
        events.decode(content, side)
    except DecodeError as err:
        return int(err.kind in _SMALL_DEFECTS)
    return 4


def trust_plain(side: Side, header: Header, data: bytes, at: int, end: int) -> int:
    """Points of a whole uncompressed message, by its two ends where the rest would take long to look at.

    A search looks at very many frames that are none: what costs little comes first.
    """
    if header.length and not _has_ends_of_an_object(header, data, at, end):
        return 0
    if header.length > LONG_BYTES:
        return 4
    return trust_message(side, unmasked(data[at + header.size : end], header.mask))


def _has_ends_of_an_object(header: Header, data: bytes, at: int, end: int) -> bool:
    begun = unmasked(data[at + header.size : min(end, at + header.size + 64)], header.mask)
    count = min(4, header.length)
    turned = (header.length - count) % 4
    mask = header.mask[turned:] + header.mask[:turned]
    ending = unmasked(data[end - count : end], mask).rstrip(b" \t\r\n")
    return _MAY_BEGIN.match(begun) is not None and (not ending or ending.endswith(b"}"))


def trust_fragment(side: Side, header: Header, payload: bytes, *, may_deflate: bool) -> int:
    """Points of a part of a message."""
    if not payload:
        return int(side == "client")
    if may_deflate and not header.opcode:
        return 1
    if header.opcode and _FIRST_OF_JSON.match(payload) is None:
        return int(not payload.strip(b" \t\r\n"))
    return int(_NO_TEXT.search(payload) is None)
