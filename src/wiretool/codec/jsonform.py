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
        raise EncodeError(f"expected an object, got {fields!r}", path=path)
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


#: How alike a name and its suggestion are at least, as difflib measures that.
CLOSE = 0.7


def nearest(name: str, known: Any) -> str:
    """` (did you mean X?)` when something known is close to `name`, else nothing."""
    close = find_nearest(name, known)
    return f" (did you mean {close}?)" if close else ""


def find_nearest(name: str, known: Any) -> str:
    """Return the known name that is closest to `name`; empty where none is close."""
    other_case = [found for found in known if found.casefold() == name.casefold()]
    close = other_case or [
        found for found in difflib.get_close_matches(name, list(known), n=1) if is_close(name, found)
    ]
    return close[0] if close else ""


def is_close(name: str, found: str) -> bool:
    """Return whether a suggestion helps: a similar name, or the same one within a path.

    A name is similar with one character changed, or two neighbours exchanged.
    """
    if found.rpartition(".")[2] == name or difflib.SequenceMatcher(None, found, name).ratio() >= CLOSE:
        return True
    if len(found) != len(name):
        return False
    changed = [at for at, (one, other) in enumerate(zip(found, name, strict=True)) if one != other]
    if len(changed) == 2:
        first, second = changed
        return second == first + 1 and found[first] == name[second] and found[second] == name[first]
    return len(changed) == 1
