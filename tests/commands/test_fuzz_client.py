"""`wiretool fuzz --client`: exit codes, reports, findings that run again, and options that cannot work."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.fuzz import clients
from tests.helpers.examples import needs_protocol
from tests.helpers.servers import wiretool

#: Applies to the only message of these clients in one way, which breaks the fragile one.
BREAKING = ("--case", "reply/close", "--seed", "1", "--timeout", "5s")


def fuzz(*words: str, program: str) -> subprocess.CompletedProcess[str]:
    """Fuzz a client of pravega."""
    return wiretool("fuzz", "pravega", *words, "--client", "--", *clients.command(program))


def test_a_finding_from_the_command_to_its_replay(tmp_path: Path) -> None:
    output, baseline = tmp_path / "findings", tmp_path / "known.json"
    reports = {name: tmp_path / f"report.{name}" for name in ("json", "junit", "sarif")}
    files = [word for name, path in reports.items() for word in (f"--{name}", str(path))]
    words = [*BREAKING, "--runs", "8", "-o", str(output)]
    ended = fuzz(*words, *files, "--write-baseline", str(baseline), program=clients.FRAGILE)
    assert ended.returncode == 1, ended.stderr
    assert "001-crash-indexerror-at" in ended.stdout
    assert "8 runs in" in ended.stdout
    assert "1 message of the server mutated in" in ended.stdout
    report = json.loads(reports["json"].read_text("utf-8"))
    (found,) = report["findings"]
    assert (found["oracle"], found["messages"], found["flaky"]) == ("crash", 1, False)
    assert (report["runs"], report["phases"], report["seed"]) == (8, ["Hello"], 1)
    assert ElementTree.parse(reports["junit"]).getroot().get("failures") == "1"
    assert json.loads(reports["sarif"].read_text("utf-8"))["runs"][0]["results"][0]["ruleId"] == "crash"
    folder = found["folder"]
    assert {each.name for each in Path(folder).iterdir()} == {
        "finding.json", "README.md", "repro.pcapng", "test_repro.py",
    }  # fmt: skip
    again = wiretool("fuzz", "pravega", "--replay", folder)
    assert (again.returncode, again.stdout.startswith(f"{folder}: still fails: crash: ")) == (1, True)
    fixed = fuzz("--replay", folder, program=clients.ROBUST)
    assert (fixed.returncode, fixed.stdout) == (0, f"{folder}: fixed: 3 runs of the client show nothing\n")
    known = fuzz(*words, "--baseline", str(baseline), program=clients.FRAGILE)
    assert known.returncode == 0, known.stderr
    assert "1 known finding of the baseline shown again" in known.stdout


def test_a_robust_client_passes(tmp_path: Path) -> None:
    ended = fuzz(*BREAKING, "--runs", "6", "--jobs", "2", "-o", str(tmp_path), program=clients.ROBUST)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.rstrip().endswith("0 findings")
    assert not list(tmp_path.iterdir())


def test_a_client_that_fails_without_any_fault_is_named(tmp_path: Path) -> None:
    program = clients.ROBUST + "\nsys.exit('the disk is full')"
    ended = fuzz(*BREAKING, "--runs", "1", "-o", str(tmp_path), program=program)
    assert ended.returncode == 0
    line = next(each for each in ended.stderr.splitlines() if "without any fault" in each)
    assert line == (
        "wiretool: the client fails without any fault, with exit code 1: the disk is full; only another crash than that"
        " is a finding"
    )


def test_a_client_that_never_connects() -> None:
    ended = fuzz("--runs", "1", program="print('nothing to do')")
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr.rstrip().endswith("the client never connects and ends with exit code 0: nothing to do")


def test_a_missing_program() -> None:
    ended = wiretool("fuzz", "pravega", "--client", "--", "no-such-program")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "wiretool: --client: no-such-program: No such file or directory\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--client",), "--client: expected a command after --"),
        (("--client", "--", ""), "--client: expected a program after --, got an empty text"),
        (("python", "client.py"), "python: expected --client -- before the command of a client"),
        (("--client", "--target", "127.0.0.1:1", "--", "x"), "--client and --target: a client runs against"),
        (("--client", "--sockets", "--", "x"), "--client and --sockets: a client runs against"),
        (("--client", "--mutant", "m", "--", "x"), "--client and --mutant: a client runs against"),
        (("--client", "--", "x", "{adress}"), "no placeholder {adress} (did you mean address?)"),
        (("--client", "--case", "order/drop", "--", "x"), "--case order/drop: no mutation of that name"),
    ],
)
def test_refused_options(words: tuple[str, ...], text: str) -> None:
    ended = wiretool("fuzz", "pravega", *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert text in " ".join(ended.stderr.split())


@needs_protocol("offramp")
def test_the_mutations_of_replies_are_listed() -> None:
    ended = wiretool("fuzz", "offramp", "--client", "--list")
    names = [line.split()[0] for line in ended.stdout.splitlines() if line[:1].isalpha() and "/" in line.split()[0]]
    assert {"number/length", "field/value", "reply/drop", "reply/swap", "reply/byte-by-byte"} <= set(names)
    assert "order/drop" not in names


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_the_report(tmp_path: Path, jobs: str) -> None:
    report = tmp_path / "report.json"
    words = ["fuzz", "pravega", "--time", "60s", "--jobs", jobs, "--json", str(report), "-o", str(tmp_path / "f")]
    program = clients.command(clients.ROBUST)
    process = subprocess.Popen(
        [sys.executable, "-m", "wiretool", *words, "--client", "--", *program],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    give_up_s = time.monotonic() + 30
    while "runs" not in process.stderr.readline():
        assert time.monotonic() < give_up_s
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "findings" in output
    assert json.loads(report.read_text("utf-8"))["runs"] >= 1
