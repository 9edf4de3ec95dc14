"""`wiretool conform` as its users run it: verdicts, exit codes, files, and every kind of bad target."""

import json
import os
import re
import shlex
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.servers import started, wiretool
from wiretool.conformance.active.reach_probe import CUT_CASES

CAPTURES = Path(__file__).parents[2] / "captures" / "pravega"
SOME = ("--case", "pravega/append/[12]")


@contextmanager
def accepting(act: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that acts on each connection once it is accepted, and keeps it open if that does; its address."""
    accepted: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    accepted.append(server.accept()[0])
                except OSError:
                    return
                act(accepted[-1])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)  # wakes the thread
            thread.join(10)
            for end in accepted:
                end.close()


@contextmanager
def listener(reply: bytes = b"") -> Iterator[str]:
    """A server that accepts, sends the same bytes once it has received some, and never closes."""

    def answer(end: socket.socket) -> None:
        if reply:
            end.recv(65_536)
            end.sendall(reply)

    with accepting(answer) as address:
        yield address


def test_the_built_in_mock_passes() -> None:
    ended = wiretool("conform", "pravega", *SOME)
    assert ended.returncode == 0, ended.stdout
    assert "pravega on built-in mock: 2 cases" in ended.stdout


def test_a_mutant_fails_with_all_that_is_needed_to_see_why() -> None:
    ended = wiretool("conform", "pravega", *SOME, "--mutant", "ack-previous")
    assert ended.returncode == 1
    assert "DataAppended.previous_event_number: expected" in ended.stdout
    assert "requirement: An append is acknowledged" in ended.stdout
    assert "source:      protocols/pravega.md" in ended.stdout
    assert "run alone:   wiretool conform pravega --mutant ack-previous --case pravega/append/1" in ended.stdout


def test_every_report_is_written(tmp_path: Path) -> None:
    names = {"--junit": "a.xml", "--json": "a.json", "--sarif": "a.sarif", "--html": "a.html", "--badge": "a.svg"}
    words = [word for option, name in names.items() for word in (option, str(tmp_path / name))]
    assert wiretool("conform", "pravega", *SOME, *words).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names.values())
    report = json.loads((tmp_path / "a.json").read_text())
    assert report["summary"]["pass"] == 2


def test_a_target_and_its_recording(tmp_path: Path) -> None:
    record = tmp_path / "run.pcapng"
    with started(tmp_path, "serve", "pravega", "--listen", "127.0.0.1:0") as server:
        host, port = server.doors["store"]
        ended = wiretool("conform", "pravega", *SOME, "--target", f"{host}:{port}", "--record", str(record))
        again = wiretool("conform", "pravega", *SOME, "--target", f"{host}:{port}", "--jobs", "4")
    assert ended.returncode == 0, ended.stdout
    assert again.returncode == 0, again.stdout  # names of another run do not collide
    judged = wiretool("conform", "pravega", *SOME, "--capture", str(record), "--format", "json")
    assert judged.returncode == 0, judged.stdout
    assert [case["verdict"] for case in json.loads(judged.stdout)["cases"]] == ["pass", "pass"]


def test_a_reset_is_named_actively_and_in_the_recording(tmp_path: Path) -> None:
    record = tmp_path / "run.pcapng"
    rule = 'message == "DataAppended" and side == "server": reset'
    with started(tmp_path, "serve", "pravega", "--listen", "127.0.0.1:0", "--fault", rule) as server:
        host, port = server.doors["store"]
        words = ("--target", f"{host}:{port}", "--record", str(record), "--format", "json")
        ended = wiretool("conform", "pravega", "--case", "pravega/append/1", *words)
    judged = wiretool("conform", "pravega", "--case", "pravega/append/1", "--capture", str(record), "--format", "json")
    for found in (ended, judged):
        (case,) = json.loads(found.stdout)["cases"]
        assert case["verdict"] == "fail", found.stdout
        assert "the connection was reset by the server; expected DataAppended" in case["why"]


def test_a_served_mutant_is_found_actively_and_in_the_recording(tmp_path: Path) -> None:
    record = tmp_path / "run.pcapng"
    with started(tmp_path, "serve", "pravega", "--listen", "127.0.0.1:0", "--mutant", "ack-previous") as server:
        host, port = server.doors["store"]
        ended = wiretool("conform", "pravega", *SOME, "--target", f"{host}:{port}", "--record", str(record))
    assert ended.returncode == 1
    judged = wiretool("conform", "pravega", *SOME, "--capture", str(record))
    assert judged.returncode == 1
    assert "record" in judged.stdout
    assert "DataAppended.previous_event_number" in judged.stdout


def test_a_target_that_is_not_there() -> None:
    ended = wiretool("conform", "pravega", "--target", "127.0.0.1:1")
    assert ended.returncode == 4
    assert ended.stderr == "wiretool: cannot reach 127.0.0.1:1: Connection refused\n"


def test_a_silent_target_ends_by_timeout_and_deadline() -> None:
    with listener() as address:
        begun = time.monotonic()
        ended = wiretool("conform", "pravega", *SOME, "--target", address, "--timeout", "0.2s")
        assert ended.returncode == 1
        assert "no reply came in time" in ended.stdout
        assert time.monotonic() - begun < 20
        ended = wiretool("conform", "pravega", *SOME, "--target", address, "--timeout", "9s", "--deadline", "0.3s")
        assert ended.returncode == 1
        assert "the run reached its deadline of 0.3 s" in ended.stdout


@contextmanager
def closer(*, has_reset: bool) -> Iterator[str]:
    """A server that closes or resets each connection when it accepts it."""

    def end_it(end: socket.socket) -> None:
        if has_reset:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()

    with accepting(end_it) as address:
        yield address


#: Cases in which nothing but the end of the connection is expected.
BARE = [
    ("pravega", "pravega/conditional/6"),
    ("pravega-draft", "pravega-draft/partial/4"),
    ("sbp", "sbp/frame/15"),
    ("pravega-controller", "pravega-controller/http/13"),
]


@pytest.mark.parametrize(("protocol", "case"), BARE)
def test_the_end_of_a_connection_is_no_evidence_of_a_server_that_answers_nothing(protocol: str, case: str) -> None:
    with closer(has_reset=False) as address:
        ended = wiretool("conform", protocol, "--target", address, "--case", case, "--timeout", "1s")
    assert ended.returncode == 1, ended.stdout
    assert f"error         {case} (must)  the server answers nothing" in ended.stdout


@pytest.mark.parametrize("protocol", ["pravega", "pravega-controller", "pravega-draft", "sbp", "sbp-0.1", "offramp"])
def test_a_target_that_resets_each_connection_was_never_reached(protocol: str) -> None:
    with closer(has_reset=True) as address:
        begun = time.monotonic()
        ended = wiretool("conform", protocol, "--target", address, "--timeout", "1s")
    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr == f"wiretool: cannot reach {address}: Connection reset by peer\n"
    assert time.monotonic() - begun < 20


def test_a_target_that_becomes_unreachable_ends_the_run() -> None:
    ends: list[socket.socket] = []

    def act(end: socket.socket) -> None:
        ends.append(end)
        if len(ends) == 1:
            end.sendall(end.recv(65_536))  # the greeting of the draft is echoed
            return
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()

    with accepting(act) as address:
        words = ("--timeout", "0.5s", "--case", "pravega-draft/append/*", "--format", "json")
        ended = wiretool("conform", "pravega-draft", "--target", address, *words)
    assert ended.returncode == 1, ended.stderr
    report = json.loads(ended.stdout)
    why = f"cannot reach {address}: Connection reset by peer"
    assert report["remarks"] == [f"the target became unreachable and the run ended: {why}"]
    whys = [case["why"] for case in report["cases"]]
    assert whys.count(f"the target became unreachable: {why}") == len(whys) - CUT_CASES
    assert report["seconds"] < 20


def test_the_end_of_a_connection_is_evidence_of_a_server_that_answers(tmp_path: Path) -> None:
    for protocol, case in BARE[:3]:
        folder = tmp_path / protocol
        folder.mkdir()
        with started(folder, "serve", protocol, "--listen", "127.0.0.1:0") as server:
            host, port = next(iter(server.doors.values()))
            ended = wiretool("conform", protocol, "--target", f"{host}:{port}", "--case", case)
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("reply", "seems"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it seems to use HTTP/1.1"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "it seems to use SSH"),
        (b"\0\0\x0c\x04\0\0\0\0\0" + bytes.fromhex("000300000064000400100000"), "it seems to use pravega-controller"),
        (b"220 mail.example ESMTP\r\n", "its first bytes are 32 32 30"),
    ],
)
def test_a_target_of_another_protocol(reply: bytes, seems: str) -> None:
    with listener(reply) as address:
        ended = wiretool("conform", "pravega", "--target", address)
    assert ended.returncode == 3
    assert (
        ended.stderr
        == f"wiretool: {address}: the target does not use pravega; {seems}" + ended.stderr.partition(seems)[2]
    )
    assert ended.stderr.count("\n") == 1


def test_a_server_that_is_started_and_stopped(tmp_path: Path) -> None:
    import sys

    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = f"{sys.executable} -m wiretool serve pravega --listen {address}"
    ended = wiretool("conform", "pravega", *SOME, "--target", address, "--command", command)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(address.split(":"), 1)  # type: ignore[arg-type]


@needs_protocol("offramp")
def test_a_capture_without_the_protocol() -> None:
    ended = wiretool("conform", "pravega", "--capture", "captures/offramp/plain.pcap")
    assert ended.returncode == 3
    assert "no connection of pravega in it; its connections are of offramp" in ended.stderr


@needs_protocol("offramp")
def test_a_capture_without_the_protocol_among_others_is_named() -> None:
    captures = ("captures/offramp/plain.pcap", "captures/pravega/write.pcap")
    ended = wiretool("conform", "pravega", "--capture", *captures)
    assert ended.returncode == 3, ended.stderr
    assert "pravega on captures/offramp/plain.pcap captures/pravega/write.pcap: " in ended.stdout
    assert "captures/offramp/plain.pcap: no connection of pravega in it" in ended.stderr
    assert "write.pcap: no connection" not in ended.stderr


@needs_protocol("offramp")
def test_each_of_several_captures_is_read_once(tmp_path: Path) -> None:
    """A named pipe gives its bytes only once, and is named all the same."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = (CAPTURES.parent / "offramp" / "plain.pcap").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
    writer.start()
    ended = wiretool("conform", "pravega", "--capture", str(CAPTURES / "write.pcap"), str(pipe))
    writer.join(10)
    assert not writer.is_alive()
    assert ended.returncode == 3, ended.stderr
    assert f"{pipe}: no connection of pravega in it" in ended.stderr
    assert "write.pcap: no connection" not in ended.stderr


def test_a_capture_that_shows_no_case_is_no_success() -> None:
    ended = wiretool("conform", "pravega", *SOME, "--capture", "captures/pravega/java_write_sync.pcap")
    assert ended.returncode == 1
    assert "2 not-exercised" in ended.stdout


def test_a_client_that_never_connects_is_no_success() -> None:
    ended = wiretool("conform", "pravega", "--client", "--", "sh", "-c", "echo no server at all; exit 7")
    assert ended.returncode == 1
    assert (
        "the client sent no pravega to the server, as it never connected, and ended with exit code 7: no server at all"
        in ended.stdout
    )


#: Connects, and sends what its argument names.
PEER = """
import os, socket, sys
host, _, port = os.environ["WIRETOOL_ADDRESS"].rpartition(":")
socket.create_connection((host, int(port))).sendall(sys.argv[1].encode())
"""


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("", "the client sent no sbp to the server, as it connected and sent nothing, and ended with exit code 0"),
        ("nonsense!!" * 14, "the client sent 140 bytes that are not sbp; the first are 6e 6f 6e 73 65 6e 73 65 21 21"),
    ],
)
def test_a_client_that_sends_nothing_or_nonsense(sent: str, words: str) -> None:
    case = ("--case", "sbp/client/*", "--format", "text")
    ended = wiretool("conform", "sbp", *case, "--client", "--", sys.executable, "-c", PEER, sent)
    assert ended.returncode == 1
    assert words in ended.stdout
    assert ("fail" in ended.stdout) is bool(sent)


