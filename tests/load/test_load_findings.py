"""Findings of a check: kept, told and added up."""

from wiretool.limits import BENCH_FINDINGS_MAX
from wiretool.load.events import writer_of
from wiretool.load.verify.findings import Finding, Findings, Kind, Outcome, distinct, joined, verification_of


def finding(kind: Kind, offset: int) -> Finding:
    return Finding(kind, offset, "{events} {strange}", writer_of("r", 1, 2), 5, 1_005)


def test_a_finding_says_what_where_and_whose() -> None:
    told = finding(Kind.LOST, 12_345).told("seg\x1b[2J")
    assert told == "lost: segment seg\\x1b[2J, byte 12,345: events 5 to 1,005 of writer 1.2 {strange}"


def test_the_first_hundred_are_told_each_kind_among_them() -> None:
    findings = Findings()
    for offset in range(1_000):
        findings.add(finding(Kind.DOUBLED, offset))
    for offset in range(3):
        findings.add(finding(Kind.LOST, 5_000 + offset))
    told = findings.told("s")
    assert findings.count == 1_003
    assert findings.kinds == {Kind.DOUBLED: 1_000, Kind.LOST: 3}
    assert len(told) == BENCH_FINDINGS_MAX
    assert [line.split(":")[0] for line in told] == ["doubled"] * 97 + ["lost"] * 3


def test_outcomes_add_up() -> None:
    one = Outcome(acknowledged=5, checked=6, foreign=1, found=60, kinds={"lost": 60}, findings=["a"] * 60)
    other = Outcome(acknowledged=1, checked=1, found=61, kinds={"lost": 1, "cut": 60}, findings=["b"] * 61)
    both = joined([one, other])
    assert both == Outcome(
        acknowledged=6, checked=7, foreign=1, found=121, kinds={"lost": 61, "cut": 60}, findings=["a"] * 60 + ["b"] * 40
    )
    assert joined([]) == Outcome()
    verification = verification_of(both)
    assert (verification.is_on, verification.acknowledged_events, verification.checked_events) == (True, 6, 7)
    assert (verification.found, verification.findings) == (121, both.findings)


def test_what_several_have_read_is_found_once() -> None:
    one = Outcome(checked=10, found=3, findings=["a", "b", "c"])
    other = Outcome(checked=20, found=102, findings=["b", *(f"d{number}" for number in range(99))])
    both = distinct([one, other])
    assert (both.checked, both.found) == (30, 104)
    assert both.findings == ["a", "b", "c", *(f"d{number}" for number in range(97))]
    assert distinct(iter([])) == Outcome()


def test_what_fetchers_found_is_told_beside_what_was_read_back() -> None:
    verification = verification_of(
        Outcome(acknowledged=5, checked=5, found=2, findings=["a", "b"]),
        Outcome(checked=9, found=4, findings=["b", "c"]),
    )
    assert (verification.acknowledged_events, verification.checked_events, verification.fetched_events) == (5, 5, 9)
    assert verification.found == 5
    assert verification.findings == ["a", "b", "c (as it was fetched)"]
