"""The end of `wiretool fuzz`: runs that are cut or empty, baselines, reports, and files that cannot be written."""

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import typer

from wiretool.commands.fuzz.options import FuzzOptions, Reports
from wiretool.commands.fuzz.results import add_finding, finish, report_run
from wiretool.commands.fuzz.run import run_fuzz
from wiretool.errors import OutputError, PeerError, Stopped, UsageError
from wiretool.fuzz.campaign import Counts
from wiretool.fuzz.client import clean_runs
from wiretool.fuzz.findings.baseline import baseline_form, read_baseline
from wiretool.fuzz.findings.finding import Finding, write_finding
from wiretool.fuzz.findings.investigation import Confirmed
from wiretool.fuzz.findings.reports import FuzzResult
from wiretool.fuzz.oracles import Bucket, Suspicion
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.fuzz.session import FuzzSession

KNOWN = Bucket("died", message="Hello")
JUDGED = Counts(runs=5, messages=9)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def result(counts: Counts = JUDGED) -> FuzzResult:
    return FuzzResult("sbp", "127.0.0.1:1", 0, counts)


def finding(oracle: str = "silent") -> Finding:
    suspicion = Suspicion(Bucket(oracle, message="Ping"), "no reply", 0)
    return Finding(1, "sbp", "127.0.0.1:1", 0, Confirmed(suspicion, FuzzSequence((), ""), 3))


def all_reports(folder: Path) -> Reports:
    return Reports(folder / "a.xml", folder / "a.json", folder / "a.sarif", folder / "base.json")


def check_cut(folder: Path, why: str) -> None:
    """Each report says that the run was cut, and why."""
    assert json.loads((folder / "a.json").read_text())["cut"] == why
    suite = ElementTree.parse(folder / "a.xml").getroot()
    error = suite.find("testcase/error")
    assert suite.get("errors") == "1"
    assert error is not None
    assert error.get("message") == why
    (invocation,) = json.loads((folder / "a.sarif").read_text())["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False


# -- runs that are cut -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "stopped_by", "error", "why"),
    [
        (JUDGED, signal.SIGINT, Stopped, "stopped by Ctrl-C"),
        (Counts(), signal.SIGTERM, Stopped, "stopped by SIGTERM"),
        (Counts(), None, UsageError, "no sequence was run within the limits; expected a longer --time"),
        (
            Counts(cases=8, start_cases=8, planned_cases=40, cases_s=3.5),
            None,
            UsageError,
            "no sequence was run: 8 of 40 conformance cases took 3.5 s; expected --time 11s or longer",
        ),
        (Counts(runs=4), None, PeerError, "the target took no message of 4 sequences, so nothing was judged"),
    ],
)
def test_a_run_that_was_cut_says_so_and_drops_no_known_finding(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    counts: Counts,
    stopped_by: int | None,
    error: type[BaseException],
    why: str,
) -> None:
    base = folder / "base.json"
    base.write_text(baseline_form("sbp", [KNOWN]))
    run = result(counts)
    run.gone = [KNOWN]
    with pytest.raises(error):
        finish(run, FuzzOptions("sbp", baseline=base, reports=all_reports(folder)), stopped_by)
    check_cut(folder, why)
    assert read_baseline(base, "sbp") == {KNOWN}
    lines = capsys.readouterr().out.splitlines()
    assert "the baseline keeps 1 known finding that this run, cut early, did not show" in lines
    assert lines[-1].endswith(": 0 findings")


def test_a_cut_run_keeps_what_the_new_baseline_had(folder: Path) -> None:
    """Without --baseline, too: the file is not replaced by fewer findings than it has."""
    base = folder / "base.json"
    base.write_text(baseline_form("sbp", [KNOWN]))
    run = result(JUDGED)
    run.findings.append((finding(), "found"))
    with pytest.raises(Stopped):
        finish(run, FuzzOptions("sbp", reports=Reports(write_baseline=base)), signal.SIGINT)
    assert read_baseline(base, "sbp") == {KNOWN, finding().bucket}


def test_a_whole_run_drops_findings_that_are_gone(folder: Path) -> None:
    base = folder / "base.json"
    base.write_text(baseline_form("sbp", [KNOWN]))
    run = result()
    run.gone = [KNOWN]
    finish(run, FuzzOptions("sbp", baseline=base, reports=all_reports(folder)), None)
    assert read_baseline(base, "sbp") == frozenset()
    assert json.loads((folder / "a.json").read_text())["cut"] == ""


def test_findings_of_cases_count_without_a_sequence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = result(Counts(cases=8, start_cases=8, planned_cases=40, cases_s=3.5))
    run.findings.append((finding(), "found"))
    with pytest.raises(typer.Exit) as caught:
        finish(run, FuzzOptions("sbp", reports=all_reports(folder)), None)
    assert caught.value.exit_code == 1
    assert "wiretool: no sequence was run: 8 of 40 conformance cases took 3.5 s" in capsys.readouterr().err
    check_cut(folder, "no sequence was run: 8 of 40 conformance cases took 3.5 s; expected --time 11s or longer")


