"""Planted defects: each kind of oracle finds one, and what the table of docs/fuzzing.md counts."""

from itertools import count

import pytest

from tests.bench.fuzz_planted import (
    CASE,
    HALVES,
    SEED,
    Job,
    Row,
    is_caused_by_defect,
    jobs,
    rows_in,
    run_unmutated,
    search,
    table,
)
from tests.fuzz.planted import PLANTED
from tests.fuzz.planted.defects import Defect
from tests.helpers.examples import needs_protocol
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.findings.finding import Finding
from wiretool.fuzz.oracles import DIED, MEMORY, UNDECODABLE
from wiretool.fuzz.session import FuzzSession

#: A defect of each protocol, the oracle that finds it, and the runs in which it does with seed 0.
QUICK = (
    ("pravega", "read-length-negated", DIED, 12_000),
    ("pravega", "frame-buffers-leak", MEMORY, 1_500),
    ("pravega-controller", "lost-with-calls", DIED, 1_000),
    ("pravega-draft", "setup-in-block-elsewhere", DIED, 1_000),
    ("sbp", "append-after-two-seals", DIED, 12_000),
    ("sbp-0.1", "goaway-at-once", UNDECODABLE, 8_000),
    ("offramp", "empty-header", DIED, 8_000),
)


@pytest.mark.parametrize(("protocol", "name", "oracle", "runs"), QUICK, ids=[f"{each[0]}-{each[1]}" for each in QUICK])
def test_a_planted_defect_is_found(protocol: str, name: str, oracle: str, runs: int) -> None:
    defect = next(each for each in PLANTED[protocol] if each.name == name)
    session = FuzzSession(protocol)
    session.add_built_in_seeds()
    session.cases = []
    target = session.mock_target(defect)
    found: list[Finding] = []
    investigation = session.investigation(target, is_reference=False, shrink_tries=100)
    campaign = session.campaign(target, investigation, Limits(runs=runs, findings=1), on_finding=found.append)
    counts = campaign.run()
    assert [each.bucket.oracle for each in found] == [oracle], counts
    assert found[0].messages <= 5
    assert found[0].confirmed.shown == 3
    assert is_caused_by_defect(session, found[0])


@needs_protocol("offramp")
def test_a_finding_that_the_clean_mock_shows_as_well_is_a_false_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the clean mock has the bug, too, the search goes on and the defect does not count as found."""
    (defect,) = [each for each in PLANTED["offramp"] if each.name == "empty-header"]
    row = searched(defect, most=2_000)
    assert (row.oracle, row.false_alarms) == (DIED, ())
    monkeypatch.setattr(FuzzSession, "reference", lambda session: session.mock_target(defect))
    row = searched(defect, most=2_000)
    assert row.oracle == ""
    assert DIED in {bucket.partition(" | ")[0] for bucket in row.false_alarms}


def searched(defect: Defect, *, most: int) -> Row:
    """Look for a defect of Offramp in so many runs; they stand for the seconds of the bench."""
    session = FuzzSession("offramp")
    session.add_built_in_seeds()
    session.cases = []
    ticks = count()
    return search(session, Job("offramp", defect.name, "built", most / 16), defect, lambda: next(ticks))


@pytest.mark.parametrize(
    ("name", "mark"), [("read-after-refusal", CASE), ("setup-in-block-elsewhere", SEED), ("keep-alive-buffer", "")]
)
def test_a_defect_that_needs_no_mutation_is_marked(name: str, mark: str) -> None:
    assert run_unmutated(Job("pravega-draft", name, "built", 60)) == (Job("pravega-draft", name, "built", 60), mark)


def test_marks_survive_in_the_table() -> None:
    """`--write` of some rows reads the others back."""
    names = {each.name: each for each in PLANTED["pravega-draft"]}
    jobs_of = {job.name: job for job in jobs(["pravega-draft"], HALVES, 0, None)}
    rows = [
        Row(jobs_of["read-after-refusal"], names["read-after-refusal"].defect, False, "wrong-answer", 0.5, 5, CASE),
        Row(jobs_of["keep-alive-buffer"], names["keep-alive-buffer"].defect, False, "died", 0.1, 1),
        Row(jobs_of["tail-not-woken"], names["tail-not-woken"].defect, True, "", 0.0, 0),
    ]
    text = table(rows)
    assert "| wrong-answer (case) | 0.5 | 5 |" in text
    assert "- Shown by a conformance case alone: 1, of which 0 (conform)." in text
    assert "- Found by mutated sequences only: 1." in text
    assert sorted(rows_in(text), key=rows.index) == rows


def test_the_table_has_enough_defects() -> None:
    """The marks of the issue: sixty in all, ten of each protocol, at most half of them mutants of the cases."""
    every = [each for defects in PLANTED.values() for each in defects]
    assert len(every) >= 60
    assert sum(each.is_conform for each in every) <= len(every) / 2
    for protocol, defects in PLANTED.items():
        assert len({each.name for each in defects}) == len(defects)
        assert len(defects) >= 10, protocol
        assert sum(not each.is_conform for each in defects) >= 6
