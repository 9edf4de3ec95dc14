"""`wiretool replay` and `diff` without evidence: a capture of one direction, a cut one, or nothing to compare."""

import json
import socketserver
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.helpers.captures import pcap_bytes, sent_by
from tests.helpers.servers import started, wiretool
from tests.replay.talks import alive, appending, packets, reading, setting_up, talk
from wiretool.capture.files.reading import read_packets
from wiretool.capture.tcp.stream_events import Side

CAPTURES = Path(__file__).parents[2] / "captures"
WRITE = CAPTURES / "pravega" / "write.pcap"
TXN = CAPTURES / "pravega" / "txn.pcap"
PORTS = (12345, 9090)
UNHEARD = "nothing that the server sent on the connection is in the recording"


def run(*arguments: object) -> tuple[int, list[str], str]:
    """Exit code, lines of stdout, and stderr."""
    ended = wiretool(*map(str, arguments))
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stdout.splitlines(), ended.stderr


def one_direction(tmp_path: Path, side: Side) -> Path:
    path = tmp_path / f"{side}.pcap"
    path.write_bytes(pcap_bytes(sent_by(side, read_packets([WRITE]), PORTS)))
    return path


def cut(tmp_path: Path, size: int) -> Path:
    path = tmp_path / "cut.pcap"
    path.write_bytes(WRITE.read_bytes()[:size])
    return path


def test_the_client_s_direction_alone_proves_nothing(tmp_path: Path) -> None:
    code, lines, _ = run("replay", one_direction(tmp_path, "client"), "--speed", "max", "--format", "ndjson")
    *rows, summary = map(json.loads, lines)
    assert code == 1
    assert len(rows) >= 1006
    assert {row["verdict"] for row in rows} == {"unknown"}
    assert all(any(UNHEARD in why for why in row["reasons"]) for row in rows)
    assert (summary["judged"], summary["is_success"]) == (0, False)
    assert summary["result"] == "nothing could be judged"


def test_a_server_that_closes_early_is_reported_though_nothing_of_the_recorded_one_is_known(tmp_path: Path) -> None:
    close = ("--fault", 'message == "AppendBlockEnd" nth=3: reset')
    code, lines, _ = run("replay", one_direction(tmp_path, "client"), "--speed", "max", *close)
    assert code == 1
    assert any("requests unanswered" in line for line in lines)


def test_a_server_that_leaves_out_every_third_reply_is_not_waited_for_without_bound() -> None:
    """All waits in vain take six times the timeout; the missing replies are findings, the rest is not judged."""
    drop = ("--fault", 'message == "DataAppended" every=3: drop', "--timeout", "200ms", "--format", "ndjson")
    begin_s = time.monotonic()
    code, lines, _ = run("replay", WRITE, "--speed", "max", *drop)
    *rows, summary = map(json.loads, lines)
    assert code == 1
    assert time.monotonic() - begin_s < 30  # 333 waits took 67 s
    assert summary["findings"] == 6
    assert "6 times --timeout" in summary["remarks"][0]
    assert {row["verdict"] for row in rows[60:]} == {"unknown"}


@pytest.mark.parametrize("side", ["client", "server"])
def test_one_direction_beside_the_whole_is_no_success(tmp_path: Path, side: Side) -> None:
    code, lines, _ = run("diff", WRITE, one_direction(tmp_path, side))
    assert code == 1
    assert lines[0].endswith("could not be: nothing could be judged")


@pytest.mark.parametrize("side", ["client", "server"])
def test_one_direction_beside_itself_is_no_success(tmp_path: Path, side: Side) -> None:
    """Equal messages in two captures of one direction prove nothing about a server, or a client."""
    half = one_direction(tmp_path, side)
    code, lines, _ = run("diff", half, half, "--format", "ndjson")
    *rows, summary = map(json.loads, lines)
    assert code == 1
    assert {row["verdict"] for row in rows} == {"unknown"}
    other = "server" if side == "client" else "client"
    assert f"A has nothing that the {other} of this conversation sent" in rows[0]["reasons"]
    assert (summary["judged"], summary["result"]) == (0, "nothing could be judged")


def test_what_differs_in_captures_of_one_direction_is_a_finding(tmp_path: Path) -> None:
    code, lines, _ = run("diff", one_direction(tmp_path, "client"), WRITE.with_name("read.pcap"))
    assert code == 1
    assert "finding" in lines[0]


def first_ten(tmp_path: Path) -> Path:
    path = tmp_path / "ten.pcap"
    path.write_bytes(pcap_bytes(list(read_packets([WRITE]))[:10]))
    return path


def test_a_missing_connection_counts_with_all_its_exchanges(tmp_path: Path) -> None:
    code, lines, _ = run("diff", WRITE, first_ten(tmp_path))
    assert code == 1
    assert lines[0] == "1,006 exchanges on 2 connections: 5 findings"


