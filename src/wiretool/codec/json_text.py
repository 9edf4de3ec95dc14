"""JSON text of values and messages, fast and in plain ASCII, so that it may also be shown on a terminal."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from wiretool.codec.message import Message, fields_of
from wiretool.codec.nested import Nested
from wiretool.codec.types import Bool, Data, Int, ListOf, Uuid, WireType

_encode = msgspec.json.Encoder().encode
_quote_ascii = json.encoder.encode_basestring_ascii
_slow = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))
#: What JSON may leave as it is and a terminal had better not see: DEL, and all that is not ASCII.
_BEYOND = re.compile("[\x7f-\U0010ffff]")
#: How the two truth values are spelt.
_FLAGS = {False: "false", True: "true"}


def json_text(value: Any) -> str:
    """The JSON text of a JSON value, in ASCII without control characters; no number it has is not finite."""
    try:
        raw = _encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which msgspec does not write
        return _escaped(_slow.encode(_finite(msgspec.to_builtins(value))))
    if raw.isascii() and 0x7F not in raw:
        return raw.decode("ascii")
    return _escaped(raw.decode("utf-8"))


def quoted(text: str) -> str:
    """The JSON text of a string."""
    out = _quote_ascii(text)
    return out if "\x7f" not in out else _escaped(out)


def table_pieces(
    totals: Mapping[str, Mapping[str, Any]], tables: Iterable[tuple[str, Iterable[Mapping[str, Any]]]]
) -> Iterator[str]:
    """Yield an object of rows and of lists of rows, as `json.dumps` indents it by 2, in pieces of a row each.

    There may be very many rows. None is empty, no value of one is a structure, and `totals` has one at least.
    """
    before = "{"
    for name, total in totals.items():
        yield f'{before}\n  "{name}": {_row(total, "  ")}'
        before = ","
    for name, rows in tables:
        yield f',\n  "{name}": ['
        before = after = ""
        for row in rows:
            yield f"{before}\n    {_row(row, '    ')}"
            before, after = ",", "\n  "
        yield after + "]"
    yield "\n}\n"


def _row(row: Mapping[str, Any], indent: str) -> str:
    # `json.dumps` is slow with an indent.
    text = json.JSONEncoder(separators=(f",\n{indent}  ", ": ")).encode(row)
    return f"{{\n{indent}  {text[1:-1]}\n{indent}}}"


@cache
def json_writer(cls: type[Message]) -> Callable[[Any], str]:
    """A function from a message of `cls` to the JSON text of its fields, as `json_form` has them."""
    names: dict[str, Any] = {}
    parts = [f'"{field.name}":{_part(field.wire, f"m.{field.name}", names)}' for field in fields_of(cls)]
    source = f"def write(m):\n    return f'{{{{{','.join(parts)}}}}}'\n"
    # Compiled first: an interrupt inside exec() of mere text ends Python by the signal, whoever catches it.
    exec(compile(source, f"<JSON writer of {cls.__name__}>", "exec"), names)
    write: Callable[[Any], str] = names["write"]
    return write


def _part(wire: WireType, value: str, names: dict[str, Any]) -> str:
    """What stands in the f-string for one value; `names` gets the helpers that it calls."""
    if type(wire) is Int:
        return f"{{{value}}}"
    if type(wire) is Bool:
        names["flags"] = _FLAGS
        return f"{{flags[{value}]}}"
    if type(wire) is Uuid:
        return f'"{{{value}}}"'
    if isinstance(wire, Data) and type(wire).to_json is Data.to_json:
        return f'"{{{value}.hex()}}"'
    helper = f"h{len(names)}"
    names[helper] = _helper(wire)
    return f"{{{helper}({value})}}"


def _helper(wire: WireType) -> Callable[[Any], str]:
    if type(wire) is Nested:
        return json_writer(wire.cls)
    if type(wire) is ListOf:
        write = _helper(wire.element)
        return lambda values: f"[{','.join(map(write, values))}]"
    if type(wire).to_json is WireType.to_json:
        return _scalar
    return lambda value: json_text(wire.to_json(value))


def _scalar(value: Any) -> str:
    return quoted(value) if type(value) is str else json_text(value)


def _escaped(text: str) -> str:
    return _BEYOND.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return _quote_ascii(found.group())[1:-1] if found.group() != "\x7f" else "\\u007f"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
