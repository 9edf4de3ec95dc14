"""Runs of a client without faults: its replies, its exit codes, its time and its memory."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from wiretool.errors import PeerError, Stopped, UsageError
from wiretool.fuzz.client.client_run import ClientOutcome, ClientSetup, run_plan
from wiretool.fuzz.client.crash_kinds import Crash, crash_in
from wiretool.fuzz.oracles import kind_of
from wiretool.fuzz.sequences.sequence import Sending

RUNS = 2
GIB = 1024**3
#: Memory of a client beyond which it is stopped, and how many times that of a clean run it may have.
MEMORY_MAX_BYTES, MEMORY_FACTOR = GIB, 10
#: The least memory of a clean run that counts: one of a few milliseconds is not measured at its peak.
MEMORY_MIN_BYTES = 32 * 1024**2
#: Memory that a clean run may take.
CLEAN_MEMORY_MAX_BYTES = 16 * GIB
#: Time without traffic after an illegal message, as a share of the time limit; at least, at most, in seconds.
IDLE_SHARE, IDLE_MIN_S, IDLE_MAX_S = 0.25, 0.2, 3.0


@dataclass(frozen=True, slots=True)
class CleanRuns:
    """The behaviour of a client without faults."""

    setup: ClientSetup
    #: The server's messages, with the number of each among those of its name.
    replies: Sequence[tuple[int, Sending]]
    exit_codes: frozenset[int]
    peak_bytes: int
    seconds: float
    #: Kinds of problems with bytes of the client.
    problems: frozenset[tuple[str, str]]
    #: The errors of its crashes: those that it has without any fault prove no bug by a fault.
    crashes: frozenset[str] = frozenset()

    def is_usual(self, code: int, crash: Crash | None) -> bool:
        """Return whether the client ends so without any fault, too: by the same crash, or by this code without one."""
        return crash.error in self.crashes if crash is not None else code in self.exit_codes


def setup_for(protocol: str, command: Sequence[str], *, timeout_s: float, seed: int) -> ClientSetup:
    """Return the setup of clean runs."""
    idle_s = min(max(timeout_s * IDLE_SHARE, IDLE_MIN_S), IDLE_MAX_S)
    return ClientSetup(protocol, tuple(command), timeout_s, idle_s, CLEAN_MEMORY_MAX_BYTES, seed)


def learn(setup: ClientSetup, on_note: Callable[[str], None] = lambda text: None) -> CleanRuns:
    """Run the client without faults and return its behaviour, with the limits of further runs.

    PeerError where it never connects or sends nothing, UsageError where it does not end in time, Stopped by a signal.
    """
    outcomes: list[ClientOutcome] = []
    for _ in range(RUNS):
        outcome = run_plan(setup, (), keeps_replies=not outcomes)
        if outcome.stopped_by is not None:
            raise Stopped(outcome.stopped_by)
        check_clean(setup, outcome)
        outcomes.append(outcome)
    codes = frozenset(each.exit_code for each in outcomes if each.exit_code is not None)
    crashes = [crash for each in outcomes if (crash := crash_in(each.output)) is not None]
    failed = next((each for each in outcomes if each.exit_code), None)
    if failed is not None:
        why = next((str(crash) for crash in crashes), failed.last_line)
        on_note(
            f"the client fails without any fault, with exit code {failed.exit_code}: {why}; only another crash than"
            " that is a finding"
        )
    peak_bytes = max(MEMORY_MIN_BYTES, *(each.peak_bytes for each in outcomes))
    limit = min(MEMORY_FACTOR * peak_bytes, max(MEMORY_MAX_BYTES, 2 * peak_bytes))
    return CleanRuns(
        replace(setup, memory_max_bytes=limit),
        outcomes[0].log.replies,
        codes,
        peak_bytes,
        max(each.seconds for each in outcomes),
        frozenset((name, kind_of(text)) for each in outcomes for name, text in each.log.problems),
        frozenset(crash.error for crash in crashes),
    )


def check_clean(setup: ClientSetup, outcome: ClientOutcome) -> None:
    """PeerError or UsageError for a client that cannot be fuzzed."""
    how = "does not end in time" if outcome.exit_code is None else f"ends with exit code {outcome.exit_code}"
    about = f"{shlex.join(setup.command)}: the client"
    if not outcome.log.connections:
        raise PeerError(f"{about} never connects and {how}: {outcome.last_line}")
    if not outcome.log.client_messages:
        raise PeerError(f"{about} connects, sends no {setup.protocol} and {how}: {outcome.last_line}")
    if outcome.exit_code is None:
        raise UsageError(
            f"{about} does not end within {setup.timeout_s:g} s without any fault: {outcome.last_line}; expected a"
            " program that ends by itself, or a longer --timeout"
        )
