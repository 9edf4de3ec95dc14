"""The wire types of declared structures inside a message."""

from typing import Any, ClassVar

from wiretool.codec import layouts
from wiretool.codec.cursor import Cursor
from wiretool.codec.jsonform import fields_from_json, json_form
from wiretool.codec.message import Message, fields_of
from wiretool.codec.reference import read_fields
from wiretool.codec.types import JsonSchema, Refer, WireType
from wiretool.errors import EncodeError


def layout_of(cls: type[Message]) -> layouts.Group | None:
    """Return how the fields of a structure lie in bytes; None where that is more than data can describe."""
    members = []
    for field in fields_of(cls):
        layout = field.wire.layout
        if layout is None:
            return None
        members.append(layouts.Member(field.name, layout, field.if_left))
    return layouts.Group(tuple(members))


class Nested(WireType):
    """The fields of `cls`, one after another."""

    def __init__(self, cls: type[Message]) -> None:
        self.name = cls.__name__
        self.cls = self.structure = cls
        self.fields = fields_of(cls)
        self.size_min = sum(field.wire.size_min for field in self.fields if not field.is_optional)
        self.layout = layout_of(cls)

    def read(self, cursor: Cursor, path: str) -> Message:
        return read_fields(self.cls, cursor, path)

    def write(self, value: Message, out: bytearray, path: str) -> None:
        if not isinstance(value, self.cls):
            raise EncodeError(f"expected a {self.name}, got {value!r}", path=path)
        for field in self.fields:
            field.wire.write(getattr(value, field.name), out, f"{path}.{field.name}")

    def to_json(self, value: Message) -> dict[str, Any]:
        return json_form(value)

    def from_json(self, value: Any, path: str) -> Message:
        return fields_from_json(self.cls, value, path)

    def json_schema(self, refer: Refer) -> JsonSchema:
        return refer(self.cls)


class Structure(WireType):
    """A structure whose layout is written by hand; its JSON form comes from the declaration of `cls`."""

    cls: ClassVar[type[Message]]

    def __init_subclass__(cls) -> None:
        cls.structure = getattr(cls, "cls", None)

    def checked(self, value: Any, path: str) -> Any:
        """The value, if it is such a structure."""
        if not isinstance(value, self.cls):
            raise EncodeError(f"expected a {self.cls.__name__}, got {value!r}", path=path)
        return value

    def to_json(self, value: Message) -> dict[str, Any]:
        return json_form(value)

    def from_json(self, value: Any, path: str) -> Message:
        return fields_from_json(self.cls, value, path)

    def json_schema(self, refer: Refer) -> JsonSchema:
        return refer(self.cls)
