"""The gate: which verdicts are findings, and what makes a run succeed."""

from dataclasses import replace

import pytest

from tests.conformance.results import RESULTS, judged
from wiretool.conformance.expectations import expected_text
from wiretool.conformance.judged import JudgedRun
from wiretool.errors import InputError, UsageError

PASSED, FAILED, LENIENT, UNSUPPORTED, UNSEEN, ERROR = RESULTS


def entry(case: str, message: str = "", reason: str = "known") -> str:
    return f'[[expected]]\ncase = "{case}"\nmessage = "{message}"\nreason = "{reason}"\n'


def test_the_findings() -> None:
    assert [result.verdict.value for result in judged().findings] == ["fail", "lenient", "unsupported", "error"]
    assert LENIENT not in judged(allows_lenient=True).findings


def test_success_requires_evidence() -> None:
    assert judged(PASSED).is_success
    assert judged(PASSED, UNSEEN).is_success
    assert not judged(UNSEEN).is_success
    assert not judged(PASSED, FAILED).is_success
    assert judged(LENIENT, allows_lenient=True).is_success


def test_an_expected_failure_is_no_finding() -> None:
    found = judged(PASSED, FAILED, expect=entry("pravega/x/2", "event_number"))
    assert found.is_success
    assert found.reason(FAILED) == "known"
    assert "1 fail (1 expected)" in found.headline


def test_the_headline_shortens_a_long_command() -> None:
    run = replace(judged(PASSED).run, target="java -cp " + ":".join(["/jars/client.jar"] * 50) + " Driver")
    assert JudgedRun(run).headline.startswith("pravega on java -cp …: 1 case ")


def test_one_that_passes_again_is_reported_and_fails_the_run() -> None:
    found = judged(PASSED, expect=entry("pravega/x/1"))
    assert list(found.changes) == ["pravega/x/1 passes; remove it from the expected failures"]
    assert not found.is_success


def test_one_that_fails_otherwise_is_reported_and_fails_the_run() -> None:
    found = judged(FAILED, expect=entry("pravega/x/2", "segment"))
    (change,) = found.changes
    assert change.startswith("pravega/x/2 is fail for another reason: DataAppended.event_number")
    assert found.findings == [FAILED]


def test_one_that_was_not_selected_says_nothing() -> None:
    assert judged(PASSED, expect=entry("pravega/x/2")).is_success


def test_what_is_written_is_what_is_expected_next_time() -> None:
    expect = expected_text(judged().findings)
    assert judged(*RESULTS[:-1], expect=expect).is_success
    other_name = replace(FAILED, why="DataAppended.event_number: expected 1, found 3 of stream/b")
    assert judged(PASSED, other_name, expect=expect).is_success


def test_an_error_is_not_to_be_expected() -> None:
    assert "pravega/x/6" not in expected_text(judged().findings)
    assert not judged(PASSED, ERROR, expect=entry("pravega/x/6")).is_success


def test_one_that_cannot_be_seen_is_no_change() -> None:
    assert judged(PASSED, UNSEEN, expect=entry("pravega/x/5")).is_success


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "known.toml: end of the file: not TOML: expected = after the key; expected entries"),
        (entry("pravega/x/1") * 2, r"expected\[2\]: pravega/x/1 is listed twice"),
        ("[a]\nb c", "known.toml: line 2, column 3: not TOML: expected = after the key; expected entries"),
        ("[accept]\na = 1", r"known.toml: expected entries as \[\[expected\]\]"),
        ('[[expected]]\ncase = "pravega/x/1"\n', r"expected\[1\]: reason is missing"),
        ('[[expected]]\nreson = "x"\n', r"expected\[1\]: reson: unknown key \(did you mean reason\?\); expected case"),
        ("[[expected]]\ncase = 5\n", r"expected\[1\]: case: expected text$"),
        ('[[expected]]\ncase = "pravega/x/1"\nreason = ""\n', r"reason: expected text that is not empty"),
    ],
)
def test_bad_files(text: str, why: str) -> None:
    """They are input of another form: exit code 3."""
    with pytest.raises(InputError, match=why):
        judged(expect=text)


def test_an_unknown_case_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match=r"expected\[1\]: no case is called 'pravega/x/9' \(did you mean") as caught:
        judged(expect=entry("pravega/x/9"))
    assert caught.value.exit_code == 2
