"""Records as JSON: one object a line, or one array of them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import astuple

from wiretool.codec.json_text import json_text, json_writer, quoted
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message
from wiretool.records import Record
from wiretool.sinks.output import Output
from wiretool.sinks.sink import Columns, Sink

#: Beginnings of lines that are remembered; a connection has a few.
HEADS_MAX = 65_536
LINES_MAX = 64
#: Characters at which lines that are put together are written, however few they are.
WAITING_CHARACTERS_MAX = 1024 * 1024


def json_record(record: Record) -> dict[str, Any]:
    """A record in its JSON form: what is absent is left out, bytes are hex."""
    fields = record.fields
    out: dict[str, Any] = {
        "n": record.n,
        "kind": record.kind,
        "time_ns": record.time_ns,
        "connection": record.connection,
        "client": record.client,
        "server": record.server,
        "side": record.side,
        "protocol": record.protocol or None,
        "message": record.message or None,
        "fields": json_form(fields) if isinstance(fields, Message) else fields,
        "packets": list(record.packets),
        "offset": record.offset,
        "length": record.length,
        "reply_to": record.reply_to,
        "error": record.error or None,
        "why": record.why or None,
        "append": record.append,
        "events": record.events,
        "left_over": record.left_over.hex() or None,
    }
    return {name: value for name, value in out.items() if value is not None}


class RecordText:
    """Writes records as JSON text, the same as `json_text(json_record(record))` but faster.

    What all frames of one kind on a connection have in common is put together once.
    """

    def __init__(self) -> None:
        #: Connection, side and message -> what their lines share, and what writes the fields.
        self._heads: dict[tuple[int, str, str], tuple[str, Callable[[Any], str]]] = {}
        self._packets, self._time_ns = (0, 0), -1
        self._time_text = self._packets_text = ""

    def of(self, record: Record) -> str:
        """The text of one record. The hot path of writing rows: one call takes all of a record's fields."""
        (
            n, kind, time_ns, connection, _, _, side, packets, offset, length,
            _, message, fields, reply_to, error, why, append, events, left_over, _,
        ) = astuple(record)  # fmt: skip
        if kind != "frame" or fields is None:
            return json_text(json_record(record))
        key = (connection, side, message)
        head, write = self._heads.get(key) or self._new_head(key, record)
        text = write(fields) if isinstance(fields, Message) else json_text(fields)
        answers = "" if reply_to is None else f',"reply_to":{reply_to}'
        if time_ns != self._time_ns or packets != self._packets:  # frames of one packet share both
            self._time_ns, self._packets = time_ns, packets
            self._time_text, self._packets_text = str(time_ns), f'"packets":[{packets[0]},{packets[1]}]'
        line = (
            f'{{"n":{n},"kind":"frame","time_ns":{self._time_text}{head}{text},{self._packets_text},'
            f'"offset":{offset},"length":{length}{answers}'
        )
        if left_over or error or why or (append is None) != (events is None):
            return line + _rarely(record) + "}"
        if append is None:
            return line + "}"
        return f"{line},{json_text({'append': append, 'events': events})[1:]}"

    def _new_head(self, key: tuple[int, str, str], record: Record) -> tuple[str, Callable[[Any], str]]:
        if len(self._heads) >= HEADS_MAX:
            self._heads.clear()
        parts = [
            f',"connection":{record.connection},"client":{quoted(record.client)},"server":{quoted(record.server)}',
            f'"side":"{record.side}"',
        ]
        if record.protocol:
            parts.append(f'"protocol":{quoted(record.protocol)}')
        if record.message:
            parts.append(f'"message":{quoted(record.message)}')
        write = json_writer(type(record.fields)) if isinstance(record.fields, Message) else _no_message
        made = self._heads[key] = (",".join(parts) + ',"fields":', write)
        return made


def _no_message(message: Message) -> str:
    """For a name under which a connection has had mappings so far."""
    return json_writer(type(message))(message)


def _rarely(record: Record) -> str:
    out = ""
    if record.error:
        out += f',"error":{quoted(record.error)}'
    if record.why:
        out += f',"why":{quoted(record.why)}'
    if record.append is not None:
        out += f',"append":{json_text(record.append)}'
    if record.events is not None:
        out += f',"events":{json_text(record.events)}'
    if record.left_over:
        out += f',"left_over":"{record.left_over.hex()}"'
    return out


def chosen(record: Record, columns: Columns) -> Mapping[str, Any]:
    """The chosen values that a record has, by their names."""
    pairs = ((column.name, column.value_in(record)) for column in columns)
    return {name: value for name, value in pairs if value is not None}


def line_writer(columns: Columns | None) -> Callable[[Record], str]:
    """Return a function from a record to its JSON text; with `columns` only those, by the names they were asked for."""
    return RecordText().of if columns is None else partial(_chosen_text, columns)


def _chosen_text(columns: Columns, record: Record) -> str:
    return json_text(chosen(record, columns))


class NdjsonSink(Sink):
    """One JSON object a line."""

    def __init__(self, output: Output, columns: Columns | None = None) -> None:
        self._put = output.write
        self._line = line_writer(columns)
        self._lines: list[str] = []
        self._size = 0
        #: Lines that are put together, which is faster; each for itself where somebody is watching.
        self._lines_max = 1 if output.at_once else LINES_MAX

    def write(self, record: Record) -> None:
        line = self._line(record)
        self._lines.append(line)
        self._size += len(line)
        if len(self._lines) >= self._lines_max or self._size >= WAITING_CHARACTERS_MAX:
            self.flush()

    def end(self) -> None:
        self.flush()

    def flush(self) -> None:
        if self._lines:
            self._put("\n".join(self._lines) + "\n")
            self._lines.clear()
            self._size = 0


class JsonSink(Sink):
    """One JSON array of the objects."""

    def __init__(self, output: Output, columns: Columns | None = None) -> None:
        self._put = output.write
        self._line = line_writer(columns)
        self._before = "["

    def write(self, record: Record) -> None:
        self._put(f"{self._before}\n{self._line(record)}")
        self._before = ","

    def end(self) -> None:
        self._put("[]\n" if self._before == "[" else "\n]\n")
