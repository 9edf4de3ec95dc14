"""Which frames wait for an answer, and the codes with which one says that it failed."""

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any

from wiretool.codec.flatbuffers.declaration import Scalar, Table, slots_of
from wiretool.protocols.base.exchanges import Exchanges, Fields, Spoken, value_in
from wiretool.protocols.sbp.messages import GOAWAY, Schema, operations_of
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.tables import Status

#: Codes that are no failure: OK, and that there is nothing new to fetch.
FINE = frozenset({1200, 1204})


def names_in(table: type[Table], field: str) -> Mapping[int, str]:
    """The names of the codes in a field of a table."""
    return next(wire.names for name, wire, _ in slots_of(table) if name == field and isinstance(wire, Scalar))


def asked(schema: Schema) -> frozenset[Spoken]:
    """Every operation but GOAWAY, which is only told; both sides ask. So is one that the schema does not know."""
    names = {"Unknown", *(operation.name for operation in operations_of(schema).values() if operation.code != GOAWAY)}
    return frozenset((name, side) for name in names for side in ("client", "server"))


def told(schema: Schema) -> frozenset[Spoken]:
    """What may be answered: a server looks at no response bit (`session.SbpConversation._answer`)."""
    return asked(schema) | {("GOAWAY", "client"), ("GOAWAY", "server")}


_SCALARS = (int, str, NoneType, float, bytes)


def values_of(fields: Any, name: str) -> Iterator[Any]:
    """The fields of that name in a header, those of what stands around others first."""
    todo = [fields]
    while todo:
        inner: list[Any] = []
        for value in todo:
            if isinstance(value, (dict, Mapping)):  # a dict is known at once
                if name in value:
                    yield value[name]
                inner += value.values()
            elif isinstance(value, list):
                inner += value
        todo = [value for value in inner if not isinstance(value, _SCALARS)]


_CODES = names_in(Status, "code")


def failure(name: str, fields: Fields) -> str | None:
    """The name of the first code that is no good one: that of the whole answer, else that of an entry."""
    code = next((code for code in values_of(value_in(fields, "header"), "code") if code not in FINE), None)
    return None if code is None else _CODES.get(code, str(code))


#: A server that closes the connection soon answers no further request (sbp.md §3.6).
FAREWELLS = frozenset({"GOAWAY"})
EXCHANGES = Exchanges(
    asks=asked(LATEST),
    may_ask=told(LATEST),
    unless="is_response",
    failure=failure,
    fine={"code": FINE},
    farewells=FAREWELLS,
)
