"""What clients of one store said at the same time is spoken again in the order in which the store took it."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.conftest import HERE, SHARED
from tests.replay.liars import Liar
from tests.replay.stage import Replayed, replay
from wiretool.protocols.pravega.messages import ReadSegment
from wiretool.protocols.pravega.replay.adapter import PravegaReplayAdapter
from wiretool.protocols.pravega.replay.reasons import FORGOTTEN
from wiretool.protocols.pravega.segments import SealSegment
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.script import TAKEN_NS, Await, Say
from wiretool.server.mock import Action, Link

#: A stream is scaled while it is written to: segments are sealed under their writers.
SCALE = HERE.parent / "captures" / "pravega" / "java_scale.pcap.gz"
#: Reads wait in segments that are sealed, or deleted, by others.
ENDED = ("java_bytestream.pcap", "java_sealdelete.pcap", "py_sealwrite.pcap")
FOUND = [path for name in ENDED for path in (SHARED / "captures" / "pravega-server").glob(name)]
MOST_NS = 5_000_000


class Tardy(PravegaMock):
    """Takes what each connection says in its order, but some of it behind what others say later."""

    def __init__(self, seed: int) -> None:
        super().__init__(wire_version=16)
        self._rng = Random(seed)
        self._busy_ns: dict[int, int] = {}

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        return self._put_off(connection, lambda link, then_ns: link.feed(data, then_ns), now_ns)

    def ended(self, connection: int, now_ns: int) -> list[Action]:
        return self._put_off(connection, lambda link, then_ns: link.end(then_ns), now_ns)

    def _put_off(self, connection: int, what: Callable[[Link, int], None], now_ns: int) -> list[Action]:
        def take(then_ns: int) -> None:
            if (link := self.links.get(connection)) is not None:
                what(link, then_ns)

        at_ns = max(self._busy_ns.get(connection, 0) + 1, now_ns + self._rng.randrange(MOST_NS))
        self._busy_ns[connection] = at_ns
        self.timers.at(at_ns, take)
        return []


def replay_store(path: Path, mock: PravegaMock) -> Replayed:
    """Without the calls to the controller."""
    return replay(path, mocks={"pravega": mock}, every={"pravega": manners()["pravega"]})


@pytest.mark.parametrize("path", [SCALE, *FOUND], ids=lambda path: path.name)
def test_a_store_may_take_its_time(path: Path) -> None:
    for seed in range(2):
        assert replay_store(path, Tardy(seed)).findings == []


def test_else_it_would_be_a_matter_of_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PravegaReplayAdapter, "waits", lambda self, record: ())
    assert any(replay_store(SCALE, Tardy(seed)).findings for seed in range(3))


def test_the_end_of_a_segment_waits_for_what_its_writers_had_appended() -> None:
    steps = replay_store(SCALE, Tardy(0)).script.steps
    waits = [(step, steps[at + 1]) for at, step in enumerate(steps) if isinstance(step, Await)]
    assert waits
    for wait, then in waits:
        assert isinstance(then, Say | Await)
        assert wait.dialogue is not then.dialogue or isinstance(then, Await)
    said = [then.record.fields for _, then in waits if isinstance(then, Say)]
    assert any(isinstance(message, SealSegment) for message in said)
    delayed = [then.record.fields for wait, then in waits if isinstance(then, Say) and wait.span_ns > TAKEN_NS]
    assert not any(isinstance(message, ReadSegment) for message in delayed)


@pytest.mark.parametrize(
    ("skip", "verdict"), [(0, Verdict.MISSING), (3, Verdict.EXPLAINED), (4, Verdict.MISSING)], ids=str
)
def test_only_of_several_refused_appends_none_may_be_answered(skip: int, verdict: Verdict) -> None:
    """Two of the refused appends were on their way together, others alone."""
    mock = Liar("SegmentIsSealed", lambda message: None, skip=skip, wire_version=16)
    outcomes = replay_store(SCALE, mock).outcomes
    assert mock.has_lied
    (outcome,) = [each for each in outcomes if each.recorded and not each.live and each.verdict is verdict]
    assert (outcome.reasons == [FORGOTTEN.why]) == (verdict is Verdict.EXPLAINED)
