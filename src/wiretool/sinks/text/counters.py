"""Live counters of a running server or tap, at the bottom of a terminal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from wiretool.sinks.printable import printable

#: Names of messages shown for each side.
NAMES_MAX = 6


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What has happened so far, at a time."""

    now_ns: int
    open: int
    opened: int
    received_bytes: int
    sent_bytes: int
    messages: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class Counters:
    """Draws a snapshot whenever it is asked to look, with rates since the last; lines go above it."""

    def __init__(self, snapshot: Callable[[], Snapshot], file: TextIO) -> None:
        self._snapshot = snapshot
        self._console = Console(file=file, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._last = snapshot()

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def tell(self, text: str) -> None:
        """A line for the log."""
        self._console.print(f"wiretool: {printable(text)}", markup=False, soft_wrap=True)

    def look(self) -> None:
        """Draw the counters as they are now."""
        last, now = self._last, self._snapshot()
        self._last = now
        self._live.update(drawn(last, now), refresh=True)


def drawn(last: Snapshot, now: Snapshot) -> Table:
    """Connections, bytes and the messages seen most often, each with its rate since `last`."""
    seconds = max(now.now_ns - last.now_ns, 1) / 1e9
    table = Table.grid(padding=(0, 2))
    table.add_row("connections", f"{now.open:,} open, {now.opened:,} so far")
    for name, before, after in (
        ("received", last.received_bytes, now.received_bytes),
        ("sent", last.sent_bytes, now.sent_bytes),
    ):
        table.add_row(name, f"{after:,} B", f"{(after - before) / seconds:,.0f} B/s")
    for side, counts in now.messages.items():
        before_counts = last.messages.get(side, {})
        for name, count in sorted(counts.items(), key=lambda pair: -pair[1])[:NAMES_MAX]:
            rate = (count - before_counts.get(name, 0)) / seconds
            table.add_row(f"{side} {printable(name)}", f"{count:,}", f"{rate:,.0f}/s")
    return table
