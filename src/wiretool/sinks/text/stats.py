"""Statistics as tables for people."""

from collections.abc import Iterator

from wiretool.analysis.stats import ConnectionRow, Row, Stats, per_second
from wiretool.sinks.text.line import duration
from wiretool.sinks.text.tables import Head, table_text
from wiretool.sinks.text.wrapping import wrap_lines
from wiretool.units import counted

#: Rows of connections and of subjects that a person is shown; JSON has all.
ROWS_SHOWN = 30
_NUMBERS = (Head("frames", True), Head("bytes", True))
_TIMES = (Head("replies", True), Head("p50", True), Head("p99", True), Head("max", True))
_ARROWS = {"client": "→", "server": "←"}


def stats_text(stats: Stats, *, colour: bool = False, width: int = 0) -> str:
    """All tables, one after another."""
    return "\n".join(_tables(stats, colour, width))


def _tables(stats: Stats, colour: bool, width: int) -> Iterator[str]:
    yield wrap_lines(_summary(stats), width)
    if stats.messages:
        subject = (Head("protocol", is_spare=True, style="dim"), Head(""), Head("message", is_key=True))
        rows = [
            (protocol, _ARROWS[side], message, *_cells(row))
            for (protocol, message, side), row in sorted(stats.messages.items(), key=_by_protocol_and_frames)
        ]
        yield table_text("Messages", (*subject, *_NUMBERS, *_TIMES), rows, colour=colour, width=width)
    if stats.connections:
        yield _connections(stats, colour, width)
    if any(row.tls for row in stats.connections.values()):
        yield _tls(stats, colour, width)
    for kind in dict.fromkeys(subject.kind for subject in stats.subjects):
        yield _subjects(stats, kind, colour, width)


def _by_protocol_and_frames(item: tuple[tuple[str, str, str], Row]) -> tuple[str, int, str]:
    (protocol, message, _), row = item
    return protocol, -row.frames, message


def _summary(stats: Stats) -> list[str]:
    total = stats.total
    rates = ""
    if total.duration_ns:
        frames_per_s = per_second(total.frames, total.duration_ns)
        rates = f" in {duration(total.duration_ns)}: {frames_per_s:,.0f} frames/s, {_rate(total)}"
    what = f"{counted(total.frames, 'frame')}, {counted(total.bytes, 'byte')}"
    apart = [
        f"{counted(total.problem_bytes, 'byte')} in problems" if total.problem_bytes else "",
        f"{counted(total.other_bytes, 'byte')} in streams of other protocols" if total.other_bytes else "",
    ]
    where = f"{what} on {counted(len(stats.connections), 'connection')}{rates}"
    lines = ["; ".join(filter(None, [where, ", ".join(filter(None, apart))]))]
    lines.append(f"from clients {total.client_bytes:,} bytes, from servers {total.server_bytes:,} bytes")
    wrong = [
        f"{counted(total.gaps, 'gap')} ({total.gap_bytes:,} bytes missing)" if total.gaps else "",
        counted(total.problems, "problem") if total.problems else "",
    ]
    if any(wrong):
        lines.append(", ".join(filter(None, wrong)))
    return lines


def _rate(row: Row) -> str:
    per_s = per_second(row.bytes, getattr(row, "duration_ns", 0))
    for unit, factor in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if per_s >= factor:
            return f"{per_s / factor:.2f} {unit}"
    return f"{per_s:.0f} B/s"


def _cells(row: Row) -> tuple[str, ...]:
    return f"{row.frames:,}", f"{row.bytes:,}", *_times(row)


def _times(row: Row) -> tuple[str, ...]:
    replies = row.replies
    if not replies.count:
        return "", "", "", ""
    times = (replies.quantile_ns(0.50), replies.quantile_ns(0.99), replies.max_ns)
    return f"{replies.count:,}", *(duration(time_ns) for time_ns in times)


def _connections(stats: Stats, colour: bool, width: int) -> str:
    heads = (
        Head("", True, style="dim"),
        Head("client", is_key=True),
        Head("server", is_key=True),
        Head("protocol", is_spare=True, style="dim"),
        Head("frames", True),
        Head("→ bytes", True),
        Head("← bytes", True),
        Head("time", True, is_spare=True),
        Head("rate", True, is_spare=True),
        Head("p50", True, is_spare=True),
        Head("p99", True, is_spare=True),
        Head("gaps", True),
        Head("problems", True),
    )
    shown = sorted(stats.connections.items(), key=lambda item: -item[1].bytes)[:ROWS_SHOWN]
    rows = [
        (
            str(key),
            row.client,
            row.server,
            row.protocol or ("TLS" if row.tls else "other"),
            *_traffic(row),
            duration(row.duration_ns),
            _rate(row) if row.frames else "",
            *_times(row)[1:3],
            f"{row.gaps:,}" if row.gaps else "",
            f"{row.problems:,}" if row.problems else "",
        )
        for key, row in shown
    ]
    return table_text(_title("Connections", len(stats.connections)), heads, rows, colour=colour, width=width)


def _tls(stats: Stats, colour: bool, width: int) -> str:
    """Return the table of TLS connections, with the bytes of both sides as they were captured."""
    heads = (
        Head("", True, style="dim"),
        Head("server", is_key=True),
        Head("version and server name", is_key=True),
        Head("→ bytes", True),
        Head("← bytes", True),
        Head("decrypted"),
    )
    found = [(key, row) for key, row in stats.connections.items() if row.tls]
    shown = sorted(found, key=lambda item: -sum(item[1].captured_bytes))[:ROWS_SHOWN]
    rows = [
        (str(key), row.server, row.tls, *map("{:,}".format, row.captured_bytes), "yes" if row.is_decrypted else "no")
        for key, row in shown
    ]
    return table_text(_title("TLS", len(found)), heads, rows, colour=colour, width=width)


def _traffic(row: ConnectionRow) -> tuple[str, str, str]:
    """Return the frames and the bytes of both sides; nothing where all bytes are of another protocol."""
    if not row.frames and row.other_bytes:
        return "", "", ""
    return f"{row.frames:,}", f"{row.client_bytes:,}", f"{row.server_bytes:,}"


def _subjects(stats: Stats, kind: str, colour: bool, width: int) -> str:
    found = [(subject.name, row) for subject, row in stats.subjects.items() if subject.kind == kind]
    shown = sorted(found, key=lambda item: -item[1].bytes)[:ROWS_SHOWN]
    rows = [(name, *_cells(row)) for name, row in shown]
    heads = (Head(kind, is_key=True), *_NUMBERS, *_TIMES)
    return table_text(_title(f"{kind.capitalize()}s", len(found)), heads, rows, colour=colour, width=width)


def _title(name: str, count: int) -> str:
    return f"{name} (the {ROWS_SHOWN} with most bytes, of {count:,})" if count > ROWS_SHOWN else name
