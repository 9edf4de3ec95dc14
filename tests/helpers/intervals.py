"""Seconds of load processes, made up."""

from collections.abc import Mapping

from wiretool.load.measure.histograms import Histogram
from wiretool.load.measure.intervals import Interval, Pulse, Tally

#: When measuring began, seconds since 1970.
BEGAN_AT = 1_700_000_000.25


def text_of(seconds: list[float]) -> str:
    """The histogram of such times, as text."""
    histogram = Histogram()
    histogram.add_seconds(seconds)
    return histogram.text()


def interval_of(
    second: int,
    service: list[float],
    *,
    response: list[float] | None = None,
    operation: str = "append",
    events: int = 0,
    size: int = 0,
    errors: Mapping[str, int] | None = None,
    worker: str = "one",
    began_at: float | None = None,
    cpu_s: float = 0.0,
    waited_s: float = 0.0,
    wall_s: float = 1.0,
    lag_us: int = 0,
    lateness_us: int = 0,
) -> Interval:
    """One operation in one second of one process; a closed loop where no response times are given."""
    tally = Tally(
        count=len(service),
        events=events,
        bytes=size,
        errors=dict(errors or {}),
        service=text_of(service),
        response=text_of(service if response is None else response),
    )
    pulse = Pulse(worker=worker, cpu_s=cpu_s, waited_s=waited_s, wall_s=wall_s, lag_us=lag_us, lateness_us=lateness_us)
    at = BEGAN_AT + second if began_at is None else began_at
    return Interval(second=second, began_at=at, pulse=pulse, operations={operation: tally})
