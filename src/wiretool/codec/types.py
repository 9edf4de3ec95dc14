"""The wire types: how each is read, written, shown and put into JSON.

A type is declared by annotating a field: `offset: I64`. A protocol may add its own beside its messages; it only has to
be a `WireType`. Big-endian throughout: the one byte order of the sequential protocols here.
"""

import struct
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from wiretool import limits
from wiretool.codec import layouts
from wiretool.codec.cursor import Cursor
from wiretool.codec.mutf8 import decode_modified_utf8, encode_modified_utf8
from wiretool.errors import DecodeError, EncodeError, OverLimit

#: What a column of a table holds: a whole number, true or false, a double, text, text of few values, or bytes; JSON is
#: the text of any other value.
Stored = Literal["json", "whole", "truth", "double", "text", "coded", "bytes"]


#: The JSON Schema of a value in its JSON form.
JsonSchema = dict[str, Any]
#: Returns the JSON Schema of a structure, mostly a reference to it.
Refer = Callable[[type[Any]], JsonSchema]
_HEX: JsonSchema = {"type": "string", "pattern": "^([0-9a-f]{2})*$"}


class WireType(ABC):
    """One way to put a value on the wire."""

    #: As the reference page and the dump show it: `i64`, `string`.
    name: str
    #: The format character for `struct`, for types of fixed width that need no more than unpacking.
    form: str = ""
    #: The fewest bytes a value takes; bounds the count of a list by the bytes left.
    size_min: int = 0
    #: What a column of such values holds.
    stored: Stored = "json"
    #: How the values lie in bytes; None where that is more than data can describe.
    layout: layouts.Layout | None = None
    #: The class whose fields a value has, for types of structures.
    structure: type[Any] | None = None

    @abstractmethod
    def read(self, cursor: Cursor, path: str) -> Any:
        """The value at the cursor; DecodeError where there is none."""

    @abstractmethod
    def write(self, value: Any, out: bytearray, path: str) -> None:
        """Append the value's bytes; EncodeError where it has none."""

    def to_json(self, value: Any) -> Any:
        """The value in the vectors' JSON form."""
        return value

    def from_json(self, value: Any, path: str) -> Any:
        """The value again, from its JSON form; EncodeError where it is none."""
        return value

    def json_schema(self, refer: Refer) -> JsonSchema:
        """Return the JSON Schema of the JSON form; any value is allowed for a type that does not describe its own."""
        return {}

    def bound_to(self, hint: Any) -> "WireType":
        """This type for a field annotated with `hint`; itself, unless what it holds is named only there."""
        return self


class Int(WireType):
    """A two's complement or unsigned number of fixed width."""

    stored = "whole"

    def __init__(self, name: str, form: str) -> None:
        self.name = name
        self.form = form
        self._struct = struct.Struct(">" + form)
        self.size_min = self._struct.size
        bits = 8 * self.size_min
        self.low = -(2 ** (bits - 1)) if form.islower() else 0
        self.high = self.low + 2**bits - 1
        self.layout = layouts.Number(form)

    def read(self, cursor: Cursor, path: str) -> int:
        start = cursor.at
        value = cursor.unpack(self._struct, path)
        cursor.note(start, path, self.name, value)
        return value

    def write(self, value: int, out: bytearray, path: str) -> None:
        out += self._struct.pack(self.from_json(value, path))

    def from_json(self, value: Any, path: str) -> int:
        if type(value) is not int or not self.low <= value <= self.high:
            why = f"{self.name} takes a whole number from {self.low} to {self.high}, not {value!r}"
            raise EncodeError(why, path=path)
        return value

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class Bool(WireType):
    """One byte: written 0 or 1, any other value than 0 reads as true."""

    name = "bool"
    form = "?"
    size_min = 1
    stored = "truth"
    layout: layouts.Layout | None = layouts.Truth()

    def read(self, cursor: Cursor, path: str) -> bool:
        start = cursor.at
        value = cursor.take(1, path) != b"\0"
        cursor.note(start, path, self.name, value)
        return value

    def write(self, value: bool, out: bytearray, path: str) -> None:
        out.append(self.from_json(value, path))

    def from_json(self, value: Any, path: str) -> bool:
        if type(value) is not bool:
            raise EncodeError(f"expected true or false, got {value!r}", path=path)
        return value

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "boolean"}


