"""Values of a record, by the steps that lead to them."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from wiretool.codec.message import Message, fields_of
from wiretool.codec.types import WireType
from wiretool.records import Record

#: A value in JSON form, None where the record has none.
Getter = Callable[[Record], Any]
Steps = tuple[str | int, ...]


class Clock:
    """Remembers when the first record was captured; `time` counts from there."""

    def __init__(self) -> None:
        self._first_ns: int | None = None

    def since_first_ns(self, record: Record) -> int:
        """Nanoseconds from the first record this was asked for to this one."""
        return record.time_ns - self.first_ns(record.time_ns)

    def first_ns(self, time_ns: int) -> int:
        """When the first record was captured; that is `time_ns` where this is the first time it is asked for."""
        if self._first_ns is None:
            self._first_ns = time_ns
        return self._first_ns


def getter(steps: Steps, clock: Clock) -> Getter:
    """The function that follows `steps` from a record; None where they lead nowhere in it."""
    first, rest = steps[0], steps[1:]
    if first == "time":
        return lambda record: clock.since_first_ns(record) / 1e9
    if first == "fields":
        return _field_getter(rest) if rest else _all_fields
    if first == "left_over":
        return lambda record: record.left_over.hex() or None
    name = str(first)
    if rest:
        return lambda record: _follow(getattr(record, name), rest)
    if name in ("protocol", "message", "error", "why"):
        return lambda record: getattr(record, name) or None
    return lambda record: getattr(record, name)


def _all_fields(record: Record) -> Any:
    fields = record.fields
    if not isinstance(fields, Message):
        return fields
    return {name: wire.to_json(getattr(fields, name)) for name, wire in _wires(type(fields)).items()}


def _field_getter(steps: Steps) -> Getter:
    name, rest = str(steps[0]), steps[1:]

    def get(record: Record) -> Any:
        fields = record.fields
        if not isinstance(fields, Message):
            return _follow(fields, steps)
        wire = _wires(type(fields)).get(name)
        return None if wire is None else _follow(wire.to_json(getattr(fields, name)), rest)

    return get


@cache
def _wires(cls: type[Message]) -> Mapping[str, WireType]:
    return {field.name: field.wire for field in fields_of(cls)}


def _follow(value: Any, steps: Steps) -> Any:
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is None:
            return None
    return value