def test_a_comparison(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    wiretool("conform", "pravega", *SOME, "--json", str(good))
    wiretool("conform", "pravega", *SOME, "--mutant", "ack-previous", "--json", str(bad))
    ended = wiretool("conform", "compare", str(good), str(bad), "--html", str(tmp_path / "matrix.html"))
    assert ended.returncode == 1
    assert "pravega/append/1: pass -> fail" in ended.stdout
    assert (tmp_path / "matrix.html").read_text().count("<th>") == 4
    assert wiretool("conform", "compare", str(bad), str(good)).returncode == 0


def test_a_comparison_of_several_reports(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    wiretool("conform", "pravega", *SOME, "--json", str(good))
    wiretool("conform", "pravega", *SOME, "--mutant", "ack-previous", "--json", str(bad))
    page = tmp_path / "matrix.html"
    ended = wiretool("conform", "compare", str(good), str(good), str(bad), "--html", str(page))
    assert ended.returncode == 1
    assert f"{good} -> {good}:\n0 of 2 cases changed\n{good} -> {bad}:\n" in ended.stdout
    assert "pravega/append/1: pass -> fail" in ended.stdout
    assert f"<th>built-in mock ({bad})" in page.read_text()
    assert wiretool("conform", "compare", str(bad), str(good), str(good), "--html", str(page)).returncode == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ("--case", "pravega/apend/1"),
            r"--case pravega/apend/1: no case has such an id (did you mean pravega/append/1",
        ),
        (("--level", "most"), "--level most: expected must, should or observed (did you mean must?)"),
        (("--mutant", "ack-prev"), "--mutant ack-prev: pravega has no such mutant (did you mean ack-previous?)"),
        (
            ("--target", "example.com:1"),
            "--target example.com:1: another machine; --allow-remote example.com allows it",
        ),
        (
            ("--target", "contoller=127.0.0.1:1"),
            "unknown endpoint 'contoller' (did you mean controller?); expected store or controller",
        ),
        (("--command", "x"), "--command: requires --target, the address of the server"),
        (("--command", " ", "--target", "127.0.0.1:1"), "--command: expected a program and its arguments"),
        (("--command", ""), "--command: expected a program and its arguments, got an empty text"),
        (("--controller", ""), "--controller: expected HOST:PORT, got an empty text"),
        (("--mutant", ""), "--mutant: expected the name of a mutant, got an empty text"),
        (("--case", "pravega/hello/1", "--case", "!pravega/hello/1"), "!pravega/hello/1: no case is selected"),
        (("--client", "--capture", "x"), "--client and --capture: expected one of them"),
        (("--client",), "--client: expected a command after --"),
        (("--capture",), "--capture: expected capture files"),
        (("--format", "yaml"), "--format yaml: expected text or json"),
        (("x.pcap",), "x.pcap: expected --capture before captures, --client -- before a command"),
        (
            ("--json", "same", "--html", "./same"),
            "--json and --html would both be written to same; give each its own file",
        ),
    ],
)
def test_wrong_usage(words: tuple[str, ...], why: str) -> None:
    ended = wiretool("conform", "pravega", *words)
    assert ended.returncode == 2
    assert why in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_help_of_compare_is_its_own(option: str) -> None:
    ended = wiretool("conform", "compare", option)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("Usage: wiretool conform compare [OPTIONS] ")
    assert "--html" in ended.stdout
    assert "--target" not in ended.stdout
    assert "--target" in wiretool("conform", option).stdout


