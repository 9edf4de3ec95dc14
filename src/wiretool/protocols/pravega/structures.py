"""What the commands are made of: the fields that many share, and structures whose layout no declaration can say."""

from typing import Annotated, Any

from wiretool import limits
from wiretool.codec.cursor import Cursor
from wiretool.codec.layouts import Counted, Group, Measured, Member, Number, Rest
from wiretool.codec.message import Credential, Doc, IfLeft, Issued, Message, Named, Position, Since, Unit, Varies
from wiretool.codec.nested import Nested, Structure
from wiretool.codec.types import (
    I8,
    I64,
    Bytes32,
    Flag,
    Int,
    JsonSchema,
    ListOf,
    Refer,
    SizedBytes,
    Text,
    UuidText,
    WireType,
)
from wiretool.errors import DecodeError, EncodeError

#: "No such number": a null attribute, a writer that the segment does not know, a table key without a condition.
NONE_I64 = -(2**63)
#: The type of an EVENT frame, also where it is nested.
EVENT_TYPE = 0

RequestId = Annotated[I64, Doc("chosen by the client, echoed in the reply; not unique on a connection")]
LateRequestId = Annotated[
    I64, Since(8), IfLeft(8), Doc("chosen by the client, echoed in the reply; -1 where the peer is too old to send it")
]
WriterId = Annotated[UuidText, Doc("names the writer; SetupAppend binds it to a segment"), Named("writer")]
#: A name that the server made up; clients choose all others.
NAME = Issued("segment name")
SegmentName = Annotated[Text, Doc("full name, such as scope/stream/0.#epoch.0"), NAME]
Token = Annotated[
    Text,
    Since(5),
    Doc("the delegation token of the controller, which proves the permission; empty without one"),
    Credential(),
]
StackTrace = Annotated[
    Text, Since(6), Doc("where the server failed; empty unless the server is configured to send it"), Varies()
]
LateStackTrace = Annotated[
    Text,
    Since(6),
    IfLeft(1),
    Doc("where the server failed; empty unless the server is configured to send it"),
    Varies(),
]
Offset = Annotated[I64, Unit("bytes")]
#: A place in the segment that the field `segment` names.
SegmentOffset = Annotated[I64, Unit("bytes"), Position("segment", "segment")]
#: A place in the log of the table segment that the field `segment` names; it need not lie where it lay elsewhere.
TablePosition = Annotated[I64, Unit("bytes"), Issued("table position", "segment", besides=(-1, 0))]
LateOffset = Annotated[
    I64,
    Since(8),
    IfLeft(8),
    Unit("bytes"),
    Doc("the offset that was asked for, else -1; in answer to an append its event number"),
    Position("segment", "segment"),
]
LateTableOffset = Annotated[
    I64,
    Since(10),
    IfLeft(1),
    Unit("bytes"),
    Doc("the length that the table segment must have; -1 for any"),
    Issued("table position", "segment", besides=(-1, 0)),
]
LateRollover = Annotated[
    I64, Since(14), IfLeft(8), Unit("bytes"), Doc("size at which the storage begins a new chunk; 0 for its default")
]

#: What tells one state of a table entry from the others; none, and any, are no versions.
VERSION = Issued("table version", "segment", besides=(-1, NONE_I64))

_INT32 = Int("i32", "i")
_INT64 = Int("i64", "q")


class Zeros(WireType):
    """Zero bytes up to the end of the frame; the value is how many. What they hold is not looked at."""

    name = "zeros to the end"
    stored = "whole"
    layout = Rest("zeros")

    def read(self, cursor: Cursor, path: str) -> int:
        start = cursor.at
        count = len(cursor.take(cursor.left, path))
        cursor.note(start, path, self.name, count)
        return count

    def write(self, value: int, out: bytearray, path: str) -> None:
        out += bytes(self.from_json(value, path))

    def from_json(self, value: Any, path: str) -> int:
        if type(value) is not int or not 0 <= value <= limits.PRAVEGA_PAYLOAD_BYTES_MAX:
            raise EncodeError(f"expected a number of bytes that fits a frame, got {value!r}", path=path)
        return value

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "integer", "minimum": 0, "maximum": limits.PRAVEGA_PAYLOAD_BYTES_MAX}


class InnerEvent(Message, frozen=True, kw_only=True):
    """An EVENT frame inside a command."""

    data: Bytes32


class EventFrame(Structure):
    """i32 type, which must be EVENT, then counted bytes (WireCommands.java ConditionalAppend.readEvent)."""

    name = "EVENT"
    cls = InnerEvent
    size_min = 8
    layout = Group((Member("type", Number("i", only=EVENT_TYPE)), Member("data", Counted(Number("i"), "bytes"))))
    _data = SizedBytes()

    def read(self, cursor: Cursor, path: str) -> InnerEvent:
        start = cursor.at
        kind = _INT32.read(cursor, f"{path}.type")
        if kind != EVENT_TYPE:
            raise DecodeError(
                "bad-nested-type", f"expected an EVENT ({EVENT_TYPE}), got type {kind}", path=path, offset=start
            )
        return InnerEvent(data=self._data.read(cursor, f"{path}.data"))

    def write(self, value: InnerEvent, out: bytearray, path: str) -> None:
        _INT32.write(EVENT_TYPE, out, path)
        self._data.write(self.checked(value, path).data, out, f"{path}.data")


