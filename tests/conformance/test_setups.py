"""Setups of servers: cases that require another one are not judged."""

import pytest

from wiretool.conformance.levels import Verdict
from wiretool.conformance.recorded.judgement import judge_recording
from wiretool.conformance.registry import conformance_of
from wiretool.conformance.selection import check_setup
from wiretool.errors import UsageError


def test_an_unknown_setup_is_refused_with_the_nearest() -> None:
    part = conformance_of("pravega")
    check_setup(part, "")
    check_setup(part, "authorization")
    with pytest.raises(UsageError, match=r"--setup autorization: pravega has no such setup.*authorization"):
        check_setup(part, "autorization")


def test_a_recording_is_judged_by_the_cases_of_its_setup() -> None:
    part = conformance_of("pravega")
    usual, other = judge_recording(part, [], part.cases, ""), judge_recording(part, [], part.cases, "authorization")
    assert {result.verdict for result in (*usual, *other)} == {Verdict.NOT_EXERCISED}
    for case, in_usual, in_other in zip(part.cases, usual, other, strict=True):
        assert ("see --setup" in in_usual.why) == bool(case.variant)
        assert ("see --setup" in in_other.why) == (case.variant != "authorization")
