"""Schemas of the messages of a protocol, chosen by their names."""

from collections import defaultdict
from collections.abc import Iterator

from wiretool.codec.message import SIDES, Message, Side
from wiretool.codec.types import JsonSchema
from wiretool.export.json_schema.definitions import Definitions
from wiretool.protocols.base.protocol import Protocol


def whole_fields(protocol: Protocol, definitions: Definitions) -> JsonSchema:
    """Return the schema of objects with `message`, `side` and the `fields` of a whole message as declared."""
    return _by_name(protocol, definitions, is_whole=True)


def shown_fields(protocol: Protocol, definitions: Definitions) -> JsonSchema:
    """Return the schema of frames, the `fields` of which may be those of a damaged message."""
    return _by_name(protocol, definitions, is_whole=False)


def declared_names(protocol: Protocol) -> dict[str, list[type[Message]]]:
    """Return the declarations of each name: a request and its reply may share theirs."""
    names: dict[str, list[type[Message]]] = defaultdict(list)
    for cls in protocol.messages:
        names[cls.declaration.name].append(cls)
    return names


def _by_name(protocol: Protocol, definitions: Definitions, *, is_whole: bool) -> JsonSchema:
    names = declared_names(protocol)
    known, chosen = [], list[JsonSchema]()
    for name in sorted(protocol.message_names):
        own = protocol.fields_schema(name, lambda cls: definitions.refer(protocol.name, cls), not is_whole)
        if own is not None:
            chosen.append(_when({"message": {"const": name}}, definitions.add(f"{protocol.name}.{name}", own)))
        elif name in names:
            chosen += _declared(protocol, name, names[name], definitions)
        elif is_whole:
            continue
        known.append(name)
    return {"properties": {"message": {"enum": known}}, "allOf": chosen}


def _declared(
    protocol: Protocol, name: str, classes: list[type[Message]], definitions: Definitions
) -> Iterator[JsonSchema]:
    """Yield a condition for a name, or one for each side where these send different messages."""
    if len(classes) == 1:
        yield _when({"message": {"const": name}}, definitions.refer(protocol.name, classes[0]))
        return
    for side in SIDES:
        sent = [definitions.refer(protocol.name, cls) for cls in classes if _may_send(side, cls)]
        yield _when(
            {"message": {"const": name}, "side": {"const": side}}, sent[0] if len(sent) == 1 else {"anyOf": sent}
        )


def _may_send(side: Side, cls: type[Message]) -> bool:
    return cls.declaration.sender in (side, "both", "block")


def _when(values: JsonSchema, fields: JsonSchema) -> JsonSchema:
    return {
        "if": {"properties": values, "required": list(values)},
        "then": {"properties": {"fields": fields}},
    }