class Uuid(WireType):
    """16 bytes, in the order of RFC 4122 text; the value is the canonical text."""

    name = "uuid"
    form = "16s"
    size_min = 16
    stored = "coded"
    layout: layouts.Layout | None = layouts.UuidBytes()

    def read(self, cursor: Cursor, path: str) -> str:
        start = cursor.at
        value = uuid_text(cursor.take(16, path))
        cursor.note(start, path, self.name, value)
        return value

    def write(self, value: str, out: bytearray, path: str) -> None:
        try:
            out += uuid.UUID(value).bytes
        except (ValueError, AttributeError, TypeError) as err:
            raise EncodeError(f"{value!r} is not a UUID", path=path) from err

    def from_json(self, value: Any, path: str) -> str:
        self.write(value, bytearray(), path)
        return str(uuid.UUID(value))

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}


uuid_texts: dict[bytes, str] = {}


def uuid_text(raw: bytes) -> str:
    """The canonical text of 16 bytes. The few ids of a connection come again and again, so they are remembered."""
    text = uuid_texts.get(raw)
    if text is None:
        if len(uuid_texts) >= limits.WRITERS_MAX:
            uuid_texts.clear()
        text = uuid_texts[raw] = str(uuid.UUID(bytes=raw))
    return text


class Text16(WireType):
    """u16 byte count, then Java's modified UTF-8 (pravega.md §1.3)."""

    name = "string"
    size_min = 2
    _count = struct.Struct(">H")
    stored = "text"
    layout: layouts.Layout | None = layouts.Counted(layouts.Number("H"), "text")

    def read(self, cursor: Cursor, path: str) -> str:
        start = cursor.at
        count = cursor.unpack(self._count, path)
        try:
            value = decode_modified_utf8(cursor.take(count, path))
        except DecodeError as err:
            offset = start + 2 + err.offset if err.kind == "bad-utf" else err.offset
            cursor.at = start
            raise type(err)(err.kind, err.why, path=path, offset=offset) from err
        cursor.note(start, path, self.name, value)
        return value

    def write(self, value: str, out: bytearray, path: str) -> None:
        raw = encode_modified_utf8(self.from_json(value, path))
        if len(raw) > 0xFFFF:
            raise EncodeError(f"a string takes 65,535 bytes at most, this one {len(raw)}", path=path)
        out += self._count.pack(len(raw)) + raw

    def from_json(self, value: Any, path: str) -> str:
        if type(value) is not str:
            raise EncodeError(f"expected text, got {value!r}", path=path)
        return value

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "string"}


class Data(WireType):
    """Bytes in some envelope; hex in JSON."""

    stored = "bytes"

    def to_json(self, value: bytes) -> str:
        return value.hex()

    def from_json(self, value: Any, path: str) -> bytes:
        try:
            return bytes.fromhex(value)
        except (ValueError, TypeError) as err:
            raise EncodeError(f"expected hex, got {value!r}", path=path) from err

    def json_schema(self, refer: Refer) -> JsonSchema:
        return dict(_HEX)

    @staticmethod
    def checked(value: Any, path: str) -> bytes:
        """The value, if it is bytes."""
        if not isinstance(value, bytes):
            raise EncodeError(f"expected bytes, got {value!r}", path=path)
        return value


class RestBytes(Data):
    """Everything up to the end of the message."""

    name = "bytes to the end"
    layout: layouts.Layout | None = layouts.Rest("bytes")

    def read(self, cursor: Cursor, path: str) -> bytes:
        start = cursor.at
        value = cursor.take(cursor.left, path)
        cursor.note(start, path, self.name, value)
        return value

    def write(self, value: bytes, out: bytearray, path: str) -> None:
        out += self.checked(value, path)


class SizedBytes(Data):
    """i32 count, then bytes. With `negative_is_empty` a count below 0 reads as no bytes, else it is an error."""

    size_min = 4
    _count = struct.Struct(">i")

    def __init__(self, *, negative_is_empty: bool = False) -> None:
        self.name = "i32 count + bytes"
        self.negative_is_empty = negative_is_empty
        self.layout = layouts.Counted(layouts.Number("i"), "bytes", negative_is_empty)

    def read(self, cursor: Cursor, path: str) -> bytes:
        start = cursor.at
        count = cursor.unpack(self._count, path)
        try:
            value = cursor.take(max(count, 0) if self.negative_is_empty else count, path, kind="bad-nested-length")
        except DecodeError:
            cursor.at = start
            raise
        cursor.note(start, path, self.name, value)
        return value

    def write(self, value: bytes, out: bytearray, path: str) -> None:
        out += self._count.pack(len(self.checked(value, path))) + value


