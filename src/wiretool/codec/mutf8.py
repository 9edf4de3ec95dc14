"""Java's modified UTF-8 (java.io.DataInput): U+0000 is C0 80, a supplementary character two 3-byte surrogates."""

import re

from wiretool.errors import DecodeError

#: One encoded character as the Java reader takes it: overlong forms and a bare 00 pass, 4-byte forms do not.
_CHARACTER = re.compile(rb"[\x00-\x7f]|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}", re.DOTALL)


def decode_modified_utf8(raw: bytes) -> str:
    """The text of `raw`; DecodeError `bad-utf` at the byte that is no character. Lone surrogates are kept."""
    if raw.isascii():
        return raw.decode("ascii")
    units: list[int] = []
    at = 0
    while at < len(raw):
        found = _CHARACTER.match(raw, at)
        if found is None:
            raise DecodeError("bad-utf", f"0x{raw[at]:02x} begins no character of modified UTF-8", offset=at)
        units.append(_unit(found.group()))
        at = found.end()
    packed = b"".join(unit.to_bytes(2, "little") for unit in units)
    return packed.decode("utf-16-le", "surrogatepass")


def _unit(raw: bytes) -> int:
    if len(raw) == 1:
        return raw[0]
    if len(raw) == 2:
        return (raw[0] & 0x1F) << 6 | raw[1] & 0x3F
    return (raw[0] & 0x0F) << 12 | (raw[1] & 0x3F) << 6 | raw[2] & 0x3F


def encode_modified_utf8(text: str) -> bytes:
    """The bytes that Java's writer makes of `text`."""
    if text.isascii() and "\0" not in text:
        return text.encode("ascii")
    packed = text.encode("utf-16-le", "surrogatepass")
    units = (int.from_bytes(packed[at : at + 2], "little") for at in range(0, len(packed), 2))
    return b"".join(_encoded(unit) for unit in units)


def _encoded(unit: int) -> bytes:
    if 0 < unit < 0x80:
        return bytes((unit,))
    if unit < 0x800:
        return bytes((0xC0 | unit >> 6, 0x80 | unit & 0x3F))
    return bytes((0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F))
