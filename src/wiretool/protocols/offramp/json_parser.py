"""Strict JSON: text to values, exact and bounded.

Whole numbers come out exact. A member name twice in one object, something behind the value and a number that no
double holds are told beside the value; what is no JSON text raises.
"""

import json
import math
import re
from json import JSONDecodeError
from typing import Any, NamedTuple

from wiretool import limits
from wiretool.errors import DecodeError, OverLimit
from wiretool.expectations import json_words

#: A string, whole or cut off, or a bracket: what decides how deep a text nests.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1}


class Parsed(NamedTuple):
    """The first JSON value of a text, the last of a repeated member counting, and what speaks against it."""

    value: Any
    #: duplicate_key or trailing_data.
    error: DecodeError | None = None
    #: A number beyond every double, somewhere.
    overflow: DecodeError | None = None


def parse_json(text: str) -> Parsed:
    """The value of a JSON text; DecodeError malformed_json, nesting_too_deep or out_of_range (digits) where none is."""
    _check_nesting(text)
    start = _end_of_space(text, 0)
    hooks = _Hooks()
    try:
        value, end = hooks.decoder().raw_decode(text, start)
    except JSONDecodeError as err:
        raise DecodeError("malformed_json", json_words(err), offset=_byte(text, err.pos)) from err
    except RecursionError as err:
        raise OverLimit("nesting_too_deep", "nests deeper than can be followed here") from err
    end = _end_of_space(text, end)
    error = hooks.repeated
    if error is None and end < len(text):
        rest = ascii(text[end : end + 20])
        error = DecodeError("trailing_data", f"{rest} after the first value", offset=_byte(text, end))
    return Parsed(value, error, hooks.overflow)


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _byte(text: str, at: int) -> int:
    return len(text[:at].encode("utf-8", "surrogatepass"))


def _check_nesting(text: str) -> None:
    if text.count("[") + text.count("{") <= limits.JSON_NESTING_MAX:
        return
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += _DEPTH.get(token.group(), 0)
        if depth > limits.JSON_NESTING_MAX:
            why = f"nests deeper than {limits.JSON_NESTING_MAX}"
            raise OverLimit("nesting_too_deep", why, offset=_byte(text, token.start()))


class _Hooks:
    """What the parser of the standard library is told to do otherwise, and what it met."""

    def __init__(self) -> None:
        self.repeated: DecodeError | None = None
        self.overflow: DecodeError | None = None

    def decoder(self) -> json.JSONDecoder:
        return json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_float=self._float,
            parse_int=self._int,
            parse_constant=self._constant,
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs) and self.repeated is None:
            seen: set[str] = set()
            name = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            self.repeated = DecodeError("duplicate_key", f"{name!a} twice in one object")
        return members

    def _float(self, text: str) -> float:
        value = float(text)
        if math.isinf(value) and self.overflow is None:
            self.overflow = DecodeError("out_of_range", f"no double holds {text[:40]}")
        return value

    @staticmethod
    def _int(text: str) -> int:
        if len(text) > limits.JSON_INTEGER_DIGITS_MAX:
            raise OverLimit("out_of_range", f"a whole number of {len(text)} digits")
        return int(text)

    @staticmethod
    def _constant(text: str) -> Any:
        raise DecodeError("malformed_json", f"{text} is not a JSON value")
