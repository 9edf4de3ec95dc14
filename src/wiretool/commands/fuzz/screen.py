"""The live screen of `wiretool fuzz` on a terminal; elsewhere one line a second."""

import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Self

from wiretool.commands.options import tell
from wiretool.commands.progress import LONG_S, LiveDisplay, is_watched

if TYPE_CHECKING:
    from rich.table import Table

    from wiretool.fuzz.campaign import Counts

#: Seconds between two screens, and between two lines where stderr is not a terminal.
SCREEN_S, LINE_S = 0.25, 1.0
#: Seconds over which rates are measured, and findings that are shown.
RATE_S, SHOWN_MAX = 3.0, 5


class FuzzScreen:
    """Shows the figures of a run while it goes on."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._is_watched = is_watched()
        self._next_s = time.monotonic() + (0.0 if self._is_watched else LONG_S)
        self._display = LiveDisplay()
        self._samples = deque([(time.monotonic(), 0, 0)])
        self._findings: deque[str] = deque(maxlen=SHOWN_MAX)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.close()

    def add_finding(self, title: str, line: str) -> None:
        """Show a finding: its title on the screen, or a short line."""
        self._findings.append(title)
        if not self._is_watched:
            tell(line)

    def update(self, counts: "Counts") -> None:
        """Show the figures, if it is time to."""

        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._samples.append((now_s, counts.runs, counts.messages))
        while len(self._samples) > 2 and now_s - self._samples[0][0] > RATE_S:
            self._samples.popleft()
        if self._is_watched:
            self._next_s = now_s + SCREEN_S
            self._display.show(self._table(counts))
        else:
            self._next_s = now_s + LINE_S
            tell(f"fuzz: {self._line(counts)}")

    def _line(self, counts: "Counts") -> str:
        """Return the figures in one line: of the conformance cases at the start, then of the sequences."""
        from wiretool.units import counted

        findings = counted(counts.findings, "finding")
        if not counts.runs and counts.planned_cases:
            return f"{counts.start_cases:,} of {counts.planned_cases:,} conformance cases, {findings}"
        runs, messages = self._rates()
        return (
            f"{counted(counts.runs, 'sequence')} ({runs:,.0f}/s, {messages:,.0f} messages/s), "
            f"{counted(counts.features, 'kind')} of exchanges, {findings}"
        )

    def _rates(self) -> tuple[float, float]:
        """Return the sequences and the messages a second."""
        (first_s, runs, messages), (last_s, runs_now, messages_now) = self._samples[0], self._samples[-1]
        span_s = last_s - first_s
        return ((runs_now - runs) / span_s, (messages_now - messages) / span_s) if span_s else (0.0, 0.0)

    def _table(self, counts: "Counts") -> "Table":
        from rich.table import Table
        from rich.text import Text

        runs, messages = self._rates()
        table = Table(title=self._title, show_header=False, title_justify="left", expand=False)
        rows = {
            "time": f"{counts.seconds:,.0f} s",
            "sequences": f"{counts.runs:,}  ({runs:,.0f}/s)",
            "messages": f"{counts.messages:,}  ({messages:,.0f}/s)",
            "phases reached": f"{counts.phases:,}",
            "kinds of exchanges": f"{counts.features:,}",
            "conformance cases": f"{counts.start_cases:,} of {counts.planned_cases:,}",
            "findings": f"{counts.findings:,}",
        }
        for name, value in rows.items():
            table.add_row(name, value)
        for line in self._findings:
            table.add_row("", Text(line, style="red"))
        return table
