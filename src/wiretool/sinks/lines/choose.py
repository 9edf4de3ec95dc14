"""The sink of batches for a form of output. It stands apart from that of records, which needs no NumPy and no Arrow."""

from wiretool.sinks.batch_sink import BatchSink, RowByRow
from wiretool.sinks.choose import Pairs, sink_for
from wiretool.sinks.lines.sink import lines_sink_for
from wiretool.sinks.output import Output
from wiretool.sinks.sink import Column
from wiretool.sinks.text.sink import Annotate


def batch_sink_for(
    form: str, output: Output, *, columns: Pairs | None, annotate: Annotate, tree: bool = False, dump: bool = False
) -> BatchSink:
    """The sink of batches that writes `form`, the very same as `sink_for` would."""
    if form in ("ndjson", "json", "csv") and not (tree or dump or output.at_once):
        chosen = None if columns is None else [Column(name, value_in) for name, value_in in columns]
        lines = lines_sink_for(form, output, chosen)
        if lines is not None:
            return lines
    return RowByRow(sink_for(form, output, columns=columns, annotate=annotate, tree=tree, dump=dump))
