"""A result as comma-separated values: a row for each operation in each second, for spreadsheets and plots."""

import csv
import io
from collections.abc import Iterable, Iterator

from wiretool.load.backlog import drained_names
from wiretool.load.measure.figures import QUANTILES
from wiretool.load.result import Moment, Quantiles, Result, Second

#: Times are microseconds; processors are counted in whole ones (0.5 is half of one).
NAMES = (
    "second",
    "operation",
    "count",
    "errors",
    "events",
    "bytes",
    *(f"service_us_{name}" for name in QUANTILES),
    *(f"response_us_{name}" for name in QUANTILES),
    "generator_cpu",
    "target_cpu",
    "target_bytes",
)
_NONE = Moment(count=0, errors=0, events=0, bytes=0, service_us=Quantiles(), response_us=Quantiles())


def csv_text(result: Result) -> str:
    """All seconds in order, each with all operations, also those that did nothing in it; a row of names above.

    While a backlog is built up it is not read, and the other way round: neither has rows among those of the other.

    Seconds of the warm-up are negative. Times are empty where nothing was counted. As in the raw CSV of k6 and in
    Locust's history without its `Aggregated` there are no rows of totals: who adds up a column counts nothing twice,
    and quantiles of seconds have no total. Processors and memory are those of the whole second in each of its rows.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(NAMES)
    names = dict.fromkeys([*result.operations, *(name for second in result.seconds for name in second.operations)])
    drained = drained_names(result)
    for second in sorted(result.seconds, key=lambda each: each.second):
        writer.writerows(_rows(second, [name for name in names if (name in drained) == second.is_drain]))
    return text.getvalue()


def _rows(second: Second, names: Iterable[str]) -> Iterator[list[object]]:
    cpu = sum(second.generator_cpu.values()) if second.generator_cpu else None
    looked_at = (cpu, second.target_cpu, second.target_bytes)
    around = ["" if each is None else round(each, 3) for each in looked_at]
    for name in names:
        moment = second.operations.get(name, _NONE)
        counts = [moment.count, moment.errors, moment.events, moment.bytes]
        times = [*_times(moment, moment.service_us), *_times(moment, moment.response_us)]
        yield [second.second, name, *counts, *times, *around]


def _times(moment: Moment, quantiles: Quantiles) -> list[object]:
    return [getattr(quantiles, name) if moment.count else "" for name in QUANTILES]
