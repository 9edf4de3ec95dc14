"""Statistics, for people or for programs."""

import json

from wiretool.sessions.stats import Stats
from wiretool.sinks.choose import is_coloured, width_of
from wiretool.sinks.output import Output


def write_stats(stats: Stats, output: Output, form: str) -> None:
    """Write numbers as `text` or `json`."""
    if form == "json":
        output.write(json.dumps(stats.as_json(), indent=2) + "\n")
        return
    from wiretool.sinks.text.stats import stats_text

    output.write(stats_text(stats, colour=is_coloured(output), width=width_of(output)))
