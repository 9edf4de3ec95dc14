"""Findings that run again: fixed only where the sequence was sent and judged."""

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.helpers import crash_on, run_on
from wiretool.capture.files.reading import read_packets
from wiretool.conformance.case import Case
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import Mutant
from wiretool.conformance.results import CaseResult
from wiretool.errors import InputError, Stopped, UsageError
from wiretool.fuzz.findings.finding import Finding, page, write_finding
from wiretool.fuzz.findings.investigation import Confirmed
from wiretool.fuzz.findings.replaying import replay_finding
from wiretool.fuzz.findings.standing import Standing
from wiretool.fuzz.oracles import Bucket, Suspicion
from wiretool.fuzz.sequences.sequence import Connect, FuzzSequence, Sending
from wiretool.fuzz.session import FuzzSession
from wiretool.fuzz.targets.base import InMemoryTarget

CRASH = crash_on(b"\x00\x00\x00\x14")
CASE = "pravega/attribute/1"
CAPTURES = Path(__file__).parents[3] / "captures" / "pravega"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finding, which tests must not change: the store crashes on a CreateSegment."""
    _, found = run_on(CRASH, runs=60)
    died = next(each for each in found if each.bucket.oracle == "died")
    session = FuzzSession("pravega")
    target = session.mock_target(CRASH)
    return write_finding(died, tmp_path_factory.mktemp("found"), session.protocol_in(""), [], target)


@pytest.fixture
def finding(written: Path, tmp_path: Path) -> Path:
    """A copy of this folder."""
    return Path(shutil.copytree(written, tmp_path / written.name))


def change(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit the JSON form of a finding."""
    path = folder / "finding.json"
    form = json.loads(path.read_text())
    edit(form)
    path.write_text(json.dumps(form))


def on(mutant: Mutant | None) -> Callable[[FuzzSession], nullcontext[InMemoryTarget]]:
    """Return a function that opens a mutant of the mock as a target."""
    return lambda session: nullcontext(session.mock_target(mutant))


def test_it_fails_on_the_mutant_and_is_fixed_on_the_clean_mock(finding: Path) -> None:
    assert replay_finding(finding, on(CRASH)).standing is Standing.FAILS
    assert replay_finding(finding).standing is Standing.FIXED


def test_a_sequence_of_no_messages_is_refused(finding: Path) -> None:
    change(finding, lambda form: form["sequence"].update(steps=[]))
    with pytest.raises(InputError, match="none sends a message"):
        replay_finding(finding)


def test_an_unknown_setup_is_refused(finding: Path) -> None:
    change(finding, lambda form: form["sequence"].update(setup="elsewhere"))
    with pytest.raises(InputError, match="no setup 'elsewhere' of pravega"):
        replay_finding(finding)


def connect_to(form: dict[str, Any], endpoint: str) -> None:
    """Let the sequence of a finding connect to an endpoint."""
    form["sequence"]["steps"].insert(0, {"connect": 90, "endpoint": endpoint})


def test_an_unknown_endpoint_is_refused(finding: Path) -> None:
    change(finding, lambda form: connect_to(form, "elsewhere"))
    with pytest.raises(InputError, match=r"001-died.*: no endpoint 'elsewhere' of pravega; expected .*store"):
        replay_finding(finding)


def test_a_target_has_the_endpoints_of_a_setup() -> None:
    target = FuzzSession("sbp").mock_target()
    sequence = FuzzSequence((Connect(0, "placement-driver"),), "")
    assert not target.fits(sequence)
    assert target.fits(replace(sequence, setup="apart"))


def test_the_mock_is_not_blamed_for_an_unknown_endpoint() -> None:
    """It was reported as `died`, with a StopIteration of the fuzzer itself."""
    target = FuzzSession("pravega").mock_target()
    with pytest.raises(UsageError, match="the mock has no endpoint elsewhere"):
        target.run_fresh([FuzzSequence((Connect(0, "elsewhere"),), "")])


def test_a_seed_of_another_type_is_refused(finding: Path) -> None:
    change(finding, lambda form: form.update(seed="x"))
    with pytest.raises(InputError, match="seed: expected a whole number"):
        replay_finding(finding)


def test_the_mock_without_the_data_of_a_capture_proves_nothing(finding: Path) -> None:
    change(finding, lambda form: form["sequence"].update(setup="capture a.pcap"))
    replayed = replay_finding(finding)
    assert replayed.standing is Standing.OTHER
    assert "the mock without the data of capture a.pcap" in replayed.text


