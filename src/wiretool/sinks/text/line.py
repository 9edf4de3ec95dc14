"""One line a record, more for the text of a problem: number, time, connection, direction, protocol, message, fields."""

from wiretool.analysis.replies import ReplyTimes
from wiretool.records import Record
from wiretool.sinks.printable import cut_to, printable, width_of, wrap_text
from wiretool.sinks.text.colour import Colour, cycle
from wiretool.sinks.text.values import Pairs, pairs_of, short
from wiretool.units import counted

#: Width below which the protocol has no column; the line of its connection names it.
PROTOCOL_COLUMN_FROM = 110
#: Width of the message's name: as wide as those seen, within these.
MESSAGE_MIN = 14
MESSAGE_MAX = 26
#: Fewer columns than this are not worth an ellipsis.
FIELD_MIN = 6
#: Fewer columns than this are too few for text that wraps: it goes on further to the left.
WRAPPED_MIN = 30
WRAPPED_INDENT = 7
#: Where not all fields fit on a line: what says nothing, how many are to be seen, and what each has at least.
EMPTY = ('""', "[]", "{}", "null")
VALUES_WANTED = 4
VALUE_MIN = 9

SIDE_COLOUR = {"client": "36", "server": "32"}
KIND_COLOUR = {"gap": "33;1", "problem": "31;1", "other": "35"}