def test_options_of_conform_mean_nothing_to_compare() -> None:
    ended = wiretool("conform", "compare", "a.json", "b.json", "--target", "127.0.0.1:1")
    assert ended.returncode == 2
    assert "--target" in ended.stderr


def test_the_list() -> None:
    listed = wiretool("conform", "pravega", *SOME, "--list", "--format", "json")
    assert [row["id"] for row in json.loads(listed.stdout)] == ["pravega/append/1", "pravega/append/2"]


def test_the_list_names_the_setup_that_a_case_requires() -> None:
    words = ("conform", "pravega", "--case", "pravega/hello/1", "--case", "pravega/admin/1", "--list")
    usual, admin = wiretool(*words).stdout.splitlines()
    assert "(setup" not in usual
    assert admin.endswith("(setup admin)")
    rows = json.loads(wiretool(*words, "--format", "json").stdout)
    assert [row["setup"] for row in rows] == ["", "admin"]


def test_a_case_of_another_door_requires_its_address(tmp_path: Path) -> None:
    doors = ("--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
    with started(tmp_path, "serve", "pravega", *doors) as server:
        store, admin = ("{}:{}".format(*server.doors[door]) for door in ("store", "admin"))
        words = ("conform", "pravega", "--target", store, "--setup", "admin", "--case", "pravega/admin/*")
        without = wiretool(*words, "--format", "json")
        with_it = wiretool(*words, "--target", f"admin={admin}", "--format", "json")
    report = json.loads(without.stdout)
    assert report["setup"] == "admin"
    assert report["summary"]["not-exercised"] == len(report["cases"])
    assert report["cases"][0]["why"] == "requires the address of the endpoint admin; --target admin=HOST:PORT names it"
    assert with_it.returncode == 0, with_it.stderr
    assert json.loads(with_it.stdout)["summary"]["pass"] == len(report["cases"])


def test_a_server_that_never_listens_ends_the_run_by_its_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        target = f"127.0.0.1:{taken.getsockname()[1]}"
    command = ("--command", "sleep 100", "--deadline", "0.3s")
    ended = wiretool("conform", "pravega", *SOME, "--target", target, *command)
    assert ended.returncode == 4
    why = f"the server did not accept connections at {target} within 0.3 s; --deadline TIME gives it up to 60 s"
    assert ended.stderr == f"wiretool: {why}\n"


def test_a_server_has_ten_seconds_to_listen_where_no_deadline_is_given() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        target = f"127.0.0.1:{taken.getsockname()[1]}"
    ended = wiretool("conform", "pravega", *SOME, "--target", target, "--command", "sleep 100")
    why = f"the server did not accept connections at {target} within 10 s; --deadline TIME gives it up to 60 s"
    assert (ended.returncode, ended.stderr) == (4, f"wiretool: {why}\n")


#: A server that ends at its fourth request, after the time of its argument, and at once when it is started again.
ENDING = """
import pathlib, socket, sys, time
host, port, mark, late = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3]), float(sys.argv[4])
if mark.exists():
    sys.exit(5)
listener, requests = socket.create_server((host, port)), 0
while requests < 4:
    end, _ = listener.accept()
    requests += bool(end.recv(10))
mark.touch()
listener.close()
time.sleep(late)
sys.exit(3)
"""


@pytest.mark.parametrize("late_s", ["0", "0.4"])
def test_a_server_that_cannot_be_started_again_ends_the_run(late_s: str, tmp_path: Path) -> None:
    """A server may have closed its port some time before it ends."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        host, port = taken.getsockname()
    command = shlex.join([sys.executable, "-c", ENDING, host, str(port), str(tmp_path / "mark"), late_s])
    words = ("--target", f"{host}:{port}", "--command", command, "--timeout", "0.5s", "--format", "json")
    report = json.loads(wiretool("conform", "sbp", "--case", "sbp/frame/*", *words).stdout)
    why = f"the server ended with exit code 5 before it accepted connections at {host}:{port}"
    assert f"the target became unreachable and the run ended: {why}" in report["remarks"]
    whys = [case["why"] for case in report["cases"]]
    assert whys[-1] == f"the target became unreachable: {why}"
    assert sum("Connection refused" in each for each in whys) <= CUT_CASES


#: A server that ends as soon as a client connects after the check that it listens, and what it does first.
GREETED = """
import os, pathlib, socket, sys, time
host, port, mark, how, late = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4], float(sys.argv[5])
if mark.exists() and how == "once":
    sys.exit(5)
