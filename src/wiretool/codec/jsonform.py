"""Messages as JSON, in the form of the vectors, and back."""

import difflib
from typing import Any, TypeVar

from wiretool.codec.message import REQUIRED, Message, fields_of
from wiretool.errors import EncodeError

T = TypeVar("T", bound=Message)


def json_form(value: Message) -> dict[str, Any]:
    """The fields of a message as JSON values: numbers as they are, bytes in hex, structures nested."""
    return {field.name: field.wire.to_json(getattr(value, field.name)) for field in fields_of(type(value))}


def fields_from_json(cls: type[T], fields: Any, path: str = "") -> T:
    """The message with these JSON fields; EncodeError for one that is missing, unknown or of the wrong type."""
    path = path or cls.__name__
    if not isinstance(fields, dict):
        raise EncodeError(f"wants an object, not {fields!r}", path=path)
    declared = {field.name: field for field in fields_of(cls)}
    for name in fields:
        if name not in declared:
            raise EncodeError(f"has no field {name!r}{nearest(name, declared)}", path=path)
    values: dict[str, Any] = {}
    for name, field in declared.items():
        if name in fields:
            values[name] = field.wire.from_json(fields[name], f"{path}.{name}")
        elif field.default is REQUIRED:
            raise EncodeError("is missing", path=f"{path}.{name}")
    return cls(**values)


def nearest(name: str, known: Any) -> str:
    """` (did you mean X?)` when something known is close to `name`, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
