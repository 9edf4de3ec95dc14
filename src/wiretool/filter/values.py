"""Values of a record, by the steps that lead to them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from wiretool.codec.message import Message, fields_of
from wiretool.codec.types import WireType
from wiretool.filter.history import Getter, History, Steps
from wiretool.records import Record


def getter(steps: Steps, history: History) -> Getter:
    """Return the function that follows `steps` from a record; it gives None where they lead nowhere."""
    first, rest = str(steps[0]), steps[1:]
    if first == "time":
        return lambda record: history.since_first_ns(record) / 1e9
    if first == "latency":
        return _latency_getter(history)
    if first == "request":
        return _request_getter(rest or ("n",), history)
    if first == "fields":
        return _field_getter(rest) if rest else _all_fields
    if first == "left_over":
        return lambda record: record.left_over.hex() or None
    if first in ("client", "server") and rest:
        return lambda record: address_part(getattr(record, first), str(rest[0]))
    if rest:
        return lambda record: _follow(getattr(record, first), rest)
    if first in ("protocol", "message", "error", "why"):
        return lambda record: getattr(record, first) or None
    return lambda record: getattr(record, first)


def address_part(address: str, part: str) -> Any:
    """Return the `host` (text, IPv6 without brackets) or `port` (number) of an `ip:port`; None for any other part."""
    host, _, port = address.rpartition(":")
    if part == "port":
        return int(port) if port.isdecimal() else None
    return host.strip("[]") if part == "host" else None


def _request_getter(steps: Steps, history: History) -> Getter:
    values = history.request_values(steps, getter(steps, history))
    return lambda record: None if record.reply_to is None else values.of(record.n, record.reply_to)


def _latency_getter(history: History) -> Getter:
    requested_ns = _request_getter(("time_ns",), history)

    def get(record: Record) -> Any:
        begin_ns = requested_ns(record)
        return None if begin_ns is None else (record.time_ns - begin_ns) / 1e9

    return get


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
