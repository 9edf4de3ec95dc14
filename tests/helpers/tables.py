"""Strategies for FlatBuffers tables, made from their declarations."""

from typing import Any

from hypothesis import strategies as st

from wiretool.codec.flatbuffers.declaration import (
    BytesSlot,
    Scalar,
    ScalarsSlot,
    SlotType,
    StringSlot,
    Table,
    TableSlot,
    TablesSlot,
    UnionSlot,
    slots_of,
)

#: How deep the tables made here nest.
DEPTH_MAX = 3
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def scalars(wire: Scalar) -> st.SearchStrategy[Any]:
    """Any value of a scalar, the named ones more often."""
    if wire.form == "?":
        return st.booleans()
    return st.one_of(st.integers(wire.low, wire.high), st.sampled_from([*wire.names, wire.low, wire.high]))


def tables(cls: type[Table], depth: int = 0) -> st.SearchStrategy[Any]:
    """Tables of `cls`; what is required is there."""
    slots = slots_of(cls)
    return st.fixed_dictionaries({name: _values(wire, depth) for name, wire, _ in slots}).map(
        lambda values: cls(**_settled(cls, values))
    )


def _values(wire: SlotType, depth: int) -> st.SearchStrategy[Any]:
    if isinstance(wire, Scalar):
        return scalars(wire)
    there = _there(wire, depth)
    return there if wire.is_required else st.one_of(st.none(), there)


def _there(wire: SlotType, depth: int) -> st.SearchStrategy[Any]:
    if isinstance(wire, StringSlot):
        return texts
    if isinstance(wire, BytesSlot):
        return st.binary(max_size=8)
    if isinstance(wire, ScalarsSlot):
        return st.lists(scalars(wire.element), max_size=4).map(tuple)
    if isinstance(wire, TablesSlot):
        if depth >= DEPTH_MAX:
            return st.just(())
        return st.lists(st.deferred(lambda: tables(wire.cls, depth + 1)), max_size=2).map(tuple)
    if isinstance(wire, UnionSlot):
        members = [tables(member, depth + 1) for member in wire.classes.values()]
        return st.one_of(members)
    assert isinstance(wire, TableSlot)
    if depth >= DEPTH_MAX and not wire.is_required:
        return st.none()
    return st.deferred(lambda: tables(wire.cls, depth + 1))


def _settled(cls: type[Table], values: dict[str, Any]) -> dict[str, Any]:
    """The values with each union's tag naming the member that is there."""
    for name, wire, _ in slots_of(cls):
        if isinstance(wire, UnionSlot):
            tags = {member: tag for tag, member in wire.classes.items()}
            values[wire.tag] = tags[type(values[name])] if values[name] is not None else 0
    return values


def mutated(data: bytes) -> st.SearchStrategy[bytes]:
    """`data` with a few bytes changed, cut short or drawn out: mostly damaged, sometimes still whole."""
    changes = st.lists(st.tuples(st.integers(0, max(len(data) - 1, 0)), st.integers(0, 255)), max_size=6)
    ends = st.one_of(st.just(len(data)), st.integers(0, len(data)))
    return st.tuples(changes, ends, st.binary(max_size=4)).map(lambda drawn: _changed(data, *drawn))


def _changed(data: bytes, changes: list[tuple[int, int]], end: int, tail: bytes) -> bytes:
    out = bytearray(data)
    for at, value in changes:
        if at < len(out):
            out[at] = value
    return bytes(out[:end]) + tail
