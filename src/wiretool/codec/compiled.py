"""The fast decoder: straight-line Python written from a declaration.

It takes the same shortcuts for every class: runs of fixed-width fields in one unpack, strings and counted bytes in
line. Where anything is out of the ordinary it gives up and lets the reference decoder find the value or the error, so
the two cannot differ on errors.
"""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from wiretool.codec import reference
from wiretool.codec.cursor import Cursor
from wiretool.codec.message import Field, Message, fields_of
from wiretool.codec.mutf8 import decode_modified_utf8
from wiretool.codec.types import Bool, Int, RestBytes, SizedBytes, Text16, Uuid, uuid_text, uuid_texts
from wiretool.errors import DecodeError

#: data, where the message begins, where it ends -> the message, and where its last field ended.
Decoder = Callable[[bytes, int, int], tuple[Any, int]]


@cache
def decoder(cls: type[Message]) -> Decoder:
    """The fast decoder of `cls`; equal to `reference.decode(cls, ...)` in values and errors.

    It is written when it is first called: a protocol has a hundred classes, a capture some of them.
    """
    written: Decoder | None = None

    def decode(data: bytes, at: int, end: int) -> tuple[Any, int]:
        nonlocal written
        if written is None:
            written = _Writer(cls).function()
        return written(data, at, end)

    return decode


def _fixed_tail(fields: Sequence[Field]) -> Sequence[Field]:
    """The fields at the end that are all of fixed width, with nothing behind an optional one that is not as wide."""
    first = len(fields)
    while first and fields[first - 1].wire.form and fields[first - 1].if_left <= fields[first - 1].wire.size_min:
        first -= 1
    return fields[first:]


class _Writer:
    """Writes the source of one decoder, and keeps what it refers to."""

    def __init__(self, cls: type[Message]) -> None:
        self.cls = cls
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "cls": cls,
            "slow": reference.decode,
            "Cursor": Cursor,
            "StructError": struct.error,
            "DecodeError": DecodeError,
            "texts": uuid_texts,
            "uuid_text": uuid_text,
            "modified": decode_modified_utf8,
        }

    def function(self) -> Decoder:
        fields = fields_of(self.cls)
        tail = _fixed_tail(fields)
        self._all(fields[: len(fields) - len(tail)])
        if any(field.is_optional for field in tail):
            self._tail(tail)
        else:
            self._fixed(tail, "")
        arguments = ", ".join(f"{field.name}=v_{field.name}" for field in fields)
        body = "".join(f"        {line}\n" for line in self.lines)
        source = (
            "def decode(data, at, end):\n    p = at\n    try:\n"
            f"{body}        if p <= end:\n            return cls({arguments}), p\n"
            "    except (StructError, DecodeError):\n        pass\n    return slow(cls, data, at, end)\n"
        )
        exec(compile(source, f"<decoder of {self.cls.__name__}>", "exec"), self.names)
        made: Decoder = self.names["decode"]
        return made

    def _all(self, fields: Sequence[Field]) -> None:
        """Each field in turn, runs of fixed width together."""
        run: list[Field] = []
        for field in fields:
            if field.wire.form and not field.is_optional:
                run.append(field)
                continue
            self._fixed(run, "")
            run = []
            self._single(field)
        self._fixed(run, "")

    def _tail(self, tail: Sequence[Field]) -> None:
        """Fixed widths up to the end, some optional: nearly always they are all there, and one unpack takes them."""
        size = sum(field.wire.size_min for field in tail)
        self.lines.append(f"if end - p >= {size}:")
        self._fixed(tail, "    ")
        self.lines.append("else:")
        before = len(self.lines)
        self._all(tail)
        self.lines[before:] = ["    " + line for line in self.lines[before:]]

    def _single(self, field: Field) -> None:
        indent = ""
        if field.is_optional:
            self.names[f"default_{field.name}"] = field.default
            self.lines += [f"v_{field.name} = default_{field.name}", f"if end - p >= {field.if_left}:"]
            indent = "    "
        if field.wire.form:
            self._fixed([field], indent)
        elif isinstance(field.wire, Text16):
            self._text(field, indent)
        elif type(field.wire) is SizedBytes:
            self._sized(field, indent)
        elif type(field.wire) is RestBytes:
            self._add(indent, "if p > end: return slow(cls, data, at, end)", f"v_{field.name} = data[p:end]", "p = end")
        else:
            self._by_cursor(field, indent)

    def _add(self, indent: str, *lines: str) -> None:
        self.lines += [indent + line for line in lines]

    def _unpacker(self, form: str) -> tuple[str, int]:
        packed = struct.Struct(">" + form)
        name = "unpack_" + form.replace("?", "t")
        self.names[name] = packed.unpack_from
        return name, packed.size

    def _fixed(self, run: Sequence[Field], indent: str) -> None:
        if not run:
            return
        assert all(isinstance(field.wire, Int | Bool | Uuid) for field in run)
        unpack, size = self._unpacker("".join(field.wire.form for field in run))
        targets = "".join(f"v_{field.name}, " for field in run)
        self._add(indent, f"{targets}= {unpack}(data, p)", f"p += {size}")
        for field in run:
            if isinstance(field.wire, Uuid):
                name = f"v_{field.name}"
                self._add(indent, f"{name} = texts.get({name}) or uuid_text({name})")

    def _text(self, field: Field, indent: str) -> None:
        unpack, size = self._unpacker("H")
        name = f"v_{field.name}"
        self._add(
            indent,
            f"q = p + {size} + {unpack}(data, p)[0]",
            "if q > end: return slow(cls, data, at, end)",
            f"{name} = data[p + {size}:q]",
            f"{name} = {name}.decode('ascii') if {name}.isascii() else modified({name})",
            "p = q",
        )

    def _sized(self, field: Field, indent: str) -> None:
        assert isinstance(field.wire, SizedBytes)
        unpack, size = self._unpacker("i")
        self._add(indent, f"n = {unpack}(data, p)[0]")
        if field.wire.negative_is_empty:
            self._add(indent, "if n < 0: n = 0")
        self._add(
            indent,
            f"q = p + {size} + n",
            "if q > end or n < 0: return slow(cls, data, at, end)",
            f"v_{field.name} = data[p + {size}:q]",
            "p = q",
        )

    def _by_cursor(self, field: Field, indent: str) -> None:
        self.names[f"wire_{field.name}"] = field.wire
        path = f"{self.cls.__name__}.{field.name}"
        self._add(
            indent,
            "if p > end: return slow(cls, data, at, end)",
            "cursor = Cursor(data, p, end)",
            f"v_{field.name} = wire_{field.name}.read(cursor, {path!r})",
            "p = cursor.at",
        )
