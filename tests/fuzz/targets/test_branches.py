"""Branch coverage of the mock: branches of servers are noted, and a new one makes a sequence worth keeping."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.sequences.run import Outcome
from wiretool.fuzz.session import FuzzSession
from wiretool.fuzz.targets import branches
from wiretool.fuzz.targets.branches import (
    SERVER,
    BranchCoverage,
    BranchNovelty,
    CoveredTarget,
    has_monitoring,
    protocol_folders,
)
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.server.link import StoreLink


class Monitoring:
    """Stands in for `sys.monitoring`, which Python 3.11 does not have."""

    class events:
        BRANCH, NO_EVENTS = 1, 0

    DISABLE = "disable"

    def __init__(self, *used: int) -> None:
        self.tools = dict.fromkeys(used, "another tool")
        self.callback: Any = None
        self.events_now = 0

    def get_tool(self, tool: int) -> str | None:
        return self.tools.get(tool)

    def use_tool_id(self, tool: int, name: str) -> None:
        self.tools[tool] = name

    def free_tool_id(self, tool: int) -> None:
        del self.tools[tool]

    def register_callback(self, tool: int, event: int, callback: Any) -> None:
        self.callback = callback

    def set_events(self, tool: int, events: int) -> None:
        self.events_now = events


def test_monitoring_came_with_python_3_12() -> None:
    assert has_monitoring() == (sys.version_info >= (3, 12))


def test_branches_of_servers_are_noted_once() -> None:
    session = FuzzSession("pravega-draft")
    session.add_cases()
    session.coverage = BranchCoverage()
    target = session.mock_target()
    with session.coverage.watching():
        first = sum(each.new_branches for each in target.run(session.seeds))
        again = sum(each.new_branches for each in target.run(session.seeds))
    assert (first > 100) == has_monitoring()
    assert again <= 0.2 * first
    assert all(SERVER in code.co_filename for code, _, _ in session.coverage.taken)
    before = len(session.coverage.taken)
    target.run(session.seeds)
    assert len(session.coverage.taken) == before  # nothing is noted after the block


def test_a_branch_is_reported_until_both_of_its_ways_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monitoring = Monitoring(3)
    monkeypatch.setattr(sys, "monitoring", monitoring, raising=False)
    code, foreign = StoreLink.feed.__code__, test_monitoring_came_with_python_3_12.__code__
    coverage = BranchCoverage()
    with coverage.watching():
        assert monitoring.tools == {3: "another tool", 4: "wiretool fuzz"}
        assert monitoring.events_now == Monitoring.events.BRANCH
        assert monitoring.callback(foreign, 2, 4) == Monitoring.DISABLE
        assert monitoring.callback(code, 2, 4) is None
        assert monitoring.callback(code, 2, 4) is None
        assert monitoring.callback(code, 2, 8) == Monitoring.DISABLE
    assert coverage.taken == {(code, 2, 4), (code, 2, 8)}
    assert (monitoring.tools, monitoring.callback, monitoring.events_now) == ({3: "another tool"}, None, 0)


def test_nothing_is_noted_where_all_tools_are_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monitoring = Monitoring(3, 4)
    monkeypatch.setattr(sys, "monitoring", monitoring, raising=False)
    with BranchCoverage().watching():
        assert monitoring.callback is None


def test_a_new_branch_is_novel() -> None:
    session = FuzzSession("pravega-draft")
    session.add_cases()
    novelty = BranchNovelty(session.protocol_in("").exchanges)
    (outcome,) = session.mock_target().run_fresh([session.seeds[0]])
    assert novelty.note(outcome) > 0
    assert novelty.note(outcome) == 0
    outcome.new_branches = 2
    assert novelty.note(outcome) == 2
    assert novelty.note(Outcome(outcome.sequence)) == 0


def test_a_campaign_runs_with_coverage() -> None:
    """Without `sys.monitoring` no branch is noted, and the campaign still runs."""
    session = FuzzSession("pravega-draft")
    session.add_cases()
    session.coverage = BranchCoverage()
    target = session.mock_target()
    campaign = session.campaign(target, session.investigation(target, is_reference=True), Limits(runs=300))
    with session.coverage.watching():
        counts = campaign.run()
    assert counts.runs == 300
    assert bool(session.coverage.taken) == has_monitoring()


def test_a_session_notes_branches_where_python_can(monkeypatch: pytest.MonkeyPatch) -> None:
    session = FuzzSession("pravega-draft")
    monkeypatch.delattr(sys, "monitoring", raising=False)
    with session.noting_branches():
        assert not isinstance(session.mock_target(), CoveredTarget)
    monitoring = Monitoring()
    monkeypatch.setattr(sys, "monitoring", monitoring, raising=False)
    with session.noting_branches():
        assert isinstance(session.mock_target(), CoveredTarget)
        assert monitoring.events_now == Monitoring.events.BRANCH
    assert monitoring.events_now == 0


def test_the_mock_of_a_plugin_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plugin = Protocol(name="x", title="", ports=(), wire="plugin.wire:WIRE")
    monkeypatch.setattr(branches, "PROTOCOLS", {"sbp": PROTOCOLS["sbp"], "x": plugin})
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "wire.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    protocol_folders.cache_clear()
    try:
        sbp, plugin_folder = protocol_folders()
    finally:
        protocol_folders.cache_clear()
    assert plugin_folder == f"{tmp_path / 'plugin'}{os.sep}"
    assert sbp.endswith(os.path.join("protocols", "sbp", ""))
