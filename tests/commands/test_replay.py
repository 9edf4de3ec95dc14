"""`wiretool replay` as users type it: reports, exit codes, files, targets, and everything that is refused."""

import json
import re
import socket
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.servers import started, wiretool
from wiretool.dissect.dissector import read

CAPTURES = Path(__file__).parents[2] / "captures"
WRITE = CAPTURES / "pravega" / "write.pcap"
READ = CAPTURES / "pravega" / "read.pcap"
MGMT = CAPTURES / "pravega" / "mgmt.pcap"
TXN = CAPTURES / "pravega" / "txn.pcap"
PLAIN = CAPTURES / "offramp" / "plain.pcap"
RANGES = CAPTURES / "sbp" / "pd_ranges.pcap"
#: A line of `commands/step_progress.py`.
PROGRESS = re.compile(r"wiretool: (replaying|comparing): [\d,]+( of [\d,]+)? (steps|frames)")


def replay(*arguments: object) -> subprocess.CompletedProcess[str]:
    return wiretool("replay", *map(str, arguments))


def without_progress(told: str) -> list[str]:
    """The lines on stderr, but for those that tell once a second how far a run on a busy machine is."""
    return [line for line in told.splitlines() if not PROGRESS.fullmatch(line)]


@pytest.mark.parametrize("recorded", [READ, PLAIN, RANGES], ids=lambda path: path.stem)
def test_a_recording_replays_against_a_mock(recorded: Path) -> None:
    ended = replay(recorded, "--speed", "max")
    assert ended.returncode == 0, ended.stderr
    assert "no finding" in ended.stdout.splitlines()[0]
    assert without_progress(ended.stderr) == []


@pytest.mark.parametrize(
    ("recorded", "rule", "name", "path", "values"),
    [
        (PLAIN, 'message == "COMMIT_RESPONSE": set success=false', "COMMIT", "success", (True, False)),
        (WRITE, 'message == "DataAppended" nth=3: set request_id=9', "AppendBlockEnd", "request_id", (5, 9)),
    ],
)
def test_one_changed_field_is_the_one_difference(
    recorded: Path, rule: str, name: str, path: str, values: tuple[object, object]
) -> None:
    ended = replay(recorded, "--speed", "max", "--fault", rule, "--format", "ndjson")
    assert ended.returncode == 1
    findings = [each for each in map(json.loads, ended.stdout.splitlines()) if each["verdict"] == "different"]
    (finding,) = findings
    (difference,) = finding["differences"]
    assert finding["request"] == name
    assert difference["path"] == path
    assert (type(difference["recorded"]), difference["live"]) == (type(values[0]), values[1])


def test_the_live_run_and_the_reports_are_written(tmp_path: Path) -> None:
    again, junit, html = tmp_path / "again.pcapng", tmp_path / "replay.xml", tmp_path / "replay.html"
    ended = replay(READ, "--speed", "max", "--record", again, "--junit", junit, "--html", html)
    assert ended.returncode == 0, ended.stderr
    names = [record.message for record in read(again) if record.side == "client"]
    recorded = [record.message for record in read(READ) if record.protocol == "pravega" and record.side == "client"]
    assert [name for name in recorded if name == "ReadTableEntriesDelta"] == [
        name for name in names if name == "ReadTableEntriesDelta"
    ]
    assert ElementTree.parse(junit).getroot().tag in ("testsuites", "testsuite")
    assert html.read_text().lower().startswith("<!doctype html>")


def test_a_plan_says_what_is_prepared_and_exchanged() -> None:
    ended = replay(READ, "--dry-run", "--target", "127.0.0.1:1", "--prepare")
    assert ended.returncode == 0
    assert "CreateSegment" in ended.stdout
    assert "returned by TableEntriesUpdated.updated_versions" in ended.stdout
    assert "pravega-controller is not replayed" in ended.stdout
    assert "give its address with --controller HOST:PORT" in ended.stdout


def test_a_plan_says_which_segments_the_controller_tells_of() -> None:
    ended = replay(READ, "--dry-run")
    assert ended.returncode == 0
    assert "1 createScope" in ended.stdout
    assert "segment name sc/st/0.#epoch.0: returned by getCurrentSegments.segmentRanges[0]" in ended.stdout
    assert "left out" not in ended.stdout


