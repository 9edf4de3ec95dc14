"""The close after a Hello is judged by the version that the server named: a wrong close and a wrong stay both fail."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.conformance.scripted import Act, run_case
from wiretool.conformance.case import Case
from wiretool.conformance.levels import Verdict
from wiretool.conformance.recorded.judgement import judge_recording
from wiretool.conformance.recorded.observed import Closing, Item, Observed, ObservedConnection
from wiretool.conformance.registry import conformance_of

PART = conformance_of("pravega")
NS_PER_S = 1_000_000_000
#: Of a server with this version, whether it closes: right, and wrong.
RIGHT = [(15, True), (16, True), (17, False)]
WRONG = [(15, False), (16, False), (17, True)]


def _case(id: str) -> Case:
    return next(case for case in PART.cases if case.id == id)


def _verdict(version: int, *, closes: bool) -> Verdict:
    def script(name: str, fields: Mapping[str, Any]) -> Sequence[Act]:
        hello = ("Hello", {"high_version": version, "low_version": 5})
        return [hello, "close"] if closes else [hello]

    return run_case(_case("pravega/hello/9"), script).verdict


@pytest.mark.parametrize(("version", "closes"), RIGHT)
def test_the_end_that_the_version_requires_passes(version: int, closes: bool) -> None:
    assert _verdict(version, closes=closes) is Verdict.PASS


@pytest.mark.parametrize(("version", "closes"), WRONG)
def test_the_other_end_fails(version: int, closes: bool) -> None:
    assert _verdict(version, closes=closes) is Verdict.FAIL


@pytest.mark.parametrize(("version", "closes"), [*RIGHT, *WRONG])
def test_a_recording_is_judged_by_the_version_in_it(version: int, closes: bool) -> None:
    client = Observed(1, 0, "client", "Hello", {"high_version": 5, "low_version": 17}, (), None, b"")
    server = Observed(2, 1, "server", "Hello", {"high_version": version, "low_version": 5}, (), None, b"")
    items: list[Item] = [client, server, *([Closing(2, "server", "fin")] if closes else [])]
    connection = ObservedConnection(1, "a", "b", "pravega", True, True, 0, items, 9 * NS_PER_S)
    [result] = judge_recording(PART, [connection], [_case("pravega/hello/9")])
    assert result.verdict is (Verdict.PASS if (version, closes) in RIGHT else Verdict.FAIL)
