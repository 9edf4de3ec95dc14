"""Limits on what is sent to another machine: they hold for sequences, cases, probes, confirmations and replays."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.fuzz.helpers import session_of
from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.fuzz.setup import limits_of
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.targets import socket as socket_target
from wiretool.fuzz.targets.pacing import Pacer, TimeIsOver, parts_of
from wiretool.fuzz.targets.socket import SocketTarget, open_target


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def pacer(self, per_second: float, seconds: float) -> Pacer:
        return Pacer(per_second, seconds, clock=lambda: self.now_s, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Counting(Pacer):
    """Notes the sessions of each wait, and delays nothing."""

    def __init__(self) -> None:
        super().__init__(sleep=lambda seconds: None)
        self.sessions: list[int] = []

    def wait(self, sessions: int) -> None:
        self.sessions.append(sessions)
        super().wait(sessions)


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch, counting: Counting) -> Iterator[SocketTarget]:
    """The mock over sockets, as if it were on another machine."""
    monkeypatch.setattr(socket_target, "is_loopback", lambda host: False)
    with open_target(session_of("sbp"), None, patience_s=0.5, jobs=4, pacer=counting) as opened:
        yield opened


def test_sessions_are_spread_over_time() -> None:
    """Ten at once take the tenth of a second that ten have at 100 a second; idle time is not made up for."""
    clock = Clock()
    pacer = clock.pacer(100, 600)
    begins = []
    for sessions in (10, 10, 1, 1):
        pacer.wait(sessions)
        begins.append(round(clock.now_s - 100, 3))
    assert begins == [0, 0.1, 0.2, 0.21]
    clock.sleep(5)
    for _ in range(2):
        pacer.wait(10)
        begins.append(round(clock.now_s - 100, 3))
    assert begins[-2:] == [5.21, 5.31]


def test_nothing_is_sent_after_the_duration() -> None:
    clock = Clock()
    pacer = clock.pacer(10, 2)
    clock.sleep(50)  # before the first session no time counts
    for _ in range(19):
        pacer.wait(1)
    pacer.wait(5)
    with pytest.raises(TimeIsOver, match="the limit of 2 s on another machine is reached"):
        pacer.wait(1)
    assert clock.now_s == pytest.approx(151.9)


def test_items_begin_in_small_parts() -> None:
    clock = Clock()
    sizes = [len(part) for part in parts_of(range(25), clock.pacer(100, 600))]
    assert (sizes, round(clock.now_s - 100, 3)) == ([10, 10, 5], 0.2)
    assert [len(part) for part in parts_of(range(25), None)] == [25]


def test_all_that_is_sent_to_another_machine_is_limited(target: SocketTarget, counting: Counting) -> None:
    session = session_of("sbp")
    seeds = [each for each in session.seeds if target.fits(each)][:25]
    assert len(target.run(seeds)) == 25
    assert counting.sessions == [10, 10, 5]
    target.run_fresh(seeds[:2])
    assert counting.sessions[3:] == [1, 1]
    cases = [case for case in session.cases if not case.variant][:3]
    assert target.run_cases(cases)
    assert counting.sessions[5:] == [5]  # with a greeting before them, and one after them
    target.probe(cases[0], seeds[0])
    assert sum(counting.sessions[6:]) >= 1 + len(target.history(seeds[0]))


def test_a_campaign_is_limited_as_a_whole(target: SocketTarget, counting: Counting) -> None:
    session = session_of("sbp")
    campaign = session.campaign(target, session.investigation(target, is_reference=True), Limits(runs=40))
    counts = campaign.run()
    assert counts.runs == 40
    assert sum(counting.sessions) >= counts.runs + counts.cases
    assert max(counting.sessions) <= 16


@pytest.mark.parametrize(("runs", "time_s"), [(10, None), (None, 3600.0), (10, 3600.0)])
def test_the_last_minute_on_another_machine_is_left_for_confirmations(runs: int | None, time_s: float | None) -> None:
    options = FuzzOptions("sbp", targets=["192.0.2.1:10911"], allowed_hosts=["192.0.2.1"], runs=runs, time_s=time_s)
    assert (limits_of(options).seconds, limits_of(options).runs) == (540, runs)
    assert limits_of(replace(options, runs=None, time_s=None)).seconds == 60
    assert limits_of(replace(options, targets=["127.0.0.1:10911"])).seconds == time_s


def test_a_server_on_this_machine_is_not_limited(counting: Counting) -> None:
    with open_target(session_of("sbp"), None, patience_s=0.5, jobs=4, pacer=counting) as target:
        target.run([each for each in session_of("sbp").seeds if target.fits(each)][:5])
    assert counting.sessions == []