def test_the_controller_is_called_where_it_is_said_to_be(tmp_path: Path) -> None:
    """It, and with another --copy the store beside it; what is refused is a verdict as long as anything is reached."""
    doors = ("--listen", "127.0.0.1:0", "--controller", "127.0.0.1:0", "--wire-version", "17")
    with started(tmp_path, "serve", "pravega", *doors) as server:
        store, controller = (":".join(map(str, server.doors[name])) for name in ("store", "controller"))
        called = replay(MGMT, "--controller", controller, "--speed", "max")
        both = replay(TXN, "--target", store, "--controller", controller, "--prepare", "--speed", "max", "--copy", "1")
        named = replay(TXN, "--target", store, "--target", f"controller={controller}", "--speed", "max", "--copy", "2")
        refused = replay(TXN, "--target", store, "--controller", closed_port(), "--speed", "max", "--copy", "3")
    assert (called.returncode, called.stdout.splitlines()[0]) == (0, "48 exchanges on 1 connection: no finding")
    for ended in (both, named):
        assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "72 exchanges on 10 connections: no finding")
    assert refused.returncode == 1
    assert any("cannot reach" in line for line in refused.stdout.splitlines()[:8])


def test_a_wrong_field_in_a_call_s_answer_is_the_one_difference() -> None:
    ended = replay(
        MGMT, "--speed", "max", "--fault", 'message == "updateStream" and side == "server": set status="FAILURE"'
    )
    assert ended.returncode == 1, ended.stderr
    assert "updateStream.status" in ended.stdout
    assert "1 finding" in ended.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("--controller", "127.0.0.1:1"), 4, "cannot reach 127.0.0.1:1"),
        (
            ("--controller", "10.0.0.1:9090"),
            2,
            "--controller 10.0.0.1:9090: another machine; --allow-remote 10.0.0.1 allows it",
        ),
        (("--target", "127.0.0.1:1"), 2, "give its address with --controller HOST:PORT"),
    ],
)
def test_a_controller_that_is_not_there_or_not_meant(arguments: tuple[str, str], code: int, why: str) -> None:
    ended = replay(MGMT, *arguments, "--speed", "max")
    assert ended.returncode == code
    assert why in ended.stderr


