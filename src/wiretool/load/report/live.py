"""What a running load is doing, as a table for Rich's live view."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wiretool.load.figures import bytes_text, rate_text, share_text, time_text
from wiretool.load.result import Moment, Second
from wiretool.sinks.printable import printable

_TIMES = ("p50", "p99", "max")


def live_table(
    second: Second | None, *, elapsed_s: float, duration_s: float, users: int, errors: Mapping[str, int] | None = None
) -> RenderableType:
    """The last second of each operation, its errors so far, and how far the load is.

    `elapsed_s` is negative while it warms up; `second` is None before the first has passed.
    """
    head = Text(_progress(elapsed_s, duration_s, users), no_wrap=True, overflow="ellipsis")
    if second is None:
        return head
    errors = errors or {}
    names = dict.fromkeys([*second.operations, *errors])
    has_both = any(each.service_us != each.response_us for each in second.operations.values())
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("", "per s", "events/s", "bytes/s", *_heads(has_both), "errors so far"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for name in names:
        table.add_row(*_row(name, second.operations.get(name), errors.get(name, 0), has_both))
    return Group(head, table, Text(_processors(second), no_wrap=True, overflow="ellipsis"))


def _progress(elapsed_s: float, duration_s: float, users: int) -> str:
    people = f"{users:,} user{'' if users == 1 else 's'}"
    if elapsed_s < 0:
        return f"warming up, {-elapsed_s:.0f} s to go, {people}"
    return f"{elapsed_s:.0f} s of {duration_s:.0f} s, {max(duration_s - elapsed_s, 0):.0f} s to go, {people}"


def _heads(has_both: bool) -> list[str]:
    if not has_both:
        return list(_TIMES)
    return [f"{source} {name}" for source in ("service", "response") for name in _TIMES]


def _row(name: str, moment: Moment | None, errors: int, has_both: bool) -> list[Text]:
    cells = [printable(name)]
    if moment is None:
        cells += ["0", "0", "0 B", *[""] * len(_heads(has_both))]
    else:
        cells += [rate_text(moment.count), rate_text(moment.events), bytes_text(moment.bytes)]
        sources = (moment.service_us, moment.response_us) if has_both else (moment.response_us,)
        times = [getattr(source, each) for source in sources for each in _TIMES]
        cells += [time_text(each) if moment.count else "" for each in times]
    return [*map(Text, cells), Text(f"{errors:,}", style="bold red" if errors else "")]


def _processors(second: Second) -> str:
    used = second.generator_cpu
    parts = [f"generator {' '.join(map(share_text, used.values()))} of a processor"] if used else []
    if second.target_cpu is not None:
        parts.append(f"target {share_text(second.target_cpu)}")
    if second.target_bytes is not None:
        parts.append(bytes_text(second.target_bytes))
    return ", ".join(parts)