@pytest.mark.parametrize(
    ("given", "owner", "name"),
    [
        ({}, FuzzSession, "add_cases"),
        ({"is_self": True}, FuzzSession, "add_table"),
        ({"is_client": True, "arguments": ["true"]}, clean_runs, "learn"),
    ],
)
def test_a_signal_during_the_preparation_is_reported(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    owner: Any,
    name: str,
) -> None:
    def stop(*arguments: Any) -> None:
        signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda number, frame: os._exit(99))  # as the program does while it starts
    monkeypatch.setattr(owner, name, stop)
    try:
        with pytest.raises(Stopped) as caught:
            run_fuzz(FuzzOptions("sbp", runs=5, reports=all_reports(folder), **given))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught.value.exit_code == 143
    check_cut(folder, "stopped by SIGTERM")
    assert ": 0 findings" in capsys.readouterr().out


def test_a_second_signal_before_there_is_a_result_ends_the_run(folder: Path) -> None:
    def interrupted() -> FuzzResult:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        return result()

    with pytest.raises(Stopped) as caught:
        report_run(interrupted, lambda result, stopped: None, FuzzOptions("pravega", reports=all_reports(folder)))
    assert caught.value.number == signal.SIGTERM
    assert not list(folder.iterdir())


def test_a_signal_whose_exception_is_lost_ends_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an import of a library that drops it."""

    def lose(*arguments: Any) -> None:
        with suppress(Stopped):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(FuzzSession, "add_table", lose)
    with pytest.raises(Stopped):
        run_fuzz(FuzzOptions("sbp", runs=5, reports=all_reports(folder)))
    check_cut(folder, "stopped by Ctrl-C")


def test_an_absent_server_is_in_the_reports(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise PeerError("cannot reach 127.0.0.1:1: Connection refused")

    monkeypatch.setattr(FuzzSession, "add_cases", refuse)
    with pytest.raises(PeerError, match="cannot reach"):
        run_fuzz(FuzzOptions("sbp", runs=5, reports=all_reports(folder)))
    check_cut(folder, "cannot reach 127.0.0.1:1: Connection refused")


# -- files that cannot be written --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"output": Path("/proc/none")}, "--output /proc/none"),
        ({"corpus": Path("/proc/none")}, "--corpus /proc/none"),
        ({"reports": Reports(json=Path("/proc/a.json"))}, "--json /proc/a.json"),
        ({"reports": Reports(write_baseline=Path("/proc/b.json"))}, "--write-baseline /proc/b.json"),
        ({"is_self": True, "output": Path("/proc/none")}, "--output /proc/none"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_run(given: dict[str, Any], option: str) -> None:
    with pytest.raises(UsageError) as caught:
        run_fuzz(FuzzOptions("sbp", runs=5, **given))
    assert str(caught.value).startswith(f"{option}: cannot be written: ")
    assert caught.value.exit_code == 2


def failing(folder: Path) -> Callable[[], Path]:
    """Return a function that writes a finding until the disk is full."""

    class FullDisk:
        def record(self, sequence: FuzzSequence, recording: Any) -> None:
            raise OutputError("cannot write repro.pcapng: No space left on device")

    protocol = FuzzSession("sbp").protocol_in("")
    return lambda: write_finding(finding(), folder / "found", protocol, [], FullDisk())  # type: ignore[arg-type]


def test_a_finding_that_cannot_be_saved_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, options = result(), FuzzOptions("sbp", output=Path("found"), reports=all_reports(folder))
    page = "# 001\n\n## The sequence\n\n1. connection 1: Ping\n\n## Run it again\n\nwiretool fuzz --replay\n"
    assert add_finding(run, finding(), options, failing(folder), lambda: page) == "not saved"
    assert list((folder / "found").iterdir()) == [], "no part of a finding stays"
    with pytest.raises(OutputError) as caught:
        finish(run, options, None)
    assert str(caught.value).startswith("--output found: cannot write repro.pcapng: No space left on device; not saved")
    assert caught.value.exit_code == 74
    out = capsys.readouterr().out
    assert "1. connection 1: Ping" in out
    assert "--replay" not in out
    assert json.loads((folder / "a.json").read_text())["findings"][0]["folder"] == ""
    (found,) = json.loads((folder / "a.sarif").read_text())["runs"][0]["results"]
    assert found["locations"] == []


def test_a_report_that_cannot_be_written_costs_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = Reports(junit=folder / "none" / "a.xml", json=folder / "a.json", sarif=folder / "none" / "a.sarif")
    with pytest.raises(OutputError) as caught:
        finish(result(), FuzzOptions("sbp", reports=reports), signal.SIGINT)
    assert str(caught.value).startswith("--junit: cannot write ")
    assert (folder / "a.json").exists()
    told = capsys.readouterr()
    assert ": 0 findings" in told.out
    assert "wiretool: --sarif: cannot write " in told.err


def test_a_corpus_that_cannot_be_written_does_not_end_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wiretool.fuzz.seeds.corpus.save_sequence", full)
    options = FuzzOptions("pravega-draft", runs=400, corpus=Path("corpus"), reports=Reports(json=folder / "a.json"))
    with pytest.raises(OutputError, match="--corpus corpus: No space left on device"):
        run_fuzz(options)
    assert json.loads((folder / "a.json").read_text())["runs"] == 400
    assert capsys.readouterr().err.count("the run goes on without it") == 1