def closed_port() -> str:
    """An address at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"


def test_a_target_of_another_state_answers_the_same(tmp_path: Path) -> None:
    doors = ("--listen", "127.0.0.1:0", "--controller", "127.0.0.1:0", "--wire-version", "17")
    with started(tmp_path, "serve", "pravega", *doors) as server:
        host, port = server.doors["store"]
        first = replay(WRITE, "--target", f"{host}:{port}", "--prepare", "--speed", "max")
        again = replay(WRITE, "--target", f"{host}:{port}", "--prepare", "--speed", "max")
        copies = replay(WRITE, "--target", f"{host}:{port}", "--prepare", "--speed", "max", "--connections", 2)
        assert server.stop() == 0
    for ended in (first, again, copies):
        assert ended.returncode == 0, ended.stdout
        assert without_progress(ended.stderr) == []


def test_two_servers_side_by_side(tmp_path: Path) -> None:
    doors = ("--listen", "127.0.0.1:0", "--controller", "127.0.0.1:0", "--wire-version", "17")
    lie = ("--fault", 'message == "DataAppended" nth=2: set request_id=77')
    with (
        started(tmp_path, "serve", "pravega", *doors, name="one") as one,
        started(tmp_path, "serve", "pravega", *doors, *lie, name="other") as other,
    ):
        targets = [":".join(map(str, server.doors["store"])) for server in (one, other)]
        ended = replay(WRITE, "--target", targets[0], "--against", targets[1], "--prepare", "--speed", "max")
        assert one.stop() == 0
        assert other.stop() == 0
    assert ended.returncode == 1
    assert "as recorded" in ended.stdout
    assert "request_id 77" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "1,002 exchanges; 1 answered differently"


def test_a_server_that_cannot_be_prepared_is_no_success(tmp_path: Path) -> None:
    """The third FETCH of a server is one of the preparation: what follows says little of either server."""
    lie = ("--fault", 'message == "FETCH" and side == "server" nth=3: reset')
    fetch = CAPTURES / "sbp" / "rs_fetch.pcap"
    with (
        started(tmp_path, "serve", "sbp", "--listen", "127.0.0.1:0", name="one") as one,
        started(tmp_path, "serve", "sbp", "--listen", "127.0.0.1:0", *lie, name="other") as other,
    ):
        targets = [":".join(map(str, server.doors["sbp"])) for server in (one, other)]
        alone = replay(fetch, "--target", targets[0], "--prepare", "--speed", "max")
        both = replay(fetch, "--target", targets[0], "--against", targets[1], "--prepare", "--speed", "max")
        assert one.stop() == 0
        assert other.stop() == 0
    assert alone.returncode == 0, alone.stdout
    assert both.returncode == 1
    assert both.stdout.splitlines()[-2:] == [
        "no success: the server could not be prepared",
        f"{targets[1]}: sbp: the preparation is not complete: Connection reset by peer",
    ]


@needs_protocol("offramp")
def test_messages_that_neither_of_two_servers_sends_are_not_compared(tmp_path: Path) -> None:
    with (
        started(tmp_path, "serve", "offramp", "--listen", "127.0.0.1:0", name="one") as one,
        started(tmp_path, "serve", "offramp", "--listen", "127.0.0.1:0", name="other") as other,
    ):
        targets = [":".join(map(str, server.doors["offramp"])) for server in (one, other)]
        ended = replay(PLAIN, "--target", targets[0], "--against", targets[1], "--speed", "max")
        assert one.stop() == 0
        assert other.stop() == 0
    assert ended.returncode == 1
    assert ended.stdout.splitlines() == [
        f"6 of 16 exchanges judged, 10 could not be: {targets[0]} and {targets[1]} answer alike",
        "no success: too few judged (--min-judged 50%)",
    ]


@needs_protocol("offramp")
def test_two_silent_servers_do_not_answer_alike(tmp_path: Path) -> None:
    """The kernel takes their connections; nobody answers on them."""
    grid = tmp_path / "grid"
    grid.write_text("of the last run")
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        hosts = [f"127.0.0.1:{server.getsockname()[1]}" for server in (one, other)]
        options = ("--speed", "max", "--timeout", "0.1", "-o", grid)
        ended = replay(PLAIN, "--target", hosts[0], "--against", hosts[1], *options)
    assert ended.returncode == 4
    line = f"wiretool: neither {hosts[0]} nor {hosts[1]} sends a reply: nothing to compare\n"
    assert (ended.stdout, ended.stderr) == ("", line)
    assert grid.read_text() == "of the last run"


@needs_protocol("offramp")
def test_what_two_runs_say_alike_is_no_noise() -> None:
    ended = replay(
        *(PLAIN, "--speed", "max", "--learn-noise", "--fault", 'message == "COMMIT_RESPONSE": set success=false')
    )
    assert ended.returncode == 1
    assert "COMMIT_RESPONSE.success" in ended.stdout


def test_copies_have_names_of_their_own() -> None:
    ended = replay(CAPTURES / "pravega" / "txn.pcap", "--speed", "max", "--connections", 2, "--repeat", 2)
    assert ended.returncode == 0, ended.stdout
    assert "no finding" in ended.stdout.splitlines()[0]


def test_what_an_earlier_run_left_is_not_met_under_other_names(tmp_path: Path) -> None:
    """A segment that the recording makes cannot be made twice."""
    recorded = CAPTURES / "pravega" / "reconnect.pcap"
    doors = ("--listen", "127.0.0.1:0", "--controller", "127.0.0.1:0", "--wire-version", "17")
    with started(tmp_path, "serve", "pravega", *doors) as server:
        target = ":".join(map(str, server.doors["store"]))
        runs = [
            replay(recorded, "--target", target, "--prepare", "--speed", "max", *copy)
            for copy in ((), (), ("--copy", 2))
        ]
        assert server.stop() == 0
    assert [ended.returncode for ended in runs] == [0, 1, 0]
    assert "SegmentAlreadyExists" in runs[1].stdout
    plan = replay(recorded, "--dry-run", "--copy", 2).stdout
    assert "CreateTableSegment" in plan
    assert "sc/st/0" not in plan


@needs_protocol("offramp")
def test_headers_and_user_are_said(tmp_path: Path) -> None:
    again = tmp_path / "again.pcapng"
    replay(
        *(PLAIN, "--speed", "max", "--record", again, "--user", "me:secret", "--header", "X-Trace: 7"),
    )
    asked = next(record for record in read(again) if record.message == "HandshakeRequest")
    headers = dict(asked.fields.headers)  # type: ignore[union-attr]
    assert headers["X-Trace"] == "7"
    assert headers["Authorization"] == "Basic bWU6c2VjcmV0"


def test_a_token_is_said(tmp_path: Path) -> None:
    again = tmp_path / "again.pcapng"
    replay(WRITE, "--speed", "max", "--record", again, "--token", "a.b.c", "--to", 0.02)
    tokens = {record.fields.delegation_token for record in read(again) if record.message == "SetupAppend"}  # type: ignore[union-attr]
    assert tokens == {"a.b.c"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "no input; expected a capture"),
        ((WRITE, "--speed", "0"), 2, "--speed '0'"),
        ((WRITE, "--target", "nonsense"), 2, "expected HOST:PORT"),
        ((WRITE, "--target", "192.0.2.1:12345"), 2, "--allow-remote 192.0.2.1"),
        ((WRITE, "--target", "127.0.0.1:1"), 4, "cannot reach 127.0.0.1:1"),
        ((WRITE, "--target", "offramp=127.0.0.1:1"), 2, "no address was given for"),
        ((WRITE, "--target", "127.0.0.1:1", "--fault", "message == 'x': drop"), 2, "--fault"),
        ((WRITE, "--where", "nonsense =="), 2, "where"),
        ((WRITE, "--expect", "no.toml"), 2, "no.toml"),
        ((WRITE, "--user", "nobody"), 2, "USER:PASSWORD"),
        ((WRITE, "--user", "me:\udce9"), 2, "--user: not credentials; expected USER:PASSWORD in UTF-8"),
        ((WRITE, "--header", "nothing"), 2, "NAME: VALUE"),
        ((WRITE, "--token", "a\r\nb"), 2, "--token: not printable ASCII; expected printable ASCII"),
        ((WRITE, "--token", "\udce9"), 2, "--token: not printable ASCII; expected printable ASCII"),
        ((CAPTURES / "README.md",), 3, "README.md"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(arguments: tuple[object, ...], code: int, words: str) -> None:
    ended = replay(*arguments)
    assert ended.returncode == code, ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if ": closed: " not in line]
    assert words in line


def test_a_capture_of_nothing_of_ours_is_bad_input(tmp_path: Path) -> None:
    from tests.helpers.captures import pcap_bytes, tcp_packets

    path = tmp_path / "other.pcap"
    says = [("client", b"GET / HTTP/1.0\r\n\r\n"), ("server", b"HTTP/1.0 200 OK\r\n\r\n")]
    path.write_bytes(pcap_bytes(tcp_packets(says, server=("10.0.0.2", 81))))  # type: ignore[arg-type]
    ended = replay(path)
    assert ended.returncode == 3
    assert "no traffic of a known protocol: 1 TCP connection of other protocols" in ended.stderr


@needs_protocol("offramp")
def test_a_silent_server_is_a_finding_and_the_rest_goes_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        ended = replay(PLAIN, "--target", f"127.0.0.1:{port}", "--timeout", "0.2", "--speed", "max")
    assert ended.returncode == 1
    assert "missing" in ended.stdout


@needs_protocol("offramp")
@pytest.mark.parametrize("option", ["--record", "--junit", "--html", "-o"])
def test_a_capture_is_never_overwritten(option: str, tmp_path: Path) -> None:
    own = tmp_path / "own.pcap"
    own.write_bytes(PLAIN.read_bytes())
    ended = replay(own, "--speed", "max", "--format", "text", option, own)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"wiretool: {own} is an input; expected another output\n"
    assert own.read_bytes() == PLAIN.read_bytes()


@needs_protocol("offramp")
def test_two_things_are_not_written_to_one_place(tmp_path: Path) -> None:
    for options in (("--junit", "a", "--html", "a"), ("-o", "a", "--record", "a"), ("--record", "-"), ("--junit", "-")):
        ended = replay(PLAIN, "--speed", "max", *(tmp_path / each if each == "a" else each for each in options))
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "would both be written to" in ended.stderr
    assert not (tmp_path / "a").exists()


@needs_protocol("offramp")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--where", 'message == "GET_STREAMS"'), "nothing to replay: no request matches --where"),
        (("--where", 'message == "COMMITT"'), "no message is called 'COMMITT' (did you mean COMMIT?)"),
        (("--from", "5", "--to", "1"), "--to 1s is not after --from 5s"),
        (("--from", "1000"), "nothing to replay between --from and --to; the recording lasts 0.788679 s"),
        (("--from", "inf"), "--from"),
        (("--from", "nan"), "--from"),
        (("--to", "1e300"), "--to"),
        (("--dry-run", "--junit", "x.xml"), "--junit is not allowed with --dry-run"),
        (("--against", "127.0.0.1:1", "--junit", "x.xml"), "--junit is not allowed with --against"),
        (("--against", "127.0.0.1:1", "--expect", "x.toml"), "--expect is not allowed with --against"),
        (("--against", "127.0.0.1:1", "--format", "json"), "--format is not allowed with --against"),
        (("--target", "http://127.0.0.1:1"), "expected HOST:PORT, got a URL"),
        (("--target", "x=127.0.0.1:1"), "no address was given for offramp"),
    ],
)
def test_what_leaves_nothing_to_do_is_refused(options: tuple[str, ...], words: str) -> None:
    ended = replay(PLAIN, "--speed", "max", *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert words in line


@needs_protocol("offramp")
def test_a_part_that_is_asked_for_is_said_with_what_it_stands_on() -> None:
    ended = replay(PLAIN, "--speed", "max", "--where", 'message == "REQUEST"')
    assert ended.returncode == 0, ended.stdout
    assert "unknown  not all earlier requests of the client are replayed" in ended.stdout


def test_a_target_that_never_answers_is_not_prepared_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        options = ("--target", f"127.0.0.1:{port}", "--prepare", "--timeout", "0.2", "--speed", "max")
        ended = replay(WRITE, *options)
    assert ended.returncode == 1
    assert "the server sends no reply to any of the preparing requests" in ended.stdout
    assert "no answer in time" in ended.stdout
