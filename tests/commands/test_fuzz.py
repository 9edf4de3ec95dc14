"""`wiretool fuzz` as its users run it: findings, exit codes, files, and every kind of bad input."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.commands.test_conform import accepting, listener
from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run
from tests.helpers.servers import wiretool
from wiretool.commands.fuzz.options import FuzzOptions, Reports
from wiretool.commands.fuzz.results import finish
from wiretool.errors import PeerError, UsageError, WiretoolError
from wiretool.fuzz.campaign import Counts
from wiretool.fuzz.findings.reports import FuzzResult
from wiretool.net.addresses import Address
from wiretool.net.calling.reach import why_unreachable

CAPTURES = Path(__file__).parents[2] / "captures"
#: A mutant that a conformance case finds at once.
MUTANT = ("pravega", "--mutant", "attribute-absent-zero")
FEW = ("--runs", "50")
#: The Hello of a client of Pravega, as a vector has it.
HELLO = "ffffff81000000080000001100000005"
#: A server of the draft that ends when a client sends a type that it does not know.
FRAGILE = """
import os, socket, sys, threading, time
from contextlib import suppress
sys.path.insert(0, sys.argv[2])
host, port = sys.argv[1].split(":")
from wiretool.server.part import mock_for
from wiretool.server.mock import Send
from wiretool.server.options import MockOptions
mock, lock, ends = mock_for("pravega-draft", MockOptions()), threading.Lock(), {}

def act(actions):
    for action in actions:
        end = ends[action.connection]
        try:
            if isinstance(action, Send):
                end.sendall(action.data)
            else:
                end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

def serve(number, end):
    with lock:
        ends[number] = end
        mock.opened(number, mock.doors[0].name, 1)
    while True:
        try:
            data = end.recv(65536)
        except OSError:
            data = b""
        if b"CRASH" in data:  # its sockets are closed some time before it ends, as on a busy machine
            for each in (server, *ends.values()):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            time.sleep(0.2)
            os._exit(3)
        with lock:
            act(mock.received(number, data, 1) if data else mock.ended(number, 1))
        if not data:
            return

with socket.create_server((host, int(port)), backlog=100) as server, suppress(OSError):
    for number in range(1, 1_000_000):
        threading.Thread(target=serve, args=(number, server.accept()[0]), daemon=True).start()
