"""Many strings at once: how they are put together, and escaped as JSON and CSV want it."""

import re
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wiretool.codec.columns import Bytes
from wiretool.codec.json_text import quoted
from wiretool.sinks.csv import FORMULA_BEGINS
from wiretool.sinks.printable import printable

#: Text of many rows in pieces: the same in all of them, or one string a row.
Piece: TypeAlias = str | pa.Array
#: Which bytes of ASCII text JSON does not have as they are, and which a terminal had better not see.
_JSON_ESCAPED = np.array([len(quoted(chr(byte))) > 3 for byte in range(128)] + [True] * 128)
_CONTROLS = np.array([not chr(byte).isprintable() for byte in range(128)] + [True] * 128)
_FORMULA = f"^[{re.escape(''.join(FORMULA_BEGINS))}]"
#: What a cell of CSV is quoted for.
_CSV_SPECIAL = re.escape('",\n\r').join("[]")


def joined(pieces: Sequence[Piece], count: int) -> pa.Array:
    """The pieces side by side, `count` strings; null where one of the pieces is."""
    merged: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    if all(isinstance(piece, str) for piece in merged):
        return pa.repeat(pa.scalar("".join(map(str, merged)), pa.string()), count)
    if len(merged) == 1:
        return merged[0]
    scalars = [pa.scalar(piece, pa.string()) if isinstance(piece, str) else piece for piece in merged]
    return pc.binary_join_element_wise(*scalars, pa.scalar("", pa.string()))


def in_json(text: pa.Array) -> pa.Array:
    """ASCII strings as they stand between the quotes of JSON."""
    for byte in _kinds_of(text, _JSON_ESCAPED, first=ord("\\")):
        text = pc.replace_substring(text, chr(byte), quoted(chr(byte))[1:-1])
    return text


def in_terminal(text: pa.Array) -> pa.Array:
    """ASCII strings, made `printable`."""
    for byte in _kinds_of(text, _CONTROLS):
        text = pc.replace_substring(text, chr(byte), printable(chr(byte)))
    return text


def in_csv(text: pa.Array) -> pa.Array:
    """Strings as cells: those with a comma, a quote or a line end in them are quoted, and their quotes doubled."""
    special = pc.match_substring_regex(text, _CSV_SPECIAL)
    if not pc.any(special).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    whole = joined(['"', doubled, '"'], len(text))
    return whole if pc.all(special).as_py() else pc.if_else(special, whole, text)


def without_formulas(text: pa.Array) -> pa.Array:
    """Strings, with a quote in front of those that spreadsheets would run; as `csv.without_formula`."""
    is_formula = pc.match_substring_regex(text, _FORMULA)
    return pc.if_else(is_formula, joined(["'", text], len(text)), text) if pc.any(is_formula).as_py() else text


def _kinds_of(text: pa.Array, wanted: Bytes, first: int = -1) -> list[int]:
    """Which of the wanted bytes are in the strings; the one that is in the escapes of the others comes `first`."""
    values = bytes_of(text)
    if not wanted[values].any():
        return []
    kinds = np.flatnonzero(wanted & (np.bincount(values, minlength=256) > 0)).tolist()
    return sorted(kinds, key=lambda byte: byte != first)


def bytes_of(text: pa.Array) -> Bytes:
    """All characters of strings, one after the other, in UTF-8."""
    _, bounds, values = text.buffers()
    if not len(text) or values is None:
        return np.zeros(0, np.uint8)
    ends = np.frombuffer(bounds, np.int32)[text.offset : text.offset + len(text) + 1]
    return np.frombuffer(values, np.uint8)[ends[0] : ends[-1]]
