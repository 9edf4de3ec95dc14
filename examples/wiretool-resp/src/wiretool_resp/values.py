"""RESP values: a line with the kind and a text or count, and for some kinds a payload or values inside after it.

Each has a JSON form. A bulk string is text, or {"hex": ...} where it is not UTF-8; numbers, true, false, null and
arrays are themselves; every other kind is an object with its name: {"simple": "OK"}, {"map": [[1, 2]]}.
Source: "Redis serialization protocol specification" (redis.io), without its streamed kinds, which no server sends.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from wiretool import limits
from wiretool.codec.cursor import Span
from wiretool.codec.json_types import bytes_from, text_or_hex
from wiretool.errors import DecodeError, OverLimit

KINDS = {
    "+": "simple", "-": "error", ",": "double", "(": "big", "$": "bulk", "!": "bulk_error", "=": "verbatim",
    "*": "array", "~": "set", ">": "push", "%": "map", "|": "attributes",
}  # fmt: skip
_MARKS = {name: mark for mark, name in KINDS.items() if mark not in "$*|"}
#: Kinds with a payload, with values inside, and of these with pairs of values.
PAYLOADS, AGGREGATES, PAIRS = "$!=", "*~>%|", "%|"
#: Bytes of a payload, as servers bound them by default; values inside another; bytes of a line.
PAYLOAD_BYTES_MAX, ELEMENTS_MAX, LINE_BYTES_MAX = 512 * 1024 * 1024, 1024 * 1024, 64 * 1024
_LINE = re.compile(
    rb"(?:[+-][^\r\n]*|[:(][+-]?[0-9]+|,[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|inf|nan)|#[tf]|_|[$*]-1"
    rb"|[$!=*~>%|](?:0|[1-9][0-9]{0,9}))\r\n"
)
#: The fields with the counts of commands, in the words of Redis' errors.
_COUNTS = {"*": "multibulk length", "$": "bulk length"}
#: Bytes of an unfinished frame after which its walk is remembered.
_LONG = 4_096
_PLAIN_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")


class Head(NamedTuple):
    """The line of a value, its end, that of the payload (maybe after the bytes), and how many values are inside."""

    mark: str
    text: str
    line_end: int
    stop: int
    inside: int


def _head(data: bytes, frame_at: int, at: int, end: int) -> Head | None:
    """Return the head of the value at `data[at]`, None while its line is not whole. DecodeError: none begins there."""
    found = _LINE.match(data, at, min(end, at + LINE_BYTES_MAX))
    if found is None:
        is_begun = data[at : at + 1] in b"+-:(,#_$*!=~>%|" and data.find(b"\n", at, end) < 0
        if is_begun and end - at < LINE_BYTES_MAX:
            return None
        path = _COUNTS.get(data[at : at + 1].decode("latin-1"), "")
        raise DecodeError(
            "bad-line", f"{data[at : min(at + 16, end)]!r} begins no value", path=path, offset=at - frame_at
        )
    line = found[0].decode("latin-1")
    mark, text, stop = line[0], line[1:-2], found.end()
    if mark not in PAYLOADS + AGGREGATES or text == "-1":
        return Head(mark, text, stop, stop, 0)
    if int(text) > (bound := PAYLOAD_BYTES_MAX if mark in PAYLOADS else ELEMENTS_MAX):
        why = f"a count of {text}, expected {bound} at most"
        raise OverLimit("too-large", why, path=_COUNTS.get(mark, ""), offset=at - frame_at)
    if mark in AGGREGATES:
        return Head(mark, text, stop, stop, int(text) * (2 if mark in PAIRS else 1) + (mark == "|"))
    stop += int(text) + 2
    if stop <= end and data[stop - 2 : stop] != b"\r\n":
        raise DecodeError("bad-end", "a payload without CR and LF after it", offset=stop - 2 - frame_at)
    return Head(mark, text, found.end(), stop, 0)


class FrameWalk:
    """Finds where frames end. It goes on where it stopped when more bytes of a long frame have come."""

    def __init__(self, elements: str = "") -> None:
        """`elements`: the only kind that may be inside another, as in commands."""
        self._elements, self._walked, self._missing = elements, b"", 1

    def length(self, data: bytes, at: int, end: int) -> int:
        """Return the bytes of the value at `data[at]`, 0 while that is not known. DecodeError: none begins there."""
        is_known = bool(self._walked) and data.startswith(self._walked, at, end)
        place, missing = (at + len(self._walked), self._missing) if is_known else (at, 1)
        while missing:
            if place - at >= _LONG:
                self._walked, self._missing = data[at:place], missing
            mark = data[place : min(place + 1, end)].decode("latin-1")
            if self._elements and place > at and mark not in self._elements:
                raise DecodeError("bad-command", f"expected '$', got '{mark}'", offset=place - at)
            head = _head(data, at, place, end)
            if head is None or (head.stop > end and missing > 1):
                return 0
            if self._elements and head.text == "-1":
                raise DecodeError("bad-command", "a null in a command", path=_COUNTS[mark], offset=place - at)
            place, missing = head.stop, missing + head.inside - 1
        return place - at


def _heads(data: bytes, at: int, end: int) -> Iterator[tuple[int, Head]]:
    """Yield the heads of all values in a whole frame, with where each begins."""
    begin = at
    while at < end and (head := _head(data, begin, at, end)) is not None:
        yield at, head
        at = head.stop


def spans_of(path: str, data: bytes, at: int, end: int) -> Iterator[Span]:
    """Yield the lines and payloads of a whole frame, which tile it."""
    for number, (begin, head) in enumerate(_heads(data, at, end)):
        yield Span(begin, head.line_end - begin, f"{path}[{number}]", KINDS.get(head.mark, "value"), head.text)
        if head.stop > head.line_end:
            payload = data[head.line_end : head.stop]
            yield Span(head.line_end, len(payload), f"{path}[{number}].payload", "bytes string", payload)


def read_value(data: bytes, at: int, end: int) -> Any:
    """Return the JSON form of the value that is the whole of `data[at:end]`."""
    return _read(_heads(data, at, end), data, at, 0)


def _read(heads: Iterator[tuple[int, Head]], data: bytes, begin: int, depth: int) -> Any:
    at, (mark, text, line_end, stop, inside) = next(heads)
    if depth > limits.NESTING_MAX:
        raise OverLimit("nesting", f"more than {limits.NESTING_MAX} values inside one another", offset=at - begin)
    if mark in "$*" and text == "-1":
        return {"null": mark}
    if mark in AGGREGATES:
        values = [_read(heads, data, begin, depth + 1) for _ in range(inside)]
        if mark in PAIRS:
            pairs = [list(pair) for pair in zip(values[::2], values[1::2], strict=False)]
            return {"map": pairs} if mark == "%" else {"attributes": pairs, "value": values[-1]}
        return values if mark == "*" else {KINDS[mark]: values}
    if mark in PAYLOADS:
        payload = text_or_hex(data[line_end : stop - 2])
        return payload if mark == "$" else {KINDS[mark]: payload}
    if mark == ":":
        return int(text) if _PLAIN_NUMBER.fullmatch(text) else {"integer": text}
    return {"_": None, "#": text == "t"}[mark] if mark in "_#" else {KINDS[mark]: text_or_hex(text.encode("latin-1"))}


def write_value(value: Any) -> bytes:
    """Return the bytes of a value in its JSON form; bytes are a bulk string. ValueError, TypeError: it has none."""
    match value:
        case None | bool():
            return {None: b"_\r\n", True: b"#t\r\n", False: b"#f\r\n"}[value]
        case int():
            return b":%d\r\n" % value
        case bytes() | str() | {"hex": _}:
            return write_payload("$", value if isinstance(value, bytes) else bytes_from(value))
        case list():
            return _write_inside("*", value)
        case {"null": "$" | "*" as mark}:
            return f"{mark}-1\r\n".encode()
        case {"attributes": list() as pairs, "value": inner}:
            return _write_inside("|", pairs) + write_value(inner)
        case {"integer": str() as text}:
            return _write_line(":", text.encode())
        case {**named} if len(named) == 1 and (mark := _MARKS.get(str(next(iter(named))))):
            (inner,) = named.values()
            if mark in AGGREGATES and isinstance(inner, list):
                return _write_inside(mark, inner)
            return (write_payload if mark in PAYLOADS else _write_line)(mark, bytes_from(inner))
    raise ValueError(f"{value!r} is the JSON form of no RESP value")


def _write_inside(mark: str, values: list[Any]) -> bytes:
    flat = [each for key, value in values for each in (key, value)] if mark in PAIRS else values
    return b"%c%d\r\n" % (ord(mark), len(values)) + b"".join(map(write_value, flat))


def write_payload(mark: str, payload: bytes) -> bytes:
    """Return a payload with its kind and length in front."""
    return b"%c%d\r\n%b\r\n" % (ord(mark), len(payload), payload)


def _write_line(mark: str, text: bytes) -> bytes:
    line = mark.encode() + text + b"\r\n"
    if not _LINE.fullmatch(line):
        raise ValueError(f"{text[:32]!r} cannot follow {mark!r}")
    return line
