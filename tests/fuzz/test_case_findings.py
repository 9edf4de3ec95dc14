"""Findings of conformance cases whose sessions are too long to be seeds: they have the bytes, or name the case."""

import json
from pathlib import Path

import pytest

from wiretool.capture.files.reading import read_packets
from wiretool.conformance.mutation.mutants import mutant_named
from wiretool.fuzz import session as session_module
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.findings import bounded_form
from wiretool.fuzz.findings.finding import write_finding
from wiretool.fuzz.findings.replaying import replay_finding
from wiretool.fuzz.findings.standing import Standing
from wiretool.fuzz.session import FuzzSession

#: A PING of 70,000 bytes.
CASE = "sbp/ping/4"


def finding_of(case_id: str, folder: Path) -> Path:
    """Run one conformance case on a mutant whose answer to a PING is wrong; return the folder of the finding."""
    session = FuzzSession("sbp")
    session.add_cases()
    session.cases = [case for case in session.cases if case.id == case_id]
    target = session.mock_target(mutant_named(session.part, "pong-without-payload"))
    places: list[Path] = []
    session.campaign(
        target,
        session.investigation(target, is_reference=False),
        Limits(runs=1, findings=1),
        on_finding=lambda each: places.append(
            write_finding(each, folder, session.protocol_in(""), ["--mutant", "pong-without-payload"], target)
        ),
    ).run()
    (place,) = places
    return place


def test_a_session_that_is_too_long_for_a_seed_is_in_the_finding(tmp_path: Path) -> None:
    place = finding_of(CASE, tmp_path)
    page = (place / "README.md").read_text("utf-8")
    assert ": PING `" in page.split("## The sequence")[1]
    assert "`repro.pcapng` has the bytes of both sides" in page
    assert sum(len(packet.data) for packet in read_packets([place / "repro.pcapng"])) > 70_000
    assert replay_finding(place).standing is Standing.FAILS


def test_the_json_of_a_large_session_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_form, "FORM_MAX", 20_000)
    place = finding_of(CASE, tmp_path)
    text = (place / "finding.json").read_text("utf-8")
    assert len(text) < 25_000
    form = json.loads(text)
    assert form["cut"] == "1 of 2 steps cut to the first 256 bytes; a replay runs the conformance case itself"
    connected, step = form["sequence"]["steps"]
    assert "connect" in connected
    assert (len(step["data"]), step["cut_from"]) == (512, 70_020)
    assert sum(len(packet.data) for packet in read_packets([place / "repro.pcapng"])) > 70_000
    assert replay_finding(place).standing is Standing.FAILS


def test_the_json_of_a_usual_session_is_whole(tmp_path: Path) -> None:
    form = json.loads((finding_of(CASE, tmp_path) / "finding.json").read_text("utf-8"))
    assert "cut" not in form


def test_steps_that_do_not_fit_are_omitted() -> None:
    steps = [{"send": 1, "message": "PING", "data": "00" * 2_000, "recorded": "00" * 2_000} for _ in range(5_000)]
    form, why = bounded_form.bounded_sequence({"origin": "a/1", "setup": "", "changes": [], "steps": steps})
    assert len(json.dumps(form, indent=2)) <= bounded_form.FORM_MAX
    kept = len(form["steps"])
    assert 1_000 < kept < 5_000
    shortened, omitted = (
        f"{kept:,} of 5,000 steps cut to the first 256 bytes",
        f"{5_000 - kept:,} of 5,000 steps omitted",
    )
    assert why == f"{shortened} and {omitted}; a replay runs the conformance case itself"


def test_a_session_that_is_too_large_is_named_by_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "CASE_BYTES_MAX", 70_000)
    monkeypatch.setattr(session_module, "case_sessions", session_module.case_sessions.__wrapped__)  # made anew
    place = finding_of(CASE, tmp_path)
    page = (place / "README.md").read_text("utf-8")
    assert f"\nConformance case {CASE} has too many bytes" in page
    assert f"`wiretool conform sbp --case {CASE}` runs it." in page
    assert "repro.pcapng" not in page
    assert sorted(each.name for each in place.iterdir()) == ["README.md", "finding.json", "test_repro.py"]
    assert replay_finding(place).standing is Standing.FAILS
