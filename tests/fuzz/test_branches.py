"""Branch coverage of the mock: branches of servers are noted, and a new one makes a sequence worth keeping."""

import sys

import pytest

from wiretool.fuzz.branches import SERVERS, BranchCoverage, BranchNovelty, has_monitoring
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.sequence_run import Outcome
from wiretool.fuzz.session import FuzzSession

needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12")


def test_monitoring_came_with_python_3_12() -> None:
    assert has_monitoring() == (sys.version_info >= (3, 12))


@needs_monitoring
def test_branches_of_servers_are_noted_once() -> None:
    session = FuzzSession("pravega-draft")
    session.add_cases()
    session.coverage = BranchCoverage()
    target = session.mock_target()
    with session.coverage.watching():
        first = target.run(session.seeds)
        again = target.run(session.seeds)
    assert first[0].new_branches > 5
    assert sum(each.new_branches for each in first) > 100
    assert sum(each.new_branches for each in again) < 0.2 * sum(each.new_branches for each in first)
    assert all(code.co_filename.startswith(SERVERS) for code, _, _ in session.coverage.taken)
    before = len(session.coverage.taken)
    target.run(session.seeds)
    assert len(session.coverage.taken) == before  # nothing is noted after the block


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
    """On a Python without monitoring no branch is noted, and all else is as usual."""
    session = FuzzSession("pravega-draft")
    session.add_cases()
    session.coverage = BranchCoverage()
    target = session.mock_target()
    campaign = session.campaign(target, session.investigation(target, is_reference=True), Limits(runs=300))
    with session.coverage.watching():
        counts = campaign.run()
    assert counts.runs == 300
    assert bool(session.coverage.taken) == has_monitoring()
