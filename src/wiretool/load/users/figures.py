"""What was counted, as Locust's own statistics have it: so its page, its table and its CSV go on working."""

from collections.abc import Mapping
from time import time

from locust.stats import RequestStats, StatsEntry, StatsError, bucket_response_time

from wiretool.load.measure.histograms import Histogram
from wiretool.load.measure.intervals import Tally

#: What stands under "Type" in Locust's tables.
TYPE = "wire"


def feed(stats: RequestStats, tallies: Mapping[str, Tally]) -> None:
    """Add what was counted of each operation since the last time; response times are those of Locust's tables."""
    for name, tally in tallies.items():
        entry = entry_of(stats, name, tally)
        stats.total.extend(entry)
        stats.get(name, TYPE).extend(entry)
        for kind, count in tally.errors.items():
            _error(stats, name, kind).occurrences += count


def entry_of(stats: RequestStats, name: str, tally: Tally) -> StatsEntry:
    """One second of an operation. Locust has milliseconds, in round numbers; what failed is among its requests."""
    entry = StatsEntry(stats, name, TYPE)
    failed = sum(tally.errors.values())
    entry.num_requests = tally.count + failed
    entry.num_none_requests = entry.num_failures = failed
    entry.total_content_length = tally.bytes
    entry.last_request_timestamp = now = time()
    entry.num_reqs_per_sec[int(now)] = entry.num_requests
    entry.num_fail_per_sec[int(now)] = failed
    _add_times(entry, Histogram.from_text(tally.response))
    return entry


def _add_times(entry: StatsEntry, histogram: Histogram) -> None:
    micros, counts = histogram.recorded()
    if not histogram.count:
        return
    for time_us, count in zip(micros.tolist(), counts.tolist(), strict=True):
        entry.response_times[bucket_response_time(time_us / 1000)] += count
    entry.total_response_time = float(micros @ counts) / 1000  # type: ignore[assignment]  # Locust's own are floats
    entry.min_response_time = int(micros[0]) / 1000  # type: ignore[assignment]
    entry.max_response_time = int(micros[-1]) / 1000  # type: ignore[assignment]


def _error(stats: RequestStats, name: str, kind: str) -> StatsError:
    key = StatsError.create_key(TYPE, name, kind)
    if key not in stats.errors:
        stats.errors[key] = StatsError(TYPE, name, kind)
    return stats.errors[key]