class Lines:
    """Makes the lines; `columns` is the width of the terminal, 0 where there is none."""

    def __init__(self, colour: Colour, columns: int, times: ReplyTimes) -> None:
        self._colour = colour
        self._columns = columns
        self._times = times
        self._has_protocol = not 0 < columns < PROTOCOL_COLUMN_FROM
        self._message_width = MESSAGE_MIN
        self._message_max = max(min(MESSAGE_MAX, columns // 3), MESSAGE_MIN) if columns else MESSAGE_MAX
        self._protocol_width = 7
        self._n_width = 4
        self._time_width = 9

    @property
    def left_out(self) -> str:
        """A notice of what the terminal has no room for; empty if it has."""
        if self._has_protocol:
            return ""
        columns = f"{self._columns} column{'s' * (self._columns != 1)}"
        why = f"protocol column hidden: the terminal has {columns}, {PROTOCOL_COLUMN_FROM} are needed"
        return f"{why}; the line of each connection names its protocol"

    def of(self, record: Record) -> str:
        """The line of a record, without the newline; the text of a problem wraps."""
        place, used = self._place(record)
        name, name_width = self._name(record, max(self._columns - used - 2, 1) if self._columns else 0)
        left = self._columns - used - name_width if self._columns else 0
        if record.kind != "frame":
            lines = self._wrap(what_of(record), left) if self._columns else [what_of(record)]
            return f"{place}{name}" + "\n".join(self._colour.paint(KIND_COLOUR[record.kind], line) for line in lines)
        tie = self._tie(record)
        if self._columns and left < len(tie) + FIELD_MIN:
            return self._cut(record, f"{place}{name}".rstrip(), tie, left + self._padding_of(record))
        fields = self._fields(record, left - len(tie) - 1 if left else 0)
        return f"{place}{name}{self._colour.dim(tie)}{' ' if tie and fields else ''}{fields}".rstrip()

    def _cut(self, record: Record, begin: str, tie: str, left: int) -> str:
        """Return a line that has no room for fields: `begin`, and as much of the tie as fits `left` columns."""
        has_fields = bool(pairs_of(record.fields) + _extras(record))
        rest = " ".join(filter(None, (tie, "…" * has_fields)))
        return f"{begin} {self._colour.dim(cut_to(rest, max(left, 1)))}".rstrip()

    def _wrap(self, text: str, left: int) -> list[str]:
        """Return the text in lines: below its beginning where that leaves room, else below the name of the record."""
        indent = self._columns - left if left >= WRAPPED_MIN else min(WRAPPED_INDENT, self._columns // 4)
        columns = max(self._columns - indent, 1)
        first, *rest = wrap_text(text, columns, first=max(left, 1))
        return [first, *(" " * indent + line for line in rest)]

    def connection(self, record: Record) -> str:
        """The line that introduces a connection."""
        colour = self._colour
        speaks = f"  {record.protocol}" if record.protocol else ""
        return (
            f"{colour.paint(cycle(record.connection) + ';1', f'── connection {record.connection}')}  "
            f"{printable(record.client)} → {printable(record.server)}{colour.dim(speaks)}"
        )

    def _place(self, record: Record) -> tuple[str, int]:
        """Where and when: the columns in front of the message, and how wide they are."""
        number, time = str(record.n), f"{self._times.since_first_ns(record) / 1e9:.6f}"
        self._n_width = max(self._n_width, len(number))
        self._time_width = max(self._time_width, len(time))
        connection = f"{record.connection:>2}"
        arrow = "→" if record.side == "client" else "←"
        text = (
            f"{self._colour.dim(number.rjust(self._n_width))} {self._colour.dim(time.rjust(self._time_width))} "
            f"{self._colour.paint(cycle(record.connection), connection)} "
            f"{self._colour.paint(SIDE_COLOUR[record.side], arrow)} "
        )
        return text, self._n_width + self._time_width + len(connection) + 5

    def _name(self, record: Record, most: int) -> tuple[str, int]:
        name = printable(record.message) if record.kind == "frame" else record.kind
        name = cut_to(name, most) if most and record.kind == "frame" else name
        self._message_width = min(max(self._message_width, len(name)), self._message_max)
        code = KIND_COLOUR.get(record.kind) or SIDE_COLOUR[record.side] + ";1"
        padding = " " * (self._message_width - width_of(name))
        text, width = self._colour.paint(code, name) + padding + " ", max(self._message_width, width_of(name)) + 1
        if not self._has_protocol:
            return text, width
        self._protocol_width = max(self._protocol_width, len(record.protocol))
        protocol = record.protocol.ljust(self._protocol_width) + " "
        return self._colour.dim(protocol) + text, width + len(protocol)

    def _padding_of(self, record: Record) -> int:
        """Return the width of the spaces between the name of a message and the single one that follows it."""
        return max(self._message_width - width_of(printable(record.message)), 0)

    def _tie(self, record: Record) -> str:
        if record.reply_to is None:
            return ""
        latency_ns = self._times.latency_ns(record)
        after = "" if latency_ns is None else f" +{duration(latency_ns)}"
        return f"↳#{record.reply_to}{after}"

    def _fields(self, record: Record, columns: int) -> str:
        pairs = pairs_of(record.fields) + _extras(record)
        if pairs and pairs[0] == ("type", record.message):
            del pairs[0]
        if not columns and self._columns:
            return ""
        colour = self._colour
        if not self._columns:
            if not colour.is_on:
                return " ".join([f"{name}={value}" for name, value in pairs])
            return " ".join([f"\x1b[2m{name}=\x1b[0m{value}" for name, value in pairs])
        return _fitted(pairs, colour, columns)


def _fitted(pairs: Pairs, colour: Colour, columns: int) -> str:
    """As many of the pairs as fit; where not all do, empty ones are left out and long values are cut first."""
    widths = [len(name) + 2 + width_of(value) for name, value in pairs]
    if sum(widths) - 1 > columns:
        most = max(columns // VALUES_WANTED, VALUE_MIN)
        pairs = [(name, cut_to(value, most)) for name, value in pairs if value not in EMPTY]
        widths = [len(name) + 2 + width_of(value) for name, value in pairs]
    out: list[str] = []
    for index, ((name, value), width) in enumerate(zip(pairs, widths, strict=True)):
        room = columns if index == len(pairs) - 1 else columns - 2
        if width - 1 > room:
            cut = columns - len(name) - 1
            out.append(f"{colour.dim(name + '=')}{cut_to(value, cut)}" if cut >= FIELD_MIN else "…")
            break
        out.append(f"{colour.dim(name + '=')}{value}")
        columns -= width
    return " ".join(out)


def _extras(record: Record) -> Pairs:
    """What a record says beside its fields."""
    out: Pairs = []
    if record.left_over:
        out.append(("left_over", f"({len(record.left_over):,} B)"))
    if record.append is not None and record.append.get("segment"):
        out.append(("to", short(record.append["segment"])))
    if record.events is not None:
        size = (record.append or {}).get("length")
        out.append(
            ("events", f"{len(record.events)} ({size:,} B)" if isinstance(size, int) else str(len(record.events)))
        )
    return out


def what_of(record: Record) -> str:
    """What a record that is no frame is about."""
    if record.kind == "problem":
        why = printable(record.why)
        said = why if why.startswith(record.error) else f"{record.error}: {why}"
        return f"{said} ({counted(record.length, 'byte')} at {record.offset:,})" if record.length else said
    why = f": {printable(record.why)}" if record.kind == "other" and record.why else ""
    missing = " missing" if record.kind == "gap" else ""
    return f"{counted(record.length, 'byte')}{missing} at {record.offset:,}{why}"


def duration(time_ns: int) -> str:
    """A time that passed, to three digits: `1.23 ms`."""
    if abs(time_ns) < 1_000:
        return f"{time_ns} ns"
    value, unit = time_ns / 1_000, "µs"
    for larger in ("ms", "s"):
        if abs(value) >= 999.5:
            value, unit = value / 1_000, larger
    return f"{value:.{2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0}f} {unit}"