time.sleep(9)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which commands run: findings go there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the findings of one run against the mutant."""
    folder = tmp_path_factory.mktemp("found")
    assert run("fuzz", *MUTANT, *FEW, cwd=folder).returncode == 1
    return folder / "wiretool-findings"


@pytest.fixture
def place(folder: Path, found: Path) -> Path:
    """The first of these findings, all of which are in the folder."""
    shutil.copytree(found, folder / "wiretool-findings")
    return next((folder / "wiretool-findings").iterdir())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


# -- findings ----------------------------------------------------------------------------------------------------------


def test_a_clean_mock_has_no_finding(folder: Path) -> None:
    ended = wiretool("fuzz", "pravega-draft", "--runs", "300")
    assert ended.returncode == 0, ended.stderr
    assert "300 sequences" in ended.stdout
    assert "0 findings" in ended.stdout
    assert list(folder.iterdir()) == []


def test_a_finding_becomes_a_folder_and_reports(folder: Path) -> None:
    files = {name: folder / f"fuzz.{name}" for name in ("json", "junit", "sarif")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    ended = wiretool("fuzz", *MUTANT, *FEW, *options)
    assert ended.returncode == 1, ended.stderr
    report = json.loads(files["json"].read_text())
    assert {"protocol", "target", "seed", "runs", "messages", "seconds", "phases", "findings"} <= set(report)
    assert report["findings"], ended.stdout
    for finding in report["findings"]:
        assert {"id", "oracle", "bucket", "messages", "flaky", "folder"} <= set(finding)
        place = Path(finding["folder"])
        assert {each.name for each in place.iterdir()} == {"README.md", "finding.json", "repro.pcapng", "test_repro.py"}
        assert finding["id"] in ended.stdout
    suite = ElementTree.parse(files["junit"]).getroot()
    assert suite.get("failures") == str(len(report["findings"]))
    sarif = json.loads(files["sarif"].read_text())
    assert len(sarif["runs"][0]["results"]) == len(report["findings"])
    page = (Path(report["findings"][0]["folder"]) / "README.md").read_text()
    assert "## The sequence" in page
    assert "expected (" in page
    decoded = wiretool("decode", str(Path(report["findings"][0]["folder"]) / "repro.pcapng"))
    assert decoded.returncode == 0
    assert "pravega" in decoded.stdout


def test_a_finding_is_replayed(folder: Path, place: Path) -> None:
    """Against the mutant it still fails; against the clean mock it is fixed, also with the seeds of the run."""
    again = wiretool("fuzz", "pravega", "--replay", str(place))
    assert again.returncode == 1
    assert f"{place}: still fails: wrong-answer: " in again.stdout
    form = json.loads((place / "finding.json").read_text())
    (place / "finding.json").write_text(json.dumps(form | {"options": []}))
    (folder / "messages.json").write_text(json.dumps([{"hex": HELLO}]))
    fixed = wiretool("fuzz", "pravega", "--replay", str(place), "--seeds", "messages.json")
    assert fixed.returncode == 0
    assert f"{place}: fixed: " in fixed.stdout


def test_findings_without_their_target_do_not_hide_the_others(folder: Path, place: Path) -> None:
    shutil.copytree(place, folder / "gone")
    form = json.loads((place / "finding.json").read_text())
    target = f"127.0.0.1:{free_port()}"
    (folder / "gone" / "finding.json").write_text(json.dumps(form | {"options": ["--target", target]}))
    ended = wiretool("fuzz", "pravega", "--replay", "gone", "--replay", str(place))
    assert ended.returncode == 4, ended.stdout + ended.stderr
    first, second = ended.stdout.splitlines()
    assert first.startswith(f"gone: not run: cannot reach {target}: ")
    assert second.startswith(f"{place}: still fails: wrong-answer: ")
    assert ended.stderr == "wiretool: 1 of 2 findings not run; see above\n"


def test_the_test_of_a_finding_runs_alone(folder: Path, place: Path) -> None:
    moved = folder / "elsewhere" / place.name
    shutil.copytree(place, moved)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(moved / "test_repro.py")]
    failing = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60, check=False)
    assert failing.returncode == 1
    assert "wrong-answer" in failing.stdout
    form = json.loads((moved / "finding.json").read_text())
    (moved / "finding.json").write_text(json.dumps(form | {"options": []}))
    passing = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60, check=False)
    assert passing.returncode == 0, passing.stdout


def test_the_tests_of_several_findings_run_together(folder: Path, place: Path) -> None:
    shutil.copytree(place, folder / "wiretool-findings" / "999-other")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "wiretool-findings"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60, check=False)
    count = len(list((folder / "wiretool-findings").iterdir()))
    assert f"{count} failed in" in ended.stdout, ended.stdout


def test_a_second_run_continues_the_numbers(folder: Path, place: Path) -> None:
    first = {each: each.stat().st_mtime_ns for each in place.parent.iterdir()}
    assert wiretool("fuzz", *MUTANT, *FEW).returncode == 1
    names = sorted(each.name for each in (folder / "wiretool-findings").iterdir())
    assert [int(name[:3]) for name in names] == [*range(1, 2 * len(first) + 1)]
    assert all(each.stat().st_mtime_ns == changed for each, changed in first.items())


def test_known_findings_do_not_fail_a_run(folder: Path) -> None:
    known = folder / "known.json"
    first = wiretool("fuzz", *MUTANT, *FEW, "--write-baseline", str(known))
    assert first.returncode == 1
    again = wiretool("fuzz", *MUTANT, *FEW, "--baseline", str(known))
    assert again.returncode == 0, again.stdout
    assert "of the baseline shown again" in again.stdout
    clean = wiretool("fuzz", "pravega", *FEW, "--baseline", str(known))
    assert clean.returncode == 0
    assert "known finding not shown in this run: wrong-answer" in clean.stdout


def test_sessions_of_captures_are_seeds() -> None:
    ended = wiretool("fuzz", "pravega-draft", *FEW, "--seeds", str(CAPTURES / "pravega-draft" / "blocks.pcap"))
    assert ended.returncode == 0, ended.stderr
    assert "50 sequences" in ended.stdout


@needs_protocol("offramp")
def test_messages_of_vectors_are_seeds(folder: Path) -> None:
    reply = "0000000600000000"
    (folder / "messages.json").write_text(json.dumps([{"name": "hello", "hex": HELLO}, {"hex": reply}]))
    ended = wiretool("fuzz", "pravega", "--runs", "60", "--seeds", "messages.json")
    assert ended.returncode == 0, ended.stderr
    assert "messages.json: 1 of 2 vectors are seeds" in ended.stderr
    ended = wiretool("fuzz", "offramp", "--runs", "60", "--seeds", "messages.json")
    assert ended.returncode == 3
    assert "messages.json: no connection of offramp with its first bytes, and no message" in ended.stderr


def test_the_list_has_each_mutation() -> None:
    ended = wiretool("fuzz", "sbp", "--list", "--case", "number/*")
    assert ended.returncode == 0
    lines = ended.stdout.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("number/") for line in lines)


# -- servers -----------------------------------------------------------------------------------------------------------


def test_the_mock_over_sockets() -> None:
    ended = wiretool("fuzz", "sbp", "--sockets", "--runs", "200", "--timeout", "500ms")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "200 sequences" in ended.stdout
    assert "built-in mock at 127.0.0.1:" in ended.stdout


def test_a_server_that_ends_is_found_and_started_again(folder: Path) -> None:
    server = folder / "fragile.py"
    server.write_text(FRAGILE.replace("CRASH", "\\x7f\\xff\\xff\\xff"))
    address = f"127.0.0.1:{free_port()}"
    command = f"{sys.executable} {server} {address} {Path(__file__).parents[2] / 'src'}"
    ended = wiretool(
        "fuzz", "pravega-draft", "--target", address, "--command", command, "--runs", "100", "--timeout", "300ms",
        "--json", "fuzz.json", "--case", "number/*", timeout_s=180,
    )  # fmt: skip
    report = json.loads((folder / "fuzz.json").read_text())
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert [each["oracle"] for each in report["findings"]].count("died") >= 1, report["findings"]
    died = next(each for each in report["findings"] if each["oracle"] == "died")
    assert "the server ended with exit code 3" in died["why"]
    assert died["messages"] < 24, "shrinking is bounded by time: each try starts the server again"
    assert report["runs"] >= 100


@contextmanager
def fragile_server(script: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server that wiretool has not started, and that a message ends; its address and its process."""
    script.write_text(FRAGILE.replace("CRASH", "\\x7f\\xff\\xff\\xff"))
    address = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen([sys.executable, str(script), address, str(Path(__file__).parents[2] / "src")])
    give_up_s = time.monotonic() + 30
    while why_unreachable(Address("127.0.0.1", int(address.partition(":")[2]))):
        assert time.monotonic() < give_up_s
        time.sleep(0.05)
    try:
        yield address, process
    finally:
        process.kill()
        process.wait()


