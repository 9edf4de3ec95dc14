"""The page of a server in several setups: no case is lost, and each stands where its setup does."""

import re
from pathlib import Path
from typing import Any

from tests.interop.conformance_page import SetupReport, setups_page
from tests.interop.real_pravega import SETUPS, UNAVAILABLE
from wiretool.conformance.registry import conformance_of

PAGE = Path(__file__).parents[2] / "docs" / "conformance-pravega.md"


def _case(id: str, verdict: str, setup: str = "") -> dict[str, Any]:
    found = {"id": id, "level": "must", "verdict": verdict, "requirement": "R.", "why": "W"}
    return found | ({"setup": setup} if setup else {})


def _report(verdict: str, setup: str, in_setup: str) -> dict[str, Any]:
    """Return a report as a run with `--setup` makes it: cases of other setups are not exercised."""
    other = "not-exercised"
    return {
        "cases": [
            _case("p/a/1", other if setup else verdict),
            _case("p/b/1", in_setup if setup == "locked" else other, "locked"),
            _case("p/c/1", other, "newer"),
        ]
    }


def test_each_case_stands_in_the_section_of_its_setup() -> None:
    reports = [
        SetupReport("", "1.0", "As it is.", _report("pass", "", "")),
        SetupReport("locked", "0.9", "Locked.", _report("", "locked", "fail")),
    ]
    page = setups_page("a server", reports, {"newer": "there is none"})
    assert "| default | 1.0 | 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in page
    assert "| locked | 0.9 | 1 | 0 | 1 | 0 | 0 | 0 | 0 |" in page
    assert "| newer | none | 1 | 0 | 0 | 0 | 0 | 1 | 0 |" in page
    assert "| `p/b/1` | must | fail | R. | W |" in page
    assert page.count("p/b/1") == 1
    assert "Reason: there is none.\n\nNot exercised: `p/c/1`." in page


def test_every_setup_of_the_cases_is_run_or_has_a_reason() -> None:
    assert {*SETUPS, *UNAVAILABLE} == {"", *conformance_of("pravega").variants}
    assert not {*SETUPS} & {*UNAVAILABLE}


def test_the_page_of_the_real_server_has_every_case() -> None:
    rows = re.findall(r"^\| (\S+) \| (?:none|[\d.]+\.\d+) \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    cases = conformance_of("pravega").cases
    assert {setup: int(count) for setup, count in rows} == {
        setup or "default": sum(case.variant == setup for case in cases) for setup in (*SETUPS, *UNAVAILABLE)
    }
