"""What records have, as cells: each value by the steps to it, for all frames of a part at once."""

from collections.abc import Mapping

import numpy as np

from wiretool.codec.columns import Column, Sparse, Struct
from wiretool.codec.message import fields_of
from wiretool.codec.types import WireType
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.sinks.lines.cells import (
    Cell,
    Columns,
    NoFormError,
    Sort,
    choice_cell,
    constant_cell,
    is_as_it_is,
    number_cell,
)
from wiretool.sinks.lines.parts import Part
from wiretool.sinks.lines.strings import Piece

#: `fields.offset` as its steps.
Steps = tuple[str | int, ...]
#: What a frame that was read as columns never has.
_NEVER = frozenset({"error", "why", "left_over"})
_NESTED = frozenset({"fields", "packets", "append", "events"})


class Values:
    """The values of one part."""

    def __init__(self, part: Part, columns: Columns) -> None:
        self.count = len(part.numbers)
        self._part = part
        self._columns = columns
        self._made: dict[tuple[int, WireType | None], Cell] = {}

    def at(self, steps: Steps) -> Cell | None:
        """The cell of one value; None where no row has it, NoFormError where it is not found in columns."""
        name, rest = str(steps[0]), steps[1:]
        if name in _NESTED:
            return self._nested(name, rest)
        if rest:
            raise NoFormError
        return None if name in _NEVER else self._plain(name)

    # -- of every frame --------------------------------------------------------------------------------------------

    def _plain(self, name: str) -> Cell | None:
        run, rows = self._part.run, self._part.group.rows
        match name:
            case "n":
                return number_cell(self._part.numbers)
            case "time_ns":
                return number_cell(run.times[rows])
            case "offset":
                return number_cell(run.offsets[rows])
            case "length":
                return number_cell((run.frames.ends - run.frames.starts)[rows])
            case "connection":
                return self._connection()
            case "client" | "server":
                return self._end(name)
            case "side":
                return self._side()
            case "reply_to":
                return self._reply_to()
        return self._constant(name)

    def _constant(self, name: str) -> Cell | None:
        # The last two a record may be without.
        texts = {"kind": "frame", "protocol": self._part.run.protocol or None, "message": self._part.group.name or None}
        if name not in texts:
            raise NoFormError
        text = texts[name]
        return None if text is None else constant_cell(text)

    def _connection(self) -> Cell:
        run, rows = self._part.run, self._part.group.rows
        if len(run.connections) == 1:
            return Cell(Sort.NUMBER, [str(run.connections[0].connection)])
        return self._columns.numbers_of_connections(run.connection_of[rows])

    def _end(self, name: str) -> Cell:
        run, rows = self._part.run, self._part.group.rows
        if len(run.connections) == 1:
            return constant_cell(getattr(run.connections[0], name))
        return self._columns.ends_of_connections(name, run.connection_of[rows])

    def _side(self) -> Cell:
        is_server = self._part.run.frames.is_server[self._part.group.rows]
        if is_server.any() == is_server.all():
            return constant_cell(self._part.run.side(int(self._part.group.rows[0])))
        return choice_cell(is_server.astype(np.int64), ("client", "server"))

    def _reply_to(self) -> Cell | None:
        replies = self._part.group.reply_to
        if replies is None:
            return None
        has = replies != NO_REPLY
        return number_cell(replies, None if has.all() else has)

    # -- structures ------------------------------------------------------------------------------------------------

    def _nested(self, name: str, rest: Steps) -> Cell | None:
        if name == "packets":
            return self._packets(rest)
        if name == "events":
            return self._events(rest)
        members = self._fields() if name == "fields" else self._append()
        if members is None:
            return None
        if not rest:
            return self._object({member: self._cell(column, wire) for member, (column, wire) in members.items()})
        if rest[0] not in members:
            return None
        column, wire = members[str(rest[0])]
        if len(rest) == 1:
            return self._cell(column, wire)
        if wire is not None:
            raise NoFormError
        inner = _inside(column, rest[1:])
        return None if inner is None else self._columns.cell(inner)

    def _fields(self) -> Mapping[str, tuple[Column, WireType | None]]:
        group = self._part.group
        if group.cls is None:
            return {name: (column, None) for name, column in group.columns.items()}
        wires = {field.name: field.wire for field in fields_of(group.cls)}
        if wires.keys() != group.columns.keys():  # some have their default
            raise NoFormError
        return {name: (group.columns[name], None if is_as_it_is(wire) else wire) for name, wire in wires.items()}

    def _append(self) -> Mapping[str, tuple[Column, WireType | None]] | None:
        append = self._part.group.append
        return None if append is None else {name: (column, None) for name, column in append.items()}

    def _cell(self, column: Column, wire: WireType | None) -> Cell:
        """Some columns are in several places of a record, so each is made once."""
        key = id(column), wire
        if key not in self._made:
            self._made[key] = self._columns.cell(column, wire)
        return self._made[key]

    def _object(self, members: Mapping[str, Cell]) -> Cell:
        pieces: list[Piece] = []
        for name, cell in members.items():
            pieces += [f'{"," if pieces else "{"}"{name}":', *cell.json(self.count)]
        return Cell(Sort.JSON, [*pieces, "}"] if pieces else ["{}"])

    def _packets(self, rest: Steps) -> Cell:
        run, rows = self._part.run, self._part.group.rows
        first, last = run.first_packets[rows], run.last_packets[rows]
        first_cell = number_cell(first)
        pair = (first_cell, first_cell if np.array_equal(first, last) else number_cell(last))
        if not rest:
            return Cell(Sort.JSON, ["[", *pair[0].pieces, ",", *pair[1].pieces, "]"])
        if len(rest) > 1 or not isinstance(rest[0], int) or rest[0] > 1:
            raise NoFormError
        return pair[rest[0]]

    def _events(self, rest: Steps) -> Cell | None:
        events = self._part.group.events
        if rest:
            raise NoFormError
        if events is None:
            return None
        return self._columns.events_cell(events, self.count)


def _inside(column: Column, steps: Steps) -> Column | None:
    """The column that steps lead to in structures; None where none of them has it."""
    if not steps:
        return column
    if isinstance(column, Sparse):
        inner = _inside(column.column, steps)
        return None if inner is None else Sparse(inner, column.has)
    if isinstance(column, Struct):
        inner = column.columns.get(str(steps[0]))
        return None if inner is None else _inside(inner, steps[1:])
    raise NoFormError
