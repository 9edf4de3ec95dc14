"""Statistics, for people or for programs."""

from wiretool.analysis.stats import Stats
from wiretool.codec.json_text import table_pieces
from wiretool.sinks.choose import is_coloured, width_of
from wiretool.sinks.output import Output


def write_stats(stats: Stats, output: Output, form: str) -> None:
    """Write numbers as `text` or `json`."""
    if form == "json":
        for piece in table_pieces({"total": stats.total_as_json()}, stats.tables_as_json()):
            output.write(piece)
        return
    from wiretool.sinks.text.stats import stats_text

    output.write(stats_text(stats, colour=is_coloured(output), width=width_of(output)))
