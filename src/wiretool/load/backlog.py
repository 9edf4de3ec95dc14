"""What a backlog was, and how long it took to read it: from what load processes say of theirs, for the report."""

from collections import Counter
from collections.abc import Sequence

from wiretool.load.measure.intervals import Drained, Written
from wiretool.load.result import Backlog, Operation, Result
from wiretool.sinks.text.figures import bytes_text, rate_text, time_text
from wiretool.units import counted

#: What those who drain it do.
FETCH = "fetch"


def joined(parts: Sequence[Written]) -> Written:
    """What all of them have written."""
    events, readers = Counter[str](), Counter[str]()
    for part in parts:
        events.update(part.events)
        readers.update(part.readers)
    return Written(worker="", events=dict(events), bytes=sum(part.bytes for part in parts), readers=dict(readers))


def drained_in(parts: Sequence[Drained]) -> Drained | None:
    """How all of them went together, which began together: the slowest ends it. None where nobody began."""
    if not parts:
        return None
    return Drained(
        lasted_s=max(part.lasted_s for part in parts),
        readers=sum(part.readers for part in parts),
        left=sum(part.left for part in parts),
        left_bytes=sum(part.left_bytes for part in parts),
        segments=sorted({segment for part in parts for segment in part.segments}),
    )


def backlog_of(written: Written, drained: Drained, fetch: Operation | None) -> Backlog:
    """The figures. Events that nobody checked are reckoned from their bytes."""
    events = sum(written.events.values())
    events_per_s, bytes_per_s = (fetch.events_per_s, fetch.bytes_per_s) if fetch is not None else (0.0, 0.0)
    return Backlog(
        events=events,
        bytes=written.bytes,
        drain_s=drained.lasted_s,
        events_per_s=events_per_s or (bytes_per_s * events / written.bytes if written.bytes else 0.0),
        bytes_per_s=bytes_per_s,
        readers=drained.readers,
        readers_left=drained.left,
        left_bytes=drained.left_bytes,
    )


def undrained_texts(written: Written, drained: Drained | None, fetchers: int) -> list[str]:
    """What of a backlog was not read, a line each; none where all was.

    Of a worker's share, which has not all of so many fetchers, nobody knows there who else reads it.
    """
    if drained is None:
        return ["no fetcher started to read the backlog"]
    told = []
    if drained.left:
        had = "had" if drained.left > 1 else "has"
        told.append(
            f"{drained.left:,} of {counted(drained.readers, 'fetcher')} {had} not come to the end of the backlog in "
            f"{time_text(drained.lasted_s * 1e6)}: {bytes_text(drained.left_bytes)} were left"
        )
    read = {*drained.segments}
    passed_by = [events for segment, events in written.events.items() if events and segment not in read]
    if passed_by and sum(written.readers.values()) >= fetchers:
        told.append(
            f"{sum(passed_by):,} events of the backlog, in {counted(len(passed_by), 'segment')}, had no reader, as "
            "fetchers were not where they are: give more --fetchers, or fewer --processes"
        )
    return told


def backlog_text(result: Result) -> str:
    """What was built up and how it was read, in one line; empty where there was none."""
    backlog = result.backlog
    if backlog is None:
        return ""
    read = "read" if not backlog.readers_left else f"{bytes_text(backlog.left_bytes)} of it not read"
    rates = f"{rate_text(backlog.events_per_s)} events/s, {bytes_text(backlog.bytes_per_s)}/s"
    readers = counted(backlog.readers, "fetcher")
    return (
        f"{backlog.events:,} events, {bytes_text(backlog.bytes)}; {read} in {time_text(backlog.drain_s * 1e6)} by "
        f"{readers}: {rates}"
    )


def drained_names(result: Result) -> set[str]:
    """The operations that are of a drain alone."""
    return {name for second in result.seconds if second.is_drain for name in second.operations}


def over_text(result: Result) -> str:
    """The time that rates are of: `10 s`, or by operation where they are of different times."""
    times = {name: operation.over_s for name, operation in result.operations.items()}
    if result.backlog is None or len(set(times.values())) < 2:
        return f"{result.duration_s:.3g} s"
    return ", ".join(f"{over_s:.3g} s ({name})" for name, over_s in times.items())
