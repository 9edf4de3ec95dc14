"""The slow and obvious codec: field by field, as declared. The compiled decoder must agree with it on everything."""

from typing import Any, TypeVar

from wiretool.codec.cursor import Cursor, Span
from wiretool.codec.message import REQUIRED, Field, Message, fields_of
from wiretool.errors import EncodeError

T = TypeVar("T", bound=Message)


def decode(cls: type[T], data: bytes, at: int = 0, end: int | None = None) -> tuple[T, int]:
    """The message in `data[at:end]`, and where its last field ended (what is behind that is left over)."""
    cursor = Cursor(data, at, end)
    return read_fields(cls, cursor, cls.__name__), cursor.at


def annotate(cls: type[T], data: bytes, at: int = 0, end: int | None = None) -> tuple[T, list[Span]]:
    """The message, and the span of each field; the spans tile the bytes, what is left over included."""
    spans: list[Span] = []
    cursor = Cursor(data, at, end, spans=spans)
    value = read_fields(cls, cursor, cls.__name__)
    if cursor.left:
        start = cursor.at
        rest = cursor.take(cursor.left, "")
        cursor.note(start, f"{cls.__name__}.(left over)", "ignored", rest)
    return value, spans


def read_fields(cls: type[T], cursor: Cursor, path: str) -> T:
    """The fields of one structure at the cursor."""
    values: dict[str, Any] = {}
    for field in fields_of(cls):
        if field.is_optional and cursor.left < field.if_left:
            values[field.name] = field.default
        else:
            values[field.name] = field.wire.read(cursor, f"{path}.{field.name}")
    return cls(**values)


def encode(value: Message, version: int = 0) -> bytes:
    """The bytes of a message; with a version, without the fields that came later.

    EncodeError: a value that has no bytes, or a later field that is not at its default.
    """
    out = bytearray()
    path = type(value).__name__
    for field in fields_of(type(value)):
        if version and field.since > version:
            _refuse_loss(field, getattr(value, field.name), f"{path}.{field.name}", version)
        else:
            field.wire.write(getattr(value, field.name), out, f"{path}.{field.name}")
    return bytes(out)


def _refuse_loss(field: Field, value: object, path: str, version: int) -> None:
    if field.default is REQUIRED or value != field.default:
        raise EncodeError(f"version {version} has no such field (since {field.since})", path=path)