class ListOf(WireType):
    """i32 count, then the elements. With `negative_is_empty` a count below 0 reads as an empty list.

    Reading ends at the first element that is not there, so the bytes left bound the work, whatever the count says.
    """

    size_min = 4
    _count = struct.Struct(">i")

    def __init__(self, element: WireType, *, negative_is_empty: bool = False) -> None:
        assert element.size_min > 0, "a list of nothing has no end"
        self.name = f"list of {element.name}"
        self.element = element
        self.negative_is_empty = negative_is_empty
        count_max = None if negative_is_empty else limits.LIST_ELEMENTS_MAX
        self.layout = element.layout and layouts.Repeated(element.layout, negative_is_empty, count_max)

    def read(self, cursor: Cursor, path: str) -> tuple[Any, ...]:
        start = cursor.at
        count = cursor.unpack(self._count, path)
        cursor.note(start, f"{path}.count", "i32", count)
        if not self.negative_is_empty and count < 0:
            raise DecodeError("bad-count", f"a count of {count}", path=path, offset=start)
        if not self.negative_is_empty and count > limits.LIST_ELEMENTS_MAX:
            why = f"a count of {count}, no frame holds more than {limits.LIST_ELEMENTS_MAX}"
            raise OverLimit("bad-count", why, path=path, offset=start)
        return tuple(self.element.read(cursor, f"{path}[{index}]") for index in range(count))

    def write(self, value: tuple[Any, ...], out: bytearray, path: str) -> None:
        if not isinstance(value, tuple | list):
            raise EncodeError(f"expected a list, got {value!r}", path=path)
        out += self._count.pack(len(value))
        for index, element in enumerate(value):
            self.element.write(element, out, f"{path}[{index}]")

    def to_json(self, value: tuple[Any, ...]) -> list[Any]:
        return [self.element.to_json(element) for element in value]

    def from_json(self, value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise EncodeError(f"expected a list, got {value!r}", path=path)
        return tuple(self.element.from_json(element, f"{path}[{index}]") for index, element in enumerate(value))

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "array", "items": self.element.json_schema(refer)}


class NamedByte(WireType):
    """One byte whose values have names; the value is the name."""

    size_min = 1
    stored = "text"

    def __init__(self, names: Mapping[int, str], *, kind: str) -> None:
        self.name = "u8 " + "|".join(f"{number}={name}" for number, name in names.items())
        self.names = names
        self.kind = kind
        self._numbers = {name: number for number, name in names.items()}
        self.layout = layouts.NamedNumber(names, kind)

    def read(self, cursor: Cursor, path: str) -> str:
        start = cursor.at
        number = cursor.take(1, path)[0]
        if number not in self.names:
            cursor.at = start
            raise DecodeError(self.kind, f"{number} names nothing", path=path, offset=start)
        cursor.note(start, path, self.name, self.names[number])
        return self.names[number]

    def write(self, value: str, out: bytearray, path: str) -> None:
        out.append(self._numbers[self.from_json(value, path)])

    def from_json(self, value: Any, path: str) -> str:
        if type(value) is not str or value not in self._numbers:
            raise EncodeError(f"expected one of {', '.join(self._numbers)}, got {value!r}", path=path)
        name: str = value
        return name

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"enum": list(self._numbers)}


I8 = Annotated[int, Int("i8", "b")]
U8 = Annotated[int, Int("u8", "B")]
I16 = Annotated[int, Int("i16", "h")]
U16 = Annotated[int, Int("u16", "H")]
I32 = Annotated[int, Int("i32", "i")]
U32 = Annotated[int, Int("u32", "I")]
I64 = Annotated[int, Int("i64", "q")]
Flag = Annotated[bool, Bool()]
UuidText = Annotated[str, Uuid()]
Text = Annotated[str, Text16()]
Rest = Annotated[bytes, RestBytes()]
Bytes32 = Annotated[bytes, SizedBytes()]