def test_a_server_that_wiretool_cannot_start_again_is_one_finding(folder: Path) -> None:
    """Nothing after its end says anything of it: the run ends, and its last sessions are the finding."""
    words = ("--timeout", "300ms", "--case", "number/*")
    with fragile_server(folder / "fragile.py") as (address, process):
        ended = wiretool(
            "fuzz", "pravega-draft", "--target", address, "--time", "30s", *words, "--json", "a.json", timeout_s=60
        )
        assert process.wait(5) == 3
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert "the server accepts no more connections: " in ended.stderr
    assert "; the last message sent was " in ended.stderr
    report = json.loads((folder / "a.json").read_text())
    (found,) = report["findings"]
    assert (found["oracle"], found["flaky"]) == ("died", True)
    assert report["seconds"] < 25
    page = (Path(found["folder"]) / "README.md").read_text()
    assert "not confirmed: the server accepts no more connections" in page
    with fragile_server(folder / "fragile.py") as (other, _):
        again = wiretool("fuzz", "pravega-draft", "--replay", found["folder"], "--target", other, *words[:2])
    assert again.returncode == 1, again.stdout + again.stderr
    assert ": still fails: died: " in again.stdout
    gone = wiretool("fuzz", "pravega-draft", "--replay", found["folder"])
    assert gone.returncode == 4


