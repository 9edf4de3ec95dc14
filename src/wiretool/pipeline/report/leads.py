"""From a row of a figure back to its packets: the command that cuts them out of the captures that hold them."""

import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from wiretool.pipeline.gold import STORM_NS
from wiretool.pipeline.layout import Input
from wiretool.pipeline.report.figures import Figure, Lead, Question, Row
from wiretool.pipeline.views import Tables

#: What programs that rotate captures (`tcpdump -z gzip`) put behind the name of one that they have packed.
PACKED = (".gz", ".zst")
#: By connection: the files with records of it, and when these were captured.
_Places = Mapping[int, Sequence[tuple[str, int, int]]]


def with_leads(tables: Tables, figures: Sequence[Figure]) -> list[Figure]:
    """The figures, each row with `slice`: a command as a shell takes it."""
    figures = _with_answers(tables, figures)
    places = _places(tables, [row for figure in figures for row in figure.rows])
    called = cache(_as_it_is_called_now)  # for this report only: by the next one it may have been packed
    found = []
    for figure in figures:
        rows = []
        for number, row in enumerate(figure.rows, 1):
            files = [called(path) for path in _files(tables.manifest.inputs, figure.question.lead, row, places)]
            rows.append({**row, "slice": _command(tables, figure.question, number, row, files)})
        found.append(Figure(figure.question, rows, figure.count))
    return found


def _with_answers(tables: Tables, figures: Sequence[Figure]) -> Sequence[Figure]:
    """The figures, in which exchanges end at the answer's own time: where times go back, its latency is cut to 0."""
    rows = [row for figure in figures if figure.question.lead == "exchange" for row in figure.rows]
    names = {(row["connection"], row["reply_n"]) for row in rows if row["reply_n"] is not None}
    if not names:
        return figures
    connections = {connection for connection, _ in names}
    asked = tables.database.execute(
        f"""SELECT connection, n, time_ns FROM frames WHERE connection IN ({", ".join(map(str, connections))})
            AND n IN ({", ".join(str(n) for _, n in names)}) AND kind = 'frame'"""
    )
    times = {(connection, n): {"last_ns": time_ns} for connection, n, time_ns in asked.fetchall()}
    return [
        replace(
            figure,
            rows=[{**row, **times.get((row.get("connection"), row.get("reply_n")), {})} for row in figure.rows],
        )
        for figure in figures
    ]


def _places(tables: Tables, rows: Iterable[Row]) -> _Places:
    """Where the records of the connections in rows are."""
    connections = sorted({row["connection"] for row in rows if "connection" in row})
    if not connections:
        return {}
    asked = tables.database.execute(
        f"""SELECT connection, file, min(time_ns), max(time_ns) FROM (
            SELECT connection, time_ns, unnest([first_file, last_file]) AS file FROM frames
            WHERE connection IN ({", ".join(map(str, connections))})
        ) WHERE file IS NOT NULL GROUP BY ALL ORDER BY connection, 3, file"""
    )
    places: dict[int, list[tuple[str, int, int]]] = {}
    for connection, *place in asked.fetchall():
        places.setdefault(connection, []).append((place[0], place[1], place[2]))
    return places


def _command(tables: Tables, question: Question, number: int, row: Row, files: Sequence[str]) -> str:
    options = tables.manifest.options
    told = [] if options.get("protocol", "auto") == "auto" else ["--protocol", str(options["protocol"])]
    for port, name in dict(options.get("ports") or {}).items():
        told += ["--port", f"{port}={name}"]
    # What is missing has no packets of its own.
    whole = ["--conversation"] if question.lead in ("storm", "trouble") else []
    words = ["wiretool", "slice", *files, "--where", where_of(question.lead, row), *whole, *told]
    return shlex.join([*words, "-o", f"{question.name}-{number}.pcapng"])


def _files(inputs: Sequence[Input], lead: Lead, row: Row, places: _Places) -> list[str]:
    """The captures with packets of a row: those of its connection, or of its time where that is all that is known."""
    first, last = row["first_ns"], row["last_ns"]
    stretches = [(first, first), (last, last)] if lead == "exchange" else [(first, last)]
    its = () if lead == "storm" else places.get(row.get("connection", -1), ())
    mine = {path for path, begins, ends in its for low, high in stretches if begins <= high and ends >= low}
    if not mine:
        first, last = min(first, last), max(first, last)
        mine = {each.path for each in inputs if each.packets and each.first_ns <= last and each.last_ns >= first}
    return [each.path for each in inputs if each.path in mine] or [each.path for each in inputs]


def _as_it_is_called_now(path: str) -> str:
    """The name of a capture that may have been packed since; as it was found where none such is seen either."""
    names = (path, *(path + suffix for suffix in PACKED))
    return next((name for name in names if os.path.exists(name)), path)


def where_of(lead: Lead, row: Row) -> str:
    """The expression that is true for the records of a row, also where connections have other numbers."""
    if lead == "protocol":
        return _protocol(row)
    times = f"time_ns >= {row['first_ns']} and time_ns <= {row['last_ns']}"
    if lead == "message":
        message = f"message == {_quoted(row['message'])} and side == {_quoted(row['side'])}"
        return f"{_protocol(row)} and {message} and {times}"
    if lead == "storm":
        # Its times are those of first packets: records come later.
        times = f"time_ns >= {row['first_ns']} and time_ns <= {row['last_ns'] + STORM_NS}"
        return (
            f"server == {_quoted(row['server'])} and client ~ {_quoted('^' + re.escape(row['host']) + ':')} and {times}"
        )
    where = f"client == {_quoted(row['client'])} and server == {_quoted(row['server'])}"
    if lead == "exchange":
        return f"{where} and time_ns in [{row['first_ns']}, {row['last_ns']}]"
    if lead == "trouble":
        where += ' and kind in ["gap", "problem"]'
    return f"{where} and {times}"


def _protocol(row: Row) -> str:
    name = row["protocol"]
    return 'kind == "other"' if name == "none" else f"protocol == {_quoted(name)}"


def _quoted(value: str) -> str:
    """A text as an expression has it."""
    return json.dumps(value, ensure_ascii=False).replace("\\b", "\\x08").replace("\\f", "\\x0c")
