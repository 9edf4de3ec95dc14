"""The JSON objects of many texts at once, by the parser and the checks of events.py.

What that looks for in one text after another is looked for here in all of them together. Where that finds anything,
the texts go through `events.plain_object` one by one.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from wiretool import limits
from wiretool.codec.columns import Bytes, Integers
from wiretool.protocols.offramp.events import plain_object

_parse = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_COLON, _QUOTE, _BRACKET = 0x3A, 0x22, 0x5B
_SPACES = np.zeros(256, np.bool_)
_SPACES[list(b" \t\r\n")] = True
#: A name, or what looks like one, with space behind it.
_APART = re.compile(rb'"[ \t\r\n]+:')
#: A quote or a colon in disguise.
_ESCAPED = re.compile(rb"\\u00(?:22|3[aA])")
#: Eight digits; or characters close by, which does no harm.
_DIGITS, _DIGITS_MASK = np.uint64(0x3030_3030_3030_3030), np.uint64(0xF0F0_F0F0_F0F0_F0F0)
#: So many words of digits in a row, on a bound of as many, are in every number that is too long.
_DIGIT_WORDS = (limits.JSON_INTEGER_DIGITS_MAX - 16) // 16


def plain_objects(texts: Sequence[bytes]) -> list[dict[str, Any] | None]:
    """The members of each text; None where only `events.reference` can tell what it is."""
    try:
        values = list(map(_parse, texts))
        if _are_plain(texts, values):
            return values
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    return [plain_object(text) for text in texts]


def _are_plain(texts: Sequence[bytes], values: Sequence[Any]) -> bool:
    """Whether nothing in the texts, of which these are the values, can make them other than they seem.

    UnicodeDecodeError where one is not UTF-8.
    """
    if not texts:
        return True
    if set(map(type, values)) != {dict}:
        return False
    every = b"\n".join(texts)  # what ends a text ends a character and a number too
    if not every.isascii():
        every.decode("utf-8")
    view = np.frombuffer(every, np.uint8)
    colons = _colons(view)
    before = view[colons]
    if (_SPACES[before].any() and _APART.search(every)) or (b"\\" in every and _ESCAPED.search(every)):
        return False
    longest = max(map(len, texts))
    if _may_be_deep(view, colons, longest) or _may_be_long(every, longest):
        return False
    # The parser takes the last of repeated members. Each member of a text has its own `":`, and so has each that was
    # kept in what is written of it; what strings hold of these is there as often. So none is gone if the sums agree.
    written = np.frombuffer(_encode(values), np.uint8)
    written = written[_colons(written)]
    return int(np.count_nonzero(before == _QUOTE)) == int(np.count_nonzero(written == _QUOTE))


def _colons(view: Bytes) -> Integers:
    """Return the place before each colon."""
    return np.flatnonzero(view[1:] == _COLON)


def _may_be_deep(view: Bytes, colons: Integers, longest: int) -> bool:
    """Return whether a text may nest too deep; none is longer than `longest`.

    Each level but the innermost has the bracket of an array, or a colon.
    """
    most = (limits.JSON_NESTING_MAX - 2) // 2
    if longest <= most:
        return False
    return _are_close(colons, most, longest) or _are_close(np.flatnonzero(view == _BRACKET), most, longest)


def _are_close(places: Integers, count: int, longest: int) -> bool:
    """Return whether more than `count` of the places may be in one text."""
    return len(places) > count and bool((places[count:] - places[:-count]).min() < longest)


def _may_be_long(every: bytes, longest: int) -> bool:
    """Whether a whole number in them may have too many digits."""
    if longest <= limits.JSON_INTEGER_DIGITS_MAX:
        return False
    words = np.frombuffer(every, np.uint64, len(every) // 8)
    stretches = words[: len(words) // _DIGIT_WORDS * _DIGIT_WORDS].reshape(-1, _DIGIT_WORDS)
    return bool(((stretches & _DIGITS_MASK) == _DIGITS).all(1).any())
