"""What a running load is doing, as a table for Rich's live view."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from wiretool.load.measure.figures import share_text
from wiretool.load.result import Moment, Quantiles, Second
from wiretool.sinks.printable import printable
from wiretool.sinks.text.figures import bytes_text, rate_text, time_text
from wiretool.sinks.text.tables import Head, table_text

_TIMES = ("p50", "p99", "max")
#: Where not all have room, these are left out first: never the errors.
_SPARE = ("events/s", "bytes/s", "p50", "max")
HEADS = ("", "per s", "events/s", "bytes/s", "", *_TIMES, "errors")


def live_table(
    second: Second | None,
    *,
    elapsed_s: float,
    duration_s: float,
    users: int,
    errors: Mapping[str, int] | None = None,
    width: int = 0,
) -> RenderableType:
    """Return the last second of each operation, its errors so far, and how far the load is.

    `width` is that of the terminal. `elapsed_s` is negative while it warms up; `second` is None before the first has
    passed.
    """
    is_drain = second is not None and second.is_drain
    progress = _reading(elapsed_s - duration_s, users) if is_drain else _progress(elapsed_s, duration_s, users)
    head = Text(progress)
    if second is None:
        return head
    errors = errors or {}
    names = dict.fromkeys([*second.operations, *errors])
    rows = [row for name in names for row in _rows(name, second.operations.get(name), errors.get(name, 0))]
    alarm = "bold red" if _has_errors(rows) else ""
    heads = [Head(name, bool(name), is_spare=name in _SPARE, style=alarm if name == "errors" else "") for name in HEADS]
    heads[0] = Head("", is_key=True)
    table = Text.from_ansi(table_text("", heads, rows, colour=True, width=width).rstrip("\n"))
    return Group(head, table, Text(_processors(second)))


def _has_errors(rows: Iterable[Sequence[str]]) -> bool:
    """Return whether a row has errors."""
    return any(row[-1] not in ("", "0") for row in rows)


def _progress(elapsed_s: float, duration_s: float, users: int) -> str:
    people = f"{users:,} user{'' if users == 1 else 's'}"
    if elapsed_s < 0:
        return f"warming up, {-elapsed_s:.0f} s to go, {people}"
    return f"{elapsed_s:.0f} s of {duration_s:.0f} s, {max(duration_s - elapsed_s, 0):.0f} s to go, {people}"


def _reading(elapsed_s: float, users: int) -> str:
    people = f"{users:,} user{'' if users == 1 else 's'}"
    return f"reading the backlog, {elapsed_s:.0f} s so far, {people}"


def _rows(name: str, moment: Moment | None, errors: int) -> Iterator[tuple[str, ...]]:
    """Yield what an operation did in the second; times from when it was due stand below those from the sending."""
    if moment is None:
        yield (printable(name), "0", "0", "0 B", "", *("" for _ in _TIMES), f"{errors:,}")
        return
    cells = (printable(name), rate_text(moment.count), rate_text(moment.events), bytes_text(moment.bytes))
    if moment.service_us == moment.response_us:
        yield (*cells, "", *_times(moment, moment.response_us), f"{errors:,}")
        return
    yield (*cells, "service", *_times(moment, moment.service_us), f"{errors:,}")
    yield ("", "", "", "", "response", *_times(moment, moment.response_us), "")


def _times(moment: Moment, quantiles: Quantiles) -> list[str]:
    return [time_text(getattr(quantiles, each)) if moment.count else "" for each in _TIMES]


def _processors(second: Second) -> str:
    used = second.generator_cpu
    parts = [f"generator {' '.join(map(share_text, used.values()))} of a processor"] if used else []
    if second.target_cpu is not None:
        parts.append(f"target {share_text(second.target_cpu)}")
    if second.target_bytes is not None:
        parts.append(bytes_text(second.target_bytes))
    return ", ".join(parts)
