"""Figures in words, as the tables, the page and the findings have them."""

from wiretool.load.result import Operation, Quantiles, Result, Second
from wiretool.sinks.text.figures import bytes_text, time_text
from wiretool.units import counted

#: The target in a report where none was named.
MOCK = "the built-in mock"
#: The quantiles of every report: the field, and how people write it.
QUANTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p99_9": "p99.9", "max": "max"}


def times_text(quantiles: Quantiles) -> list[str]:
    """The five times, in the order of `QUANTILES`."""
    return [time_text(getattr(quantiles, name)) for name in QUANTILES]


def times_as_much(ratio: float) -> str:
    """How many times as much: `1.31`, `48`, `1,675`."""
    return f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.2f}"


def share_text(share: float) -> str:
    """A share as a percentage, with as many digits as tell it from 0: `12 %`, `0.0031 %`."""
    return f"{share * 100:.2g} %" if share < 0.0995 else f"{share * 100:.0f} %"


def error_rate(operation: Operation) -> float:
    """The share of exchanges that failed; 0 where there were none."""
    return operation.errors / max(operation.count + operation.errors, 1)


def valid_text(result: Result) -> str:
    """Return what a valid result says of itself."""
    target = "the built-in mock" if result.options.get("target") == MOCK else "the target"
    told = f"the generator kept up; these are figures of {target}"
    return f"{told} until it was cut short: {result.cut_short}" if result.cut_short else told


def hidden_text(name: str, operation: Operation) -> str:
    """What times from the sending alone would hide, in one line; empty where that is nothing worth a line."""
    service, response = operation.service_us.p99, operation.response_us.p99
    if not service or response < service * HIDDEN_FROM:
        return ""
    return (
        f"{name}: p99 is {time_text(response)} from when it was due and {time_text(service)} from the sending: "
        f"the service time alone does not show that latency was {times_as_much(response / service)} times as long"
    )


#: Less than what histograms of three digits and a schedule in whole microseconds may make of the same time.
HIDDEN_FROM = 1.05


def measured(result: Result) -> list[Second]:
    """The seconds behind the warm-up, in order."""
    return sorted((each for each in result.seconds if each.second >= 0), key=lambda each: each.second)


def generator_text(result: Result) -> str:
    """How the load processes themselves fared; empty where nobody looked."""
    seconds = measured(result)
    used = [share for second in seconds for share in second.generator_cpu.values()]
    if not seconds:
        return ""
    waited = [share for second in seconds for share in second.generator_waited.values()]
    parts = []
    if used:
        workers = len({worker for second in seconds for worker in second.generator_cpu})
        processes = "1 process" if workers == 1 else f"{workers:,} processes, each"
        parts.append(f"{processes} {share_text(sum(used) / len(used))} of a processor, {share_text(max(used))} at most")
    if waited:
        parts.append(f"waited for a processor for up to {share_text(max(waited))} of a second")
    parts.append(f"event loop {time_text(max(second.lag_us for second in seconds))} late at most")
    parts.append(f"schedule {time_text(max(second.lateness_us for second in seconds))} late at most")
    return "; ".join(parts)


def target_text(result: Result) -> str:
    """What the target used; empty where it was not sampled."""
    seconds = measured(result)
    used = [second.target_cpu for second in seconds if second.target_cpu is not None]
    held = [second.target_bytes for second in seconds if second.target_bytes is not None]
    parts = []
    if used:
        parts.append(f"{share_text(sum(used) / len(used))} of a processor, {share_text(max(used))} at most")
    if held:
        parts.append(f"{bytes_text(max(held))} of memory at most")
    return "; ".join(parts)


def verification_text(result: Result) -> str:
    """What came of reading back, and of checking what was fetched meanwhile, in one line."""
    verification = result.verification
    if not verification.is_on:
        return "not verified: acknowledged events were not read back"
    checked, acknowledged = verification.checked_events, verification.acknowledged_events
    fetched = verification.fetched_events
    if not acknowledged and fetched:
        found = counted(verification.found, "finding") if verification.found else "each came once, in order"
        return f"{fetched:,} events were checked as they were fetched: {found}"
    more = f"; {fetched:,} were checked as they were fetched" if fetched else ""
    if not acknowledged:
        return "nothing was acknowledged, so there is nothing to find again"
    if verification.found:
        return f"{counted(verification.found, 'finding')} in {checked:,} of {acknowledged:,} acknowledged events{more}"
    if checked >= acknowledged:
        return f"all {acknowledged:,} acknowledged events are there once, in order, unchanged{more}"
    return f"{checked:,} of {acknowledged:,} acknowledged events checked: once, in order, unchanged{more}"


def unfinished_texts(result: Result) -> list[str]:
    """What had not come to its end when the time was over, a line for each operation that has some."""
    return [
        f"{name}: {operation.unfinished:,} unfinished at the end, the oldest due {time_text(operation.unfinished_us)}"
        " before; they are in no figure"
        for name, operation in result.operations.items()
        if operation.unfinished
    ]