@pytest.mark.parametrize("folder", ["", "/elsewhere/"])
def test_the_mock_with_the_data_of_a_capture_proves_something(finding: Path, folder: str) -> None:
    """`--seeds` names the capture; it may lie in another folder than before."""
    capture = CAPTURES / "java_conditional.pcap"
    change(finding, lambda form: form["sequence"].update(setup=f"capture {folder}java_conditional.pcap"))

    def add(session: FuzzSession) -> None:
        session.add_capture(str(capture), read_packets([capture]), ports={}, notes=lambda text: None)
        session.check_seed_files([str(capture)])

    assert replay_finding(finding, add_seed_files=add).standing is Standing.FIXED
    assert replay_finding(finding, on(CRASH), add_seed_files=add).standing is Standing.FAILS


def test_the_test_of_a_finding_takes_its_capture(finding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`test_repro.py` has no options: the capture is where it was, or WIRETOOL_SEEDS names it."""
    capture = CAPTURES / "java_conditional.pcap"
    change(finding, lambda form: form["sequence"].update(setup=f"capture {capture}"))
    assert replay_finding(finding).standing is Standing.FIXED
    change(finding, lambda form: form["sequence"].update(setup="capture gone.pcap"))
    assert "expected --seeds or WIRETOOL_SEEDS" in replay_finding(finding).text
    monkeypatch.setenv("WIRETOOL_SEEDS", str(capture))
    assert replay_finding(finding).standing is Standing.FIXED
    assert replay_finding(finding, on(CRASH)).standing is Standing.FAILS
    monkeypatch.setenv("WIRETOOL_SEEDS", "nowhere.pcap")
    with pytest.raises(UsageError, match=r"WIRETOOL_SEEDS nowhere\.pcap: no such file"):
        replay_finding(finding)


def test_the_test_of_a_finding_names_its_capture(tmp_path: Path) -> None:
    session = FuzzSession("pravega")
    for setup in ("", "capture a b.pcap"):
        sequence = FuzzSequence((Connect(1), Sending(1, b"\x00")), "", setup=setup)
        made = Finding(1, "pravega", "mock", 0, Confirmed(Suspicion(Bucket("died"), "why", 0), sequence, 3))
        place = write_finding(made, tmp_path / (setup or "none"), session.protocol_in(""), [], session.mock_target())
        text = (place / "test_repro.py").read_text("utf-8")
        assert ("WIRETOOL_SEEDS=CAPTURE names the capture a b.pcap, " in text) == bool(setup)
        compile(text, "test_repro.py", "exec")


def test_the_page_of_a_finding_names_its_capture(tmp_path: Path) -> None:
    sequence = FuzzSequence((Sending(1, b"\x00"),), "", setup="capture a b.pcap")
    confirmed = Confirmed(Suspicion(Bucket("died"), "why", 0), sequence, 3)
    made = Finding(1, "pravega", "built-in mock", 0, confirmed)
    text = page(made, tmp_path, FuzzSession("pravega").protocol_in(""))
    assert f"wiretool fuzz pravega --replay {tmp_path} --seeds 'a b.pcap'\n" in text


def test_a_target_without_the_endpoints_is_not_fixed(finding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InMemoryTarget, "fits", lambda self, sequence: False)
    assert replay_finding(finding).standing is Standing.OTHER


def test_a_run_that_sends_nothing_is_not_fixed(finding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_fresh = InMemoryTarget.run_fresh

    def mute(self: InMemoryTarget, *args: Any, **options: Any) -> Any:
        return [replace(outcome, sent_messages=0) for outcome in run_fresh(self, *args, **options)]

    monkeypatch.setattr(InMemoryTarget, "run_fresh", mute)
    replayed = replay_finding(finding)
    assert replayed.standing is Standing.OTHER
    assert replayed.text == "the target takes no message of the sequence"


def test_a_stop_signal_is_no_verdict(finding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InMemoryTarget, "stopped_by", 2)
    with pytest.raises(Stopped):
        replay_finding(finding)


@pytest.mark.parametrize(
    ("verdicts", "standing"),
    [
        ([[], [], []], Standing.OTHER),
        ([["error"]], Standing.OTHER),
        ([["not-exercised"]], Standing.OTHER),
        ([["unsupported"]], Standing.OTHER),
        ([["pass"], ["pass"], ["fail"]], Standing.FAILS),
        ([["pass"], ["pass"], ["pass"]], Standing.FIXED),
    ],
)
def test_a_case_is_fixed_where_it_passes_each_time(
    finding: Path, monkeypatch: pytest.MonkeyPatch, verdicts: list[list[str]], standing: Standing
) -> None:
    left = iter(verdicts)

    def run_cases(self: InMemoryTarget, cases: list[Case], before: Any = ()) -> list[CaseResult]:
        return [CaseResult(cases[0], Verdict(each), "why") for each in next(left)]

    change(finding, lambda form: form.update(case=CASE))
    monkeypatch.setattr(InMemoryTarget, "run_cases", run_cases)
    assert replay_finding(finding).standing is standing


@pytest.mark.parametrize(
    ("failing", "standing", "text"),
    [
        ("", Standing.FIXED, f"conformance case {CASE} passes in 3 runs; 1 other case that failed with it, too"),
        ("pravega/attribute/2", Standing.FAILS, "died: why (conformance case pravega/attribute/2)"),
    ],
)
def test_a_finding_of_several_cases_is_fixed_where_all_pass(
    finding: Path, monkeypatch: pytest.MonkeyPatch, failing: str, standing: Standing, text: str
) -> None:
    def run_cases(self: InMemoryTarget, cases: list[Case], before: Any = ()) -> list[CaseResult]:
        return [CaseResult(each, Verdict.FAIL if each.id == failing else Verdict.PASS, "why") for each in cases]

    change(finding, lambda form: form.update(case=CASE, cases=[CASE, "pravega/attribute/2"]))
    monkeypatch.setattr(InMemoryTarget, "run_cases", run_cases)
    replayed = replay_finding(finding)
    assert (replayed.standing, replayed.text) == (standing, text)


@pytest.mark.parametrize("cases", [3, ["pravega/none/1"]])
def test_unknown_cases_of_a_finding_are_refused(finding: Path, cases: object) -> None:
    change(finding, lambda form: form.update(case=CASE, cases=cases))
    with pytest.raises(InputError, match=r"cases: expected a list|no conformance case pravega/none/1"):
        replay_finding(finding)


@pytest.mark.parametrize("absent", [CASE, "pravega/attribute/2"])
def test_another_case_that_fails_counts_more_than_one_that_cannot_run(
    finding: Path, monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    def run_cases(self: InMemoryTarget, cases: list[Case], before: Any = ()) -> list[CaseResult]:
        verdicts = {absent: [], "pravega/attribute/3": [Verdict.FAIL]}.get(cases[0].id, [Verdict.PASS])
        return [CaseResult(cases[0], each, "why") for each in verdicts]

    monkeypatch.setattr(InMemoryTarget, "run_cases", run_cases)
    change(finding, lambda form: form.update(case=CASE, cases=[CASE, "pravega/attribute/2"]))
    assert replay_finding(finding).standing is Standing.OTHER
    change(finding, lambda form: form["cases"].append("pravega/attribute/3"))
    replayed = replay_finding(finding)
    assert (replayed.standing, replayed.text) == (Standing.FAILS, "died: why (conformance case pravega/attribute/3)")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--sockets", "options: expected a list of texts"),
        ([3], "options: expected a list of texts"),
        (["--target"], "options: --target has no value"),
        (["--targets", "127.0.0.1:1"], "options: '--targets' names no target; expected --target, --command"),
        (["--sockets", "x"], "options: 'x' names no target"),
    ],
)
def test_options_that_name_no_target_are_refused(finding: Path, options: object, text: str) -> None:
    change(finding, lambda form: form.update(options=options))
    with pytest.raises(InputError, match=text) as caught:
        replay_finding(finding)
    assert str(caught.value).startswith(f"{finding}: ")


def test_another_machine_has_to_be_allowed(finding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(finding, lambda form: form.update(options=["--target", "192.0.2.1:12345"]))
    with pytest.raises(UsageError, match=r"--target 192\.0\.2\.1:12345: another machine"):
        replay_finding(finding)
    monkeypatch.setenv("WIRETOOL_TARGET", "192.0.2.2:12345")
    with pytest.raises(UsageError, match=r"WIRETOOL_TARGET 192\.0\.2\.2:12345: another machine"):
        replay_finding(finding)
