"""The frame as a message, and what a schema says of the frames that carry its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from wiretool.codec.cursor import Cursor
from wiretool.codec.flatbuffers.declaration import Table, slots_of, table_form
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.codec.json_types import hex_object_schema
from wiretool.codec.message import Message, message
from wiretool.codec.types import U8, U16, U32, Data, JsonSchema, Refer, WireType
from wiretool.errors import EncodeError
from wiretool.protocols.sbp.records import Batches

#: Flags of every frame (SBP v0.1, Flags; SYSTEM_ERROR came four days later).
RESPONSE, RESPONSE_END, SYSTEM_ERROR = 0x01, 0x02, 0x04
#: The one header format that is defined.
FLATBUFFERS = 1
#: Bytes behind the payload.
CHECKSUM_BYTES = 4


class HeaderSlot(WireType):
    """u24 length, then the extended header: a table, or bytes that are none."""

    name = "u24 length + header"
    size_min = 3

    def read(self, cursor: Cursor, path: str) -> bytes | None:
        start = cursor.at
        length = int.from_bytes(cursor.take(3, path), "big")
        cursor.note(start, f"{path}_length", "u24", length)
        start = cursor.at
        if length > cursor.left - CHECKSUM_BYTES:
            cursor.take(cursor.left + 1, path, kind="header_length_overflow")
        value = cursor.take(length, path) or None
        cursor.note(start, path, "header", value)
        return value

    def write(self, value: Table | bytes | None, out: bytearray, path: str) -> None:
        raw = encode_root(value) if isinstance(value, Table) else value or b""
        if len(raw) > 0xFF_FFFF:
            raise EncodeError(f"a header takes 16,777,215 bytes at most, this one {len(raw)}", path=path)
        out += len(raw).to_bytes(3, "big") + raw

    def to_json(self, value: Table | bytes | None) -> Any:
        if isinstance(value, Table):
            return {"table": type(value).__name__, "fields": table_form(value)}
        return None if value is None else {"raw_hex": value.hex()}

    def json_schema(self, refer: Refer) -> JsonSchema:
        return header_schema((), refer)


def header_schema(tables: Iterable[type[Table]], refer: Refer) -> JsonSchema:
    """Return the JSON Schema of a header that is one of some tables, other bytes, or absent."""
    return {
        "anyOf": [
            {"type": "null"},
            hex_object_schema("raw_hex"),
            *(
                {
                    "type": "object",
                    "properties": {"table": {"const": table.__name__}, "fields": refer(table)},
                    "required": ["table", "fields"],
                    "additionalProperties": False,
                }
                for table in tables
            ),
        ]
    }


class PayloadBytes(Data):
    """Everything but the checksum behind it."""

    name = "bytes up to the checksum"

    def read(self, cursor: Cursor, path: str) -> bytes:
        start = cursor.at
        value = cursor.take(cursor.left - CHECKSUM_BYTES, path)
        cursor.note(start, path, "bytes", value)
        return value

    def write(self, value: bytes, out: bytearray, path: str) -> None:
        out += value


@message(type_id=-1, name="SbpFrame", sender="both", spec="SBP v0.1, Frame Header and Extended Header")
class SbpFrame(Message, frozen=True, kw_only=True):
    """A frame, less its length and magic. Without a checksum it is sent with the right one."""

    opcode: U16
    flags: U8 = 0
    stream_id: U32 = 0
    header_format: U8 = FLATBUFFERS
    header: Annotated[Table | bytes | None, HeaderSlot()] = None
    payload: Annotated[bytes, PayloadBytes()] = b""
    checksum: Annotated[int | None, *U32.__metadata__] = None

    @property
    def is_response(self) -> bool:
        """Whether it answers a request (or says that a range server goes away)."""
        return bool(self.flags & RESPONSE)

    @property
    def is_system_error(self) -> bool:
        """Whether its header is about the request as such; on a request the flag means nothing."""
        return self.is_response and bool(self.flags & SYSTEM_ERROR)


@dataclass(frozen=True, slots=True)
class Operation:
    """What an operation code stands for; a side without a table carries no header, or bytes of its own."""

    code: int
    name: str
    request: type[Table] | None = None
    response: type[Table] | None = None


@dataclass(frozen=True, eq=False)
class Schema:
    """One version of the tables, and what frames carry."""

    name: str
    tables: tuple[type[Table], ...]
    #: Operations of which the schema has no table.
    bare_operations: Mapping[int, str]
    #: The batches of a payload, which may take the header to find; None where the payload is just bytes.
    read_batches: Callable[[SbpFrame, Table | None], Batches | None]
    #: What a batch is declared as.
    batch: type[Message]
    #: A batch of that many bytes as JSON, and batches from their JSON.
    batch_form: Callable[[Any, int], dict[str, Any]]
    batch_from_json: Callable[[Any, str], Message]
    #: The key of the batches in the JSON form.
    batches_key: str
    #: The header of a response with the system error flag; without one the flag is ignored.
    system_error: type[Table] | None = None
    #: Other names of operations.
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: Requests that servers take without their header.
    header_optional: frozenset[str] = frozenset()
    #: How the paths of required fields end that real servers are known to leave out.
    left_out: tuple[str, ...] = ()
    #: The flags that mean something.
    flags: int = RESPONSE | RESPONSE_END | SYSTEM_ERROR

    def operation(self, code: int) -> Operation | None:
        """What `code` stands for."""
        return operations_of(self).get(code)

    def header_table(self, frame: SbpFrame) -> type[Table] | None:
        """The table that the header of `frame` is; None where it may be anything."""
        if frame.is_system_error and self.system_error is not None and frame.opcode != PING:
            return self.system_error
        operation = self.operation(frame.opcode)
        if operation is None:
            return None
        return operation.response if frame.is_response else operation.request

    def wants_header(self, frame: SbpFrame) -> bool:
        """Whether a server refuses this frame when it has no header."""
        operation = self.operation(frame.opcode)
        if frame.is_response or operation is None or operation.request is None:
            return False
        return operation.name not in self.header_optional and has_required(operation.request)


PING, GOAWAY, APPEND, FETCH, SEAL_RANGE = 0x0001, 0x0002, 0x1001, 0x1002, 0x2002


@cache
def has_required(table: type[Table]) -> bool:
    """Whether the table can lack something."""
    return any(wire.is_required for _, wire, _ in slots_of(table))


@cache
def operations_of(schema: Schema) -> Mapping[int, Operation]:
    """The operations by their code, from the declarations of the tables that they carry."""
    found = {code: Operation(code, name) for code, name in schema.bare_operations.items()}
    for table in schema.tables:
        declared = table.declaration
        known = found.get(declared.type_id, Operation(declared.type_id, declared.name))
        request, response = (table, known.response) if declared.sender == "client" else (known.request, table)
        found[declared.type_id] = Operation(known.code, known.name, request, response)
    return dict(sorted(found.items()))


def check_declarations(schema: Schema) -> None:
    """Assert that every table names its clause, and no operation has two requests, two responses or two names."""
    seen: set[tuple[int, str]] = set()
    for table in schema.tables:
        declared = table.declaration
        assert declared.spec, f"{table.__name__} names no clause"
        assert (declared.type_id, declared.sender) not in seen, f"{table.__name__}: operation {declared.name} has two"
        assert declared.type_id not in schema.bare_operations, f"{table.__name__}: {declared.name} has no tables"
        seen.add((declared.type_id, declared.sender))