def test_an_absent_server_is_reported() -> None:
    ended = wiretool("fuzz", "sbp", "--target", f"127.0.0.1:{free_port()}", *FEW)
    assert ended.returncode == 4
    assert "cannot reach 127.0.0.1:" in ended.stderr


@contextmanager
def closing_after(connections: int) -> Iterator[str]:
    """A server that takes some connections and is then gone."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(connections):
            end, _ = server.accept()
            end.close()
        server.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(5)
    finally:
        server.close()


def test_a_server_that_goes_away_ends_the_run() -> None:
    with closing_after(5) as address:
        ended = wiretool(
            "fuzz", "pravega-draft", "--target", address, "--time", "5s", "--timeout", "300ms", "--jobs", "1"
        )
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert "the last message sent was" in ended.stderr


@pytest.mark.parametrize(
    ("counts", "error", "text"),
    [
        (Counts(runs=5, cases=3), PeerError, "the target took no message of 5 sequences, so nothing was judged"),
        (Counts(cases=3), UsageError, "no sequence was run within the limits"),
    ],
)
def test_a_run_that_judged_nothing_is_no_success(
    folder: Path, counts: Counts, error: type[WiretoolError], text: str
) -> None:
    options = FuzzOptions("sbp", reports=Reports(junit=folder / "report.xml"))
    with pytest.raises(error, match=text):
        finish(FuzzResult("sbp", "127.0.0.1:1", 0, counts), options, None)
    assert ElementTree.parse(folder / "report.xml").getroot().get("errors") == "1"


def test_a_run_that_judged_a_message_is_one(folder: Path) -> None:
    finish(FuzzResult("sbp", "127.0.0.1:1", 0, Counts(runs=5, messages=1)), FuzzOptions("sbp"), None)


def test_a_mute_server_is_reported() -> None:
    """A server that accepts and never answers ends the run after the first cases, not after all of them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        ended = wiretool("fuzz", "pravega-draft", "--target", address, "--time", "20s", "--timeout", "100ms")
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert f"{address} accepts connections, and answers no message in " in ended.stderr
    assert "; it hangs, or uses another protocol; " in ended.stderr
    assert f"{address}: no reply to KeepAlive yet; sending conformance cases\n" in ended.stderr
    assert "; the last message sent was " in ended.stderr
    assert "the last message sent was none" not in ended.stderr


@pytest.mark.parametrize(
    ("protocol", "reply", "seems"),
    [
        ("sbp", b"HTTP/1.1 400 Bad Request\r\n\r\n", "it seems to use HTTP/1.1"),
        ("offramp", b"SSH-2.0-OpenSSH_9.2\r\n", "it seems to use SSH"),
        ("pravega-draft", b"220 mail.example ESMTP\r\n", "its first bytes are 32 32 30"),
    ],
)
def test_a_target_of_another_protocol_is_named(protocol: str, reply: bytes, seems: str) -> None:
    with listener(reply) as address:
        ended = wiretool("fuzz", protocol, "--target", address, "--time", "20s")
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert ended.stderr.startswith(f"wiretool: {address}: the target does not use {protocol}; {seems}")
    assert ended.stderr.count("\n") == 1


