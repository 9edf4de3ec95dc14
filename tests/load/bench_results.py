"""Results of loads that nobody ran: times drawn from a seed, counted as a load process counts them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wiretool.load.measure.histograms import Histogram
from wiretool.load.result import Moment, Operation, Quantiles, Result, Second, Verification

Times = npt.NDArray[np.float64]
#: What a terminal, a browser or a parser may be fooled with.
EVIL = "\x1b[31m<script>alert(1)</script>&\u202e]]>\x00\"'"


class Source:
    """Service and response times in seconds of one operation in one second; the same where there is no response."""

    def __init__(self, service: Times, response: Times | None = None, errors: int = 0) -> None:
        self.service = service
        self.response = service if response is None else response
        self.errors = errors


def histogram_of(times_s: Sequence[float] | Times) -> Histogram:
    histogram = Histogram()
    histogram.add_seconds(list(times_s))
    return histogram


def moment_of(source: Source, *, batch: int = 1, size: int = 100) -> Moment:
    service, response = histogram_of(source.service), histogram_of(source.response)
    count = len(source.service)
    return Moment(
        count=count,
        errors=source.errors,
        events=count * batch,
        bytes=count * batch * size,
        service_us=service.quantiles(),
        response_us=response.quantiles(),
        service_histogram="" if source.service is source.response else service.text(),
        response_histogram=response.text(),
    )


def operation_of(moments: Sequence[Moment], duration_s: float, **more: Any) -> Operation:
    """What the moments come to."""
    service, response = Histogram(), Histogram()
    for moment in moments:
        service.merge(Histogram.from_text(moment.service_histogram or moment.response_histogram))
        response.merge(Histogram.from_text(moment.response_histogram))
    figures: dict[str, Any] = {
        "count": sum(moment.count for moment in moments),
        "errors": sum(moment.errors for moment in moments),
        "per_s": sum(moment.count for moment in moments) / duration_s,
        "events_per_s": sum(moment.events for moment in moments) / duration_s,
        "bytes_per_s": sum(moment.bytes for moment in moments) / duration_s,
        "service_us": service.quantiles(),
        "response_us": response.quantiles(),
        "service_histogram": service.text(),
        "response_histogram": response.text(),
    }
    return Operation(**{**figures, **more})


def result_of(seconds: Sequence[Mapping[str, Source]], *, warm: int = 0, **more: Any) -> Result:
    """A result whose first `warm` seconds were to warm up."""
    told = [
        Second(
            second=number - warm,
            operations={name: moment_of(source) for name, source in sources.items()},
            generator_cpu={"1": 0.5 + 0.01 * (number % 5), "2": 0.4},
            generator_waited={"1": 0.02, "2": 0.03},
            lag_us=900 + number,
            lateness_us=300,
            target_cpu=0.8 + 0.02 * (number % 3),
            target_bytes=100_000_000 + 1_000_000 * number,
        )
        for number, sources in enumerate(seconds)
    ]
    measured = told[warm:]
    names = dict.fromkeys(name for second in measured for name in second.operations)
    fields: dict[str, Any] = {
        "valid": True,
        "reasons": [],
        "options": {"protocol": "pravega", "target": "127.0.0.1:12345", "appenders": 64, "rate": None, "verify": True},
        "versions": {"wiretool": "0.1.0", "locust": "2.47.0", "python": "3.11.2"},
        "began_at": "2026-11-22T11:30:00Z",
        "duration_s": float(len(measured)),
        "operations": {
            name: operation_of([each.operations[name] for each in measured if name in each.operations], len(measured))
            for name in names
        },
        "verification": Verification(is_on=True, acknowledged_events=5_000, checked_events=5_000),
        "seconds": told,
    }
    return Result(**{**fields, **more})


def drawn(seed: int, many: int, median_s: float = 700e-6, spread: float = 0.4) -> Times:
    """Times that are spread about a median, as those of servers are."""
    return np.random.default_rng(seed).lognormal(np.log(median_s), spread, many)


def closed(seconds: int = 5, *, seed: int = 0, many: int = 400, **more: Any) -> Result:
    """A closed loop: appends and fetches whose service and response times are the same."""
    return result_of(
        [
            {
                "append": Source(drawn(seed * 1_000 + at, many)),
                "fetch": Source(drawn(seed * 1_000 + at + 500, many // 4, 2e-3)),
            }
            for at in range(seconds)
        ],
        **more,
    )


def stopped(seconds: int = 20, *, rate: int = 300, **more: Any) -> Result:
    """An open loop on a server that stood still for the two seconds 8 and 9."""

    def source(at: int) -> Source:
        service = drawn(at, rate)
        if at in (8, 9):
            return Source(service[:0], errors=0)
        late = np.linspace(2.0, 0.0, rate) if at == 10 else np.zeros(rate)
        return Source(service, service + late)

    return result_of([{"append": source(at)} for at in range(seconds)], **more)


def nothing(**more: Any) -> Result:
    """A load that came to nothing."""
    return result_of([], **more)


def flat(**more: Any) -> Operation:
    """One operation in round figures."""
    quantiles = Quantiles(p50=400, p90=800, p99=2_000, p99_9=4_000, max=9_000)
    fields: dict[str, Any] = {
        "count": 1_000,
        "errors": 10,
        "per_s": 100.0,
        "events_per_s": 1_000.0,
        "bytes_per_s": 100_000.0,
        "service_us": quantiles,
        "response_us": Quantiles(p50=500, p90=900, p99=5_000, p99_9=8_000, max=10_000),
    }
    return Operation(**{**fields, **more})
