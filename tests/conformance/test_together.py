"""Messages that leave together: one write for all of them."""

from itertools import count

from wiretool.conformance.active.case_run import CaseRun
from wiretool.conformance.case import MUST, case, send, together
from wiretool.conformance.registry import conformance_of
from wiretool.net.calling import caller
from wiretool.protocols.base.registry import protocol_named

KEEP_ALIVE = bytes.fromhex("0000006400000000")


def sent_by(*steps: object) -> list[bytes]:
    run = CaseRun(
        case("pravega/x/1", MUST, "x", "x", steps),  # type: ignore[arg-type]
        conformance_of("pravega"),
        protocol_named("pravega"),
        token="t",
        numbers=count(1),
        patience_ns=1,
    )
    (dial,) = run.start(0)
    return [act.data for act in run.opened(dial.connection, 0) if isinstance(act, caller.Send)]


def test_messages_that_are_sent_together_leave_in_one_write() -> None:
    two = together(send("KeepAlive"), send("KeepAlive"))
    assert sent_by(two, send("KeepAlive")) == [KEEP_ALIVE * 2, KEEP_ALIVE]


def test_messages_by_themselves_leave_one_after_the_other() -> None:
    assert sent_by(send("KeepAlive"), send("KeepAlive")) == [KEEP_ALIVE, KEEP_ALIVE]