mark.touch()
listener = socket.create_server((host, port))
end, _ = listener.accept()
end.close()
listener.settimeout(20)
end, _ = listener.accept()
end.recv(1)
end.close()  # unread bytes: a reset
listener.close()
time.sleep(late)
os.kill(os.getpid(), 9) if how == "kill" else sys.exit(3)
"""


@pytest.mark.parametrize("late_s", ["0", "0.3"])
@pytest.mark.parametrize(("how", "words"), [("exit", "ended with exit code 3"), ("kill", "was ended by SIGKILL")])
def test_a_server_that_ends_during_the_greeting_is_named(how: str, words: str, late_s: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        host, port = taken.getsockname()
    command = shlex.join([sys.executable, "-c", GREETED, host, str(port), str(tmp_path / "mark"), how, late_s])
    options = ("--target", f"{host}:{port}", "--command", command, "--timeout", "0.5s", "--format", "json")
    ended = wiretool("conform", "sbp", "--case", "sbp/frame/1", *options)
    report = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert f"the server {words} during the greeting" in report["remarks"]
    assert f"the server {words} during this case" in [case["why"] for case in report["cases"]]


def test_a_server_that_ends_during_the_greeting_for_good_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        host, port = taken.getsockname()
    command = shlex.join([sys.executable, "-c", GREETED, host, str(port), str(tmp_path / "mark"), "once", "0.3"])
    options = ("--target", f"{host}:{port}", "--command", command, "--timeout", "0.5s")
    ended = wiretool("conform", "sbp", "--case", "sbp/frame/1", *options)
    assert ended.returncode == 4
    lines = ended.stderr.splitlines()
    assert lines[-1].startswith("wiretool: the server ended with exit code 3 during the greeting; it cannot be started")
    assert "ended with exit code 5 before it accepted connections" in lines[-1]


def test_an_interrupted_run_of_a_client_has_a_remark(tmp_path: Path) -> None:
    report, begun = tmp_path / "report.json", tmp_path / "begun"
    client = ("--client", "--", "sh", "-c", f"touch {shlex.quote(str(begun))}; exec sleep 60")
    words = ("conform", "sbp", "--json", str(report), *client)
    running = subprocess.Popen([sys.executable, "-m", "wiretool", *words], stdout=subprocess.PIPE)
    while not begun.exists() and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    shown = output.decode()
    assert shown.count("SIGINT stopped the run before its end") == 1
    assert shown.splitlines()[-1].endswith("; SIGINT stopped the run before its end")
    written = json.loads(report.read_text())
    assert written["is_success"] is False
    assert "SIGINT stopped the run before its end" in written["remarks"]
    assert not any("did not end in time" in remark for remark in written["remarks"])


def test_an_interrupted_run_blames_no_server(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "{}:{}".format(*silent.getsockname())
        words = ("conform", "pravega", "--target", address, "--timeout", "20s", "--json", str(report))
        running = subprocess.Popen([sys.executable, "-m", "wiretool", *words], stdout=subprocess.PIPE)
        greeted, _ = silent.accept()
        case, _ = silent.accept()
        with greeted, case:
            case.recv(1)
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)
    assert running.returncode == 130
    written = json.loads(report.read_text())
    assert {case["verdict"] for case in written["cases"]} == {"error", "not-exercised"}
    assert written["remarks"] == ["SIGINT stopped the run before its end"]


def test_cases_that_were_not_run_are_counted_and_a_mute_target_is_reported(tmp_path: Path) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mute) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        words = ("conform", "sbp", "--target", address, "--timeout", "0.1s", "--deadline", "60s")
        command = [sys.executable, "-m", "wiretool", *words]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert running.stderr is not None
        first = running.stderr.readline()
        running.send_signal(signal.SIGINT)
        shown, _ = running.communicate(timeout=60)
        server.shutdown()
    assert first == "wiretool: the target accepts connections, and has sent no reply so far\n"
    assert running.returncode == 130
    assert re.search(r"^\d+ cases not run: the run was stopped before$", shown, re.MULTILINE)
    assert "the run was stopped before it\n" not in shown


class Mute(socketserver.BaseRequestHandler):
    """Receives, and sends nothing."""

    def handle(self) -> None:
        while self.request.recv(4096):
            pass


@needs_protocol("offramp")
@pytest.mark.parametrize("connections", [1, 2], ids=["greeting", "probes of the setup"])
def test_a_run_that_is_interrupted_before_its_cases_ends_at_once(connections: int, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "{}:{}".format(*silent.getsockname())
        words = ("conform", "offramp", "--target", address, "--timeout", "100s", "--json", str(report))
        running = subprocess.Popen([sys.executable, "-m", "wiretool", *words], stderr=subprocess.PIPE, text=True)
        ends = [silent.accept()[0] for _ in range(connections)]
        ends[-1].recv(1)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
        for end in ends:
            end.close()
    assert running.returncode == 130
    assert errors.splitlines()[-1] == "wiretool: stopped by Ctrl-C"
    written = json.loads(report.read_text())
    assert {case["why"] for case in written["cases"]} == {"the run was stopped before it"}
    assert written["remarks"] == ["SIGINT stopped the run before its end"]


@needs_protocol("offramp")
def test_the_deadline_includes_the_probes_of_the_setup() -> None:
    with listener() as address:
        begun = time.monotonic()
        words = ("--target", address, "--timeout", "100s", "--deadline", "0.5s", "--format", "json")
        ended = wiretool("conform", "offramp", *words)
    assert ended.returncode == 1, ended.stderr
    whys = {case["why"] for case in json.loads(ended.stdout)["cases"] if case["verdict"] == "error"}
    assert whys == {"the run reached its deadline of 0.5 s"}
    assert time.monotonic() - begun < 40


def test_a_run_that_never_starts_leaves_the_file_of_a_recording_alone(tmp_path: Path) -> None:
    old, new = tmp_path / "old.pcapng", tmp_path / "new.pcapng"
    old.write_text("kept")
    for path in (old, new):
        words = ("--target", "127.0.0.1:1", "--record", str(path))
        assert wiretool("conform", "pravega", *SOME, *words).returncode == 4
    assert old.read_text() == "kept"
    assert not new.exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--deadline", "1s", "--mutants"), "--deadline and --mutants: only a run against a server or client"),
        (("--junit", "no/such/folder/x.xml"), "--junit no/such/folder/x.xml: no such folder"),
        (("--client", "--", "python", "client.py", "{adress}"), "no placeholder {adress} (did you mean address?)"),
    ],
)
def test_what_cannot_work_is_refused_before_the_run(words: tuple[str, ...], problem: str) -> None:
    ended = wiretool("conform", "pravega", *words)
    assert ended.returncode == 2
    assert problem in ended.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--command", "server", "--target", "127.0.0.1:1", "--jobs", "2"), "--command and --jobs: "),
        (("--mutants", "--list"), "--list and --mutants: expected one of them"),
        (("--client", "--record", "x.pcapng", "--", "true"), "--record and --client: "),
    ],
)
def test_options_that_exclude_each_other(words: tuple[str, ...], problem: str) -> None:
    ended = wiretool("conform", "pravega", *words)
    assert ended.returncode == 2
    assert problem in ended.stderr


def test_a_failed_case_names_the_whole_command_that_runs_it_alone() -> None:
    ended = wiretool("conform", "pravega", *SOME, "--mutant", "ack-previous", "--seed", "7")
    line = next(line for line in ended.stdout.splitlines() if "run alone:" in line)
    words = shlex.split(line.partition("run alone:")[2])
    assert words[:2] == ["wiretool", "conform"]
    again = wiretool(*words[1:])
    assert again.returncode == 1
    assert "1 case in" in again.stdout


SERVER = """
import os, socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        end, _ = server.accept()
        if end.recv(10):
            os._exit(3)