@needs_protocol("offramp")
def test_a_server_without_the_roads_of_the_cases_is_fuzzed() -> None:
    """The server refuses every stream; its answers are valid, so it is not mute."""

    def refuse(end: socket.socket) -> None:
        with suppress(OSError), end:
            end.recv(65_536)
            end.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with accepting(refuse) as address:
        ended = wiretool("fuzz", "offramp", "--target", address, "--runs", "5", "--timeout", "200ms")
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    assert "answers no message" not in ended.stderr


def test_ctrl_c_keeps_the_findings(folder: Path) -> None:
    command = [sys.executable, "-m", "wiretool", "fuzz", *MUTANT, "--time", "60s", "--json", "fuzz.json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    give_up_s = time.monotonic() + 30
    while not list(folder.glob("wiretool-findings/*/test_repro.py")):
        assert time.monotonic() < give_up_s
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert "finding" in stdout
    assert json.loads((folder / "fuzz.json").read_text())["findings"]


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fuzz", "pravga"), "no protocol is called 'pravga' (did you mean pravega?)"),
        (("fuzz", "sbp", "--case", "nomber/kind"), "did you mean number/kind?"),
        (("fuzz", "sbp", "--command", "true"), "--command: requires --target"),
        (("fuzz", "sbp", "--target", "192.0.2.1:10911"), "another machine; --allow-remote 192.0.2.1 allows it"),
        (("fuzz", "sbp", "--target", "127.0.0.1:1", "--sockets"), "--sockets and --target: expected one of them"),
        (("fuzz", "sbp", "--target", "127.0.0.1:1", "--mutant", "x"), "mutants exist only of the built-in mock"),
        (("fuzz", "sbp", "--mutant", "x"), "sbp has no such mutant"),
        (("fuzz", "sbp", "--json", "a", "--junit", "a"), "--junit and --json are both a; give each its own file"),
        (("fuzz", "sbp", "--json", "nowhere/a"), "no such folder: nowhere"),
        (("fuzz", "sbp", "--runs", "0"), "--runs"),
        (("fuzz", "sbp", "--seeds", "nowhere.pcap"), "nowhere.pcap: no such file"),
        (("fuzz", "sbp", "--replay", "nowhere"), "--replay nowhere: no such folder"),
        (("fuzz", "sbp", "--replay", ".", "--json", "q"), "--replay and --json: a finding has its own sequence"),
        (("fuzz", "sbp", "--replay", ".", "--runs", "3"), "--replay and --runs: a finding has its own sequence"),
        (("fuzz", "sbp", "--replay", ""), "the name of a folder"),
    ],
)
def test_wrong_usage_is_one_line(words: tuple[str, ...], message: str) -> None:
    ended = wiretool(*words)
    assert ended.returncode == 2, ended.stderr
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@needs_protocol("offramp")
def test_bad_files_are_reported(folder: Path) -> None:
    (folder / "noise.pcap").write_bytes(b"no capture at all")
    (folder / "known.json").write_text("[]")
    (folder / "broken").mkdir()
    (folder / "other").mkdir()
    (folder / "broken" / "finding.json").write_text('{"version": 1}')
    for words, message in [
        (("--seeds", "noise.pcap"), "noise.pcap"),
        (("--seeds", "known.json"), "known.json: no vectors"),
        (("--seeds", str(CAPTURES / "offramp" / "plain.pcap")), "no connection of sbp with its first bytes"),
        (("--baseline", "known.json"), "known.json: not a baseline"),
        (("--replay", "broken"), "not a finding; expected the keys"),
        (("--replay", "other"), "no finding.json in it"),
    ]:
        ended = wiretool("fuzz", "sbp", *words)
        assert ended.returncode == 3, (words, ended.stderr)
        assert message in ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists() and "CI" not in os.environ, reason="/dev/full is not here")
def test_a_full_disk_is_reported(folder: Path) -> None:
    ended = wiretool("fuzz", "pravega-draft", *FEW, "--json", "/dev/full")
    assert ended.returncode == 74
    assert "No space left on device" in ended.stderr
