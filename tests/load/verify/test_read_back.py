"""What is read back of segments, on a mock in memory."""

import pytest

from tests.load.mock_stage import Place as Stage
from wiretool.errors import Stopped
from wiretool.load.measure.intervals import Orders, Said, Writer
from wiretool.load.planning.plan import Plan
from wiretool.load.run.children import Load
from wiretool.load.run.whole_run import Bench
from wiretool.load.verify import read_back as closing
from wiretool.protocols.pravega.load.client import Store
from wiretool.protocols.pravega.server.mock import PravegaMock

SEGMENT = "bench-run/load/0.#epoch.0"
PLAN = Plan(protocol="pravega", appenders=1, duration_s=1.0, run="run")


@pytest.mark.parametrize(("before", "lost"), [(5, 1), (0, 0)])
def test_what_a_server_forgot_is_lost_though_its_name_came_again(
    monkeypatch: pytest.MonkeyPatch, before: int, lost: int
) -> None:
    stage = Stage(PravegaMock())
    monkeypatch.setattr(closing, "Link", lambda host, port: stage.wire("store"))
    Store(stage.wire("store")).make_segment(SEGMENT)
    writers = [
        Writer(key=7, wire_id="", segment=SEGMENT, sent=before + 1, acknowledged=before),
        Writer(key=7, wire_id="", segment=SEGMENT),
    ]
    outcome = closing.read_back(PLAN, writers)
    assert (outcome.found, outcome.acknowledged, outcome.checked) == (lost, before, 0)
    assert len(outcome.findings) == lost
    assert all("events 1 to 5 of writer" in finding for finding in outcome.findings)


class Nobody(Load):
    """A load process that was stopped before it could say anything."""

    def __init__(self) -> None:
        """There is no process."""

    def order(self, orders: Orders) -> None:
        """Nobody hears it."""

    def next(self) -> Said | None:
        return None


def test_what_was_stopped_before_its_first_word_was_stopped() -> None:
    bench = Bench(PLAN)
    bench.stopped_by = 2
    with pytest.raises(Stopped):
        bench.run(Nobody(), Orders(plan=PLAN))