"""


def test_a_server_that_ends_during_a_case_is_started_again_and_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = shlex.join([sys.executable, "-c", SERVER, str(port)])
    target = ("--target", f"127.0.0.1:{port}", "--timeout", "2s")
    ended = wiretool("conform", "sbp", "--case", "sbp/frame/[12]", *target, "--command", command)
    assert ended.returncode in (1, 3), ended.stderr
    assert "the server ended with exit code 3" in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("change", "code", "problem"),
    [
        (lambda data: data[:24], 1, "nothing was read: no packets"),
        (lambda data: data[:20] + b"\x93" + data[21:], 3, "2,036 of 2,036 packets not read"),
    ],
)
def test_a_capture_of_which_nothing_is_read(
    change: Callable[[bytes], bytes], code: int, problem: str, tmp_path: Path
) -> None:
    capture = tmp_path / "changed.pcap"
    capture.write_bytes(change((CAPTURES / "write.pcap").read_bytes()))
    ended = wiretool("conform", "pravega", "--capture", str(capture))
    assert (ended.returncode, ended.stdout) == (code, "")
    assert problem in ended.stderr


def test_a_capture_in_the_place_of_the_protocol() -> None:
    ended = wiretool("conform", "--capture", "x.pcap")
    assert ended.returncode == 2
    why = "PROTOCOL is missing before x.pcap; expected it first, as in `conform sbp --capture x.pcap`"
    assert ended.stderr == f"wiretool: {why}\n"