class ChunkInfo(Message, frozen=True, kw_only=True):
    """One chunk of a segment, as its metadata and as the storage have it."""

    length_in_metadata: Annotated[I64, Unit("bytes")]
    length_in_storage: Annotated[I64, Unit("bytes")]
    start_offset: Offset
    chunk_name: Text
    exists_in_storage: Flag


class ConditionalAttributeUpdate(Message, frozen=True, kw_only=True):
    """A change of one attribute, and on what condition."""

    attribute_id: UuidText
    attribute_update_type: Annotated[
        I8, Doc("0 none, 1 replace, 2 replace if greater, 3 accumulate, 4 replace if old_value is the present one")
    ]
    new_value: I64
    old_value: I64


class MergedSegment(Message, frozen=True, kw_only=True):
    """One source of a merged batch."""

    source: SegmentName
    new_target_write_offset: Annotated[
        I64, Unit("bytes"), Doc("length of the target after this source"), Position("segment", "target")
    ]


class TableKey(Message, frozen=True, kw_only=True):
    """A key and the version that the table must hold it with."""

    data: Bytes32
    key_version: Annotated[
        I64,
        Doc("the version it must have: -1 must not exist, -9223372036854775808 any; in a reply the one it has"),
        VERSION,
    ] = NONE_I64


class TableValue(Message, frozen=True, kw_only=True):
    """The value of a key."""

    data: Bytes32


#: A payload size and a data length, then the data; see `_read_sized`.
_SIZED = (
    Member("payload_size", Number("i", within_left=True)),
    Member("data_length", Number("i")),
    Member("data", Measured("data_length")),
)


class SizedKey(Structure):
    """i32 payload size, i32 data length, data, i64 version; none after an empty key (WireCommands.java TableKey)."""

    name = "TableKey"
    cls = TableKey
    size_min = 8
    layout = Group((*_SIZED, Member("key_version", Number("q"), if_any="data_length")))

    def read(self, cursor: Cursor, path: str) -> TableKey:
        data = _read_sized(cursor, path)
        return (
            TableKey(data=data, key_version=_INT64.read(cursor, f"{path}.key_version")) if data else TableKey(data=data)
        )

    def write(self, value: TableKey, out: bytearray, path: str) -> None:
        data = SizedBytes.checked(self.checked(value, path).data, f"{path}.data")
        _INT32.write(12 + len(data), out, path)
        _INT32.write(len(data), out, path)
        if data:
            out += data
            _INT64.write(value.key_version, out, f"{path}.key_version")
        elif value.key_version != NONE_I64:
            raise EncodeError("an empty key carries no version", path=f"{path}.key_version")


class SizedValue(Structure):
    """i32 payload size, i32 data length, data (WireCommands.java TableValue)."""

    name = "TableValue"
    cls = TableValue
    size_min = 8
    layout = Group(_SIZED)

    def read(self, cursor: Cursor, path: str) -> TableValue:
        return TableValue(data=_read_sized(cursor, path))

    def write(self, value: TableValue, out: bytearray, path: str) -> None:
        data = SizedBytes.checked(self.checked(value, path).data, f"{path}.data")
        _INT32.write(4 + len(data), out, path)
        _INT32.write(len(data), out, path)
        out += data


def _read_sized(cursor: Cursor, path: str) -> bytes:
    """The data behind a payload size and a data length.

    The payload size only has to fit into what is left in front of it; it is never compared with the data length.
    """
    start, left = cursor.at, cursor.left
    payload_size = _INT32.read(cursor, f"{path}.payload_size")
    if payload_size > left:
        why = f"a payload of {payload_size} bytes, {left} left"
        raise DecodeError("bad-nested-length", why, path=f"{path}.payload_size", offset=start)
    length = _INT32.read(cursor, f"{path}.data_length")
    start = cursor.at
    data = cursor.take(length, f"{path}.data", kind="bad-nested-length")
    cursor.note(start, f"{path}.data", "bytes", data)
    return data


class TableEntry(Message, frozen=True, kw_only=True):
    """A key and its value."""

    key: Annotated[TableKey, SizedKey()]
    value: Annotated[TableValue, SizedValue()]


class TableEntries(Message, frozen=True, kw_only=True):
    """Entries of a table segment."""

    entries: Annotated[tuple[TableEntry, ...], ListOf(Nested(TableEntry), negative_is_empty=True)]


#: Where a page of a table ended.
CONTINUATION = Issued("continuation token", "segment", besides=("",), is_unique=False)


class TableIteratorArgs(Message, frozen=True, kw_only=True):
    """Where an iteration begins and what it takes in; older peers send only the first."""

    continuation_token: Annotated[
        Bytes32,
        IfLeft(4),
        Doc("opaque, from the reply before; empty to begin; only for hash tables"),
        CONTINUATION,
    ] = b""
    prefix_filter: Annotated[Bytes32, IfLeft(4), Doc("read but ignored by today's server, which writes it empty")] = b""
    from_key: Annotated[Bytes32, Since(12), IfLeft(4), Doc("the first key; only for tables of fixed key length")] = b""
    to_key: Annotated[Bytes32, Since(12), IfLeft(4), Doc("the last key; only for tables of fixed key length")] = b""


NestedEntries = Annotated[TableEntries, Nested(TableEntries)]
NestedArgs = Annotated[TableIteratorArgs, Nested(TableIteratorArgs)]
KeyList = Annotated[tuple[TableKey, ...], ListOf(SizedKey())]