def test_rows_of_the_second_capture_have_its_records_and_a_reason(tmp_path: Path) -> None:
    """They are no exchanges of the first one."""
    code, lines, _ = run("diff", first_ten(tmp_path), WRITE, "--format", "ndjson")
    *rows, summary = map(json.loads, lines)
    assert code == 1
    assert (summary["exchanges"], summary["further"], summary["findings"]) == (0, 1006, 5)
    for row in rows:
        assert row["n"] is row["packets"] is None
        assert row["live_n"] > 0
        assert row["live_packets"][0] <= row["live_packets"][1]
        assert row["reasons"]
    assert [row.get("exchanges", 1) for row in rows] == [1, 1, 1, 1, 1002]


@pytest.mark.parametrize(("form", "words"), [("text", "0 of 1,00"), ("json", '"judged":0'), ("html", "0 of 1,00")])
def test_each_report_says_that_nothing_could_be_judged(tmp_path: Path, form: str, words: str) -> None:
    report, page, cases = tmp_path / "report", tmp_path / "page.html", tmp_path / "junit.xml"
    options = ("--html", page, "--junit", cases)
    shown = () if form == "html" else ("--format", form, "-o", report)
    assert run("replay", one_direction(tmp_path, "client"), "--speed", "max", *options, *shown)[0] == 1
    text = (page if form == "html" else report).read_text()
    assert words in text
    assert "nothing could be judged" in text
    suite = ElementTree.parse(cases).getroot()[0]
    failure = suite.find("testcase[@classname='coverage']/failure")
    assert failure is not None
    assert "nothing could be judged" in (failure.get("message") or "")
    assert suite.get("failures") == "1"


@pytest.mark.parametrize("size", [2_000, 200_000])
def test_a_cut_capture_is_bad_input_and_what_is_left_of_it_is_reported(tmp_path: Path, size: int) -> None:
    path = cut(tmp_path, size)
    decoded = run("decode", path, "-o", tmp_path / "text")
    for command in (["replay", path, "--speed", "max"], ["diff", WRITE, path], ["diff", path, WRITE]):
        code, lines, errors = run(*command)
        assert (code, decoded[0]) == (3, 3)
        assert lines[0].split()[1] in ("exchanges", "of")
        assert any("only the part before that is used" in line for line in lines)
        assert errors.splitlines()[-1] == decoded[2].splitlines()[-1]


def test_a_part_before_the_cut_is_sound(tmp_path: Path) -> None:
    code, lines, _ = run("replay", cut(tmp_path, 200_000), "--speed", "max", "--to", "0.03")
    assert (code, "no finding" in lines[0]) == (0, True)


def test_a_recording_in_which_nobody_says_anything_is_no_success(tmp_path: Path) -> None:
    path = tmp_path / "silent.pcap"
    path.write_bytes(pcap_bytes(packets([("client", b"\0\0\0")], talk(alive())[:1])))
    code, lines, _ = run("diff", path, path, "--protocol", "pravega")
    assert (code, lines[0]) == (0, "1 exchange on 1 connection: no finding")
    path.write_bytes(pcap_bytes(packets([("client", b"\0\0\0")])))
    for command in (["diff", path, path], ["replay", path]):
        code, lines, _ = run(*command, "--protocol", "pravega")
        assert (code, lines[0]) == (1, "0 exchanges on 0 connections: nothing was compared")


def test_the_share_that_must_be_judged_can_be_chosen(tmp_path: Path) -> None:
    """Of the second connection, one of the captures has the client's packets only."""
    one, other = tmp_path / "one.pcap", tmp_path / "other.pcap"
    whole = packets(talk(reading(), reading(offset=9)), talk(setting_up(), appending()))
    one.write_bytes(pcap_bytes(whole))
    sent = {packet.number for packet in sent_by("client", whole, (12345,))}
    first = {packet.number for packet in whole if packet.number not in sent and packet.number < whole[-1].number / 2}
    other.write_bytes(pcap_bytes([packet for packet in whole if packet.number in sent | first]))
    code, lines, _ = run("diff", one, other, "--format", "ndjson")
    summary = json.loads(lines[-1])
    share = summary["judged"] / summary["exchanges"]
    assert 0 < share < 1
    for option, expected in ((f"{share - 0.01:.2f}", 0), (f"{100 * share + 1:.0f}%", 1), ("0%", 0), ("100%", 1)):
        code, lines, _ = run("diff", one, other, "--min-judged", option)
        assert (code, "too few judged" in lines[0]) == (expected, bool(expected))


@pytest.mark.parametrize("text", ["", "half", "-1%", "101%", "2", "50%x", "nan"])
@pytest.mark.parametrize("command", [["replay", WRITE], ["diff", WRITE, WRITE]])
def test_no_share_is_refused(command: Sequence[object], text: str) -> None:
    code, lines, errors = run(*command, "--min-judged", text)
    assert (code, lines) == (2, [])
    why = "not a share; expected a percentage such as 5%, or a share such as 0.05"
    if text in ("101%", "2"):
        why = f"out of range; expected {'0% to 100%' if '%' in text else '0 to 1'}"
    assert errors == f"wiretool: --min-judged {text!r}: {why}\n"


