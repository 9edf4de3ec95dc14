"""What the messages of protocols have for fields, as names."""

from collections.abc import Iterable, Mapping

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.message import REQUIRED, Message, fields_of
from wiretool.filter.names import ANYTHING, Kind, Names, kind_of, record_names
from wiretool.protocols.base.protocol import Protocol


def names_for(protocols: Iterable[Protocol]) -> Names:
    """Every name of a record of these protocols."""
    protocols = list(protocols)
    fields = Names(Kind.OBJECT)
    for protocol in protocols:
        _add_protocol(fields, protocol)
    messages = frozenset().union(*(protocol.message_names for protocol in protocols))
    return record_names(fields, (protocol.name for protocol in protocols), messages)


def _add_protocol(fields: Names, protocol: Protocol) -> None:
    tables = [cls for cls in protocol.messages if issubclass(cls, Table)]
    if not tables:
        for cls in protocol.messages:
            fields.add_fields(cls)
        return
    _add_form(fields, form_of(protocol, protocol.messages[0]))
    header = fields.member("header")
    header.kind |= Kind.OBJECT | Kind.NULL
    header.member("table").add_kind(Kind.TEXT)
    header.member("raw_hex").add_kind(Kind.TEXT)
    inside = header.member("fields")
    inside.kind |= Kind.OBJECT
    for table in tables:
        inside.add_fields(table)
    payload = fields.member("payload")
    payload.kind |= Kind.OBJECT | Kind.NULL
    payload.is_open = True


def form_of(protocol: Protocol, frame: type[Message]) -> Mapping[str, object]:
    """The JSON form of a frame that holds as little as possible."""
    required = {field.name: 0 for field in fields_of(frame) if field.default is REQUIRED}
    raw = protocol.encode(frame(**required), "client")
    fields = protocol.open(False).read("client", raw, 0, len(raw), 1).fields
    assert isinstance(fields, Mapping), f"{protocol.name}: tables, and yet a message of its own"
    return fields


def _add_form(fields: Names, form: Mapping[str, object]) -> None:
    for name, value in form.items():
        fields.member(name).kind |= ANYTHING if value is None else kind_of(value)
