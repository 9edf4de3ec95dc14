"""The probe of whether a target keeps a connection: every end of it, and how long it tries."""

from itertools import count

import pytest

from wiretool.conformance.active.reach_probe import HOLD_NS, NS_PER_S, RETRY_NS, ReachProbe
from wiretool.net.calling.caller import Abort, Dial

WHERE = "127.0.0.1:7"


def begun(patience_s: float = 0.0) -> ReachProbe:
    """Return a probe whose first connection is being opened."""
    probe = ReachProbe("pravega", "store", WHERE, count(1), patience_s)
    assert probe.start(0) == [Dial(1, "pravega", "store", is_aside=True)]
    return probe


def test_a_connection_that_is_kept_shows_that_the_target_is_there() -> None:
    probe = begun()
    assert probe.opened(1, 5) == []
    assert probe.wake_ns == 5 + HOLD_NS
    assert probe.woken(probe.wake_ns) == [Abort(1)]
    assert (probe.is_over, probe.why) == (True, "")


@pytest.mark.parametrize("end", ["bytes", "FIN", "lost without an error"])
def test_so_do_bytes_and_an_orderly_end(end: str) -> None:
    probe = begun()
    probe.opened(1, 5)
    {
        "bytes": lambda: probe.received(1, b"x", 6),
        "FIN": lambda: probe.ended(1, 6),
        "lost without an error": lambda: probe.lost(1, "", 6),
    }[end]()
    assert (probe.is_over, probe.why) == (True, "")


@pytest.mark.parametrize(
    ("is_open", "why", "found"),
    [
        (True, "Connection reset by peer", f"cannot reach {WHERE}: Connection reset by peer"),
        (False, f"cannot reach {WHERE}: Connection refused", f"cannot reach {WHERE}: Connection refused"),
    ],
)
def test_without_patience_one_attempt_decides(is_open: bool, why: str, found: str) -> None:
    probe = begun()
    if is_open:
        probe.opened(1, 5)
    assert probe.lost(1, why, 6) == []
    assert (probe.is_over, probe.why) == (True, found)


def test_a_target_that_starts_again_is_waited_for() -> None:
    probe = begun(patience_s=1.0)
    assert probe.lost(1, "refused", 6) == []
    assert not probe.has(1)
    assert probe.lost(1, "refused", 7) == []
    assert probe.wake_ns == 6 + RETRY_NS
    assert probe.woken(probe.wake_ns) == [Dial(2, "pravega", "store", is_aside=True)]
    assert not probe.is_over
    probe.lost(2, "refused", NS_PER_S)
    assert (probe.is_over, probe.why) == (True, "refused")