def test_two_servers_are_not_alike_where_nothing_can_be_judged(tmp_path: Path) -> None:
    doors = ("--listen", "127.0.0.1:0", "--controller", "127.0.0.1:0", "--wire-version", "17")
    with (
        started(tmp_path, "serve", "pravega", *doors, name="one") as one,
        started(tmp_path, "serve", "pravega", *doors, name="other") as other,
    ):
        hosts = [":".join(map(str, server.doors["store"])) for server in (one, other)]
        options = ("--target", hosts[0], "--against", hosts[1], "--prepare", "--speed", "max")
        code, lines, _ = run("replay", one_direction(tmp_path, "client"), *options)
        whole = run("replay", TXN, *options)
    assert code == 1
    assert lines[-1] == "no success: nothing could be judged (--min-judged 50%)"
    assert whole[:2] == (0, [f"45 exchanges: {hosts[0]} and {hosts[1]} answer alike"])


def test_what_depends_on_a_setup_follows_its_slow_answer_though_the_recording_has_none(tmp_path: Path) -> None:
    """The store closes the connection of a writer that appends before its setup is answered."""
    recorded = tmp_path / "live.pcap"
    options = ("--speed", "max", "--record", recorded, "--fault", 'message == "AppendSetup": stall 700ms')
    code, lines, _ = run("replay", one_direction(tmp_path, "client"), *options)
    assert (code, lines[0].endswith("nothing could be judged")) == (1, True)
    _, decoded, _ = run("decode", recorded, "--format", "ndjson", "--protocol", "pravega")
    messages = [json.loads(line).get("message") for line in decoded]
    assert messages.count("AppendBlockEnd") == 1000
    assert "DataAppended" in messages[messages.index("AppendSetup") :]
    assert "AppendBlockEnd" not in messages[: messages.index("AppendSetup")]


def test_a_server_that_breaks_in_one_of_two_runs_teaches_no_noise() -> None:
    """The rule counts on from the first run to the second."""
    code, lines, _ = run(
        *("replay", TXN, "--speed", "max", "--learn-noise", "--fault", 'message == "SegmentCreated" nth=1: drop'),
        *("--timeout", "0.2"),
    )
    assert code == 1
    assert "finding" in lines[0]


@pytest.mark.parametrize(
    "name",
    [
        "pravega/read.pcap",
        "pravega/write.pcap",
        "pravega/reconnect.pcap",
        "offramp/plain.pcap",
        "offramp/payloads_intl.pcap",
        "sbp/pd_ranges.pcap",
        "sbp/rs_fetch.pcap",
    ],
)
def test_what_is_not_the_same_says_what_differs_and_why(name: str) -> None:
    code, lines, _ = run("replay", CAPTURES / name, "--speed", "max", "--format", "ndjson")
    assert code == 0
    rows = [row for row in map(json.loads, lines[:-1]) if row["verdict"] != "same"]
    assert rows
    for row in rows:
        assert row["reasons"], row
        assert row["verdict"] == "unknown" or row["differences"], row
        for difference in row["differences"]:
            assert difference["verdict"] in ("mapped", "noise", "explained", "unknown")
            assert difference["why"] in row["reasons"]
            assert difference.get("recorded") != difference.get("live")


def test_a_connection_that_ends_otherwise_is_a_difference_of_its_end() -> None:
    _, lines, _ = run("replay", CAPTURES / "pravega/reconnect.pcap", "--speed", "max", "--format", "ndjson")
    [end] = [row for row in map(json.loads, lines[:-1]) if row["request"] is None]
    [why] = end["reasons"]
    assert why.startswith("the recorded server ended the connection by itself")
    told = {"message": "end", "path": "", "recorded": "closed", "live": "open", "verdict": "explained", "why": why}
    assert end["differences"] == [told]


def test_a_capture_that_is_given_twice_is_replayed_once_and_reported() -> None:
    capture = CAPTURES / "sbp" / "pd_ranges.pcap"
    code, lines, err = run("replay", capture, capture, "--speed", "max")
    _, alone, quiet = run("replay", capture, "--speed", "max")
    assert (code, lines[0]) == (0, alone[0])
    assert "bytes repeat bytes captured before, and are replayed once" in err
    assert "repeat" not in quiet


@pytest.mark.parametrize("reply", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"<!DOCTYPE HTML>\n<html>Bad request</html>"])
def test_a_server_of_another_protocol_is_named(reply: bytes) -> None:
    class BadRequest(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(16)
            self.request.sendall(reply)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), BadRequest) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = f"127.0.0.1:{server.server_address[1]}"
        options = ("--target", host, "--speed", "max", "--timeout", "1")
        code, lines, _ = run("replay", CAPTURES / "sbp" / "rs_fetch.pcap", *options)
        server.shutdown()
    assert code == 1
    assert "sbp: the server uses HTTP" in lines[:10]
    assert any(line.endswith("; this is HTTP") for line in lines)
    assert not any(line.lstrip().startswith("explained") for line in lines)
