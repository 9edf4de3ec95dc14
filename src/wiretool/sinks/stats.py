"""Statistics, for people or for programs."""

from collections.abc import Iterator, Mapping
from json import JSONEncoder
from typing import Any

from wiretool.analysis.stats import Stats
from wiretool.sinks.choose import is_coloured, width_of
from wiretool.sinks.output import Output


def write_stats(stats: Stats, output: Output, form: str) -> None:
    """Write numbers as `text` or `json`."""
    if form == "json":
        for piece in pieces_of(stats):
            output.write(piece)
        return
    from wiretool.sinks.text.stats import stats_text

    output.write(stats_text(stats, colour=is_coloured(output), width=width_of(output)))


def pieces_of(stats: Stats) -> Iterator[str]:
    """Yield the JSON text, as `json.dumps` indents it by 2, in pieces of a row each: there may be very many."""
    yield f'{{\n  "total": {_object(stats.total_as_json(), "  ")}'
    for name, rows in stats.tables_as_json():
        yield f',\n  "{name}": ['
        before = after = ""
        for row in rows:
            yield f"{before}\n    {_object(row, '    ')}"
            before, after = ",", "\n  "
        yield after + "]"
    yield "\n}\n"


def _object(row: Mapping[str, Any], indent: str) -> str:
    """Return a JSON object of values that are no structures, a line each."""
    text = JSONEncoder(separators=(f",\n{indent}  ", ": ")).encode(row)
    return f"{{\n{indent}  {text[1:-1]}\n{indent}}}"
