"""The definitions of a schema: one for each structure that something refers to."""

from urllib.parse import quote

from wiretool.codec.json_schema import structure_schema
from wiretool.codec.message import Message
from wiretool.codec.types import JsonSchema


class Definitions:
    """The `$defs` of a schema; a structure enters when it is first referred to."""

    def __init__(self) -> None:
        self.schemas: dict[str, JsonSchema] = {}
        self._names: dict[tuple[str, type[Message]], str] = {}

    def refer(self, protocol: str, cls: type[Message]) -> JsonSchema:
        """Return a reference to the schema of a structure of a protocol."""
        name = self._names.get((protocol, cls))
        if name is None:
            name = self._names[protocol, cls] = self._free_name(f"{protocol}.{cls.__name__}")
            self.schemas[name] = {}  # so that no other structure gets its name, and a recursive one ends here
            self.schemas[name] = structure_schema(cls, lambda each: self.refer(protocol, each))
        return reference(name)

    def add(self, name: str, schema: JsonSchema) -> JsonSchema:
        """Return a reference to a schema that no structure has by itself."""
        name = self._free_name(name)
        self.schemas[name] = schema
        return reference(name)

    def _free_name(self, name: str) -> str:
        """Return a name; with a number where versions of a protocol have structures of one name."""
        number = 2
        found = name
        while found in self.schemas:
            found, number = f"{name}.{number}", number + 1
        return found


def reference(name: str) -> JsonSchema:
    """Return a reference to a definition."""
    return {"$ref": f"#/$defs/{quote(name)}"}
