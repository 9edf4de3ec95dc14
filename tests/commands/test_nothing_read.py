"""Commands that had nothing to read do not succeed, and say which packets there were."""

import subprocess
from pathlib import Path

import pytest

from tests.helpers.captures import Talk, ethernet, ip, packets_of, pcap_bytes, tcp_packets
from tests.helpers.forked import run, text_of
from wiretool.capture.tcp.segments_of_packets import ACK
from wiretool.codec.message import SIDES

READABLE = "expected TCP over IPv4 or IPv6 on Ethernet, Linux cooked capture, loopback or raw IP"
HELLO = bytes.fromhex("ffffff81000000080000001100000005")
COMMANDS = {
    "decode": ["decode"],
    "decode as columns": ["decode", "--engine", "columns"],
    "decode to tables": ["decode", "--format", "parquet", "-o", "tables"],
    "stats": ["stats"],
    "slice": ["slice", "--where", 'kind == "frame"', "-o", "out.pcapng"],
    "replay": ["replay"],
    "replay dry": ["replay", "--dry-run"],
    "diff": ["diff", "good.pcap"],
    "pipeline": ["pipeline", "run", "-o", "lake"],
}


def wiretool(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run wiretool in a folder, without input."""
    ended = run(*arguments, cwd=folder)
    return subprocess.CompletedProcess(ended.args, ended.returncode, text_of(ended.stdout), text_of(ended.stderr))


def handshakes() -> bytes:
    """Return a capture of connections on which nobody sends anything."""
    talk = Talk()
    talk.open()
    talk.close("fin")
    return pcap_bytes(packets_of(talk.frames))


def acknowledgements() -> bytes:
    """Return a capture of two connections of which only empty packets were captured, of both sides."""
    talks = [Talk(client=("10.0.0.1", port)) for port in (1, 2)]
    for talk in talks:
        for side in SIDES:
            talk.send(side, ACK)
    return pcap_bytes(packets_of([frame for talk in talks for frame in talk.frames] * 3))


def datagrams() -> bytes:
    return pcap_bytes(packets_of([ethernet(ip("10.0.0.1", "10.0.0.2", 17, bytes(20)))] * 5))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("content", "code", "why"),
    [
        (pcap_bytes([]), 1, "nothing was read: no packets; expected captures with packets"),
        (handshakes(), 1, "nothing was read: no payload in 1 TCP connection; expected captures with payload"),
        (acknowledgements(), 1, "nothing was read: no payload in 2 TCP connections; expected captures with payload"),
        (datagrams(), 3, f"5 of 5 packets not read: 5 UDP; {READABLE}"),
    ],
    ids=["no packets", "no payload", "no payload or SYN", "no TCP"],
)
def test_nothing_read_is_no_success(tmp_path: Path, command: str, content: bytes, code: int, why: str) -> None:
    (tmp_path / "good.pcap").write_bytes(pcap_bytes(tcp_packets([("client", HELLO)], server=("10.0.0.2", 12345))))
    (tmp_path / "nothing.pcap").write_bytes(content)
    ended = wiretool(*COMMANDS[command], "nothing.pcap", folder=tmp_path)
    assert ended.returncode == code, ended.stderr
    assert why in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["encode"], "nothing was encoded: no messages; expected one JSON object a line"),
        (["encode", "--format", "hex"], "nothing was encoded: no messages; expected one JSON object a line"),
        (
            ["decode", "--hex", "-", "--protocol", "sbp", "--side", "client"],
            "nothing was read: no bytes; expected lines of hex",
        ),
    ],
)
def test_no_input_is_no_success(tmp_path: Path, arguments: list[str], why: str) -> None:
    ended = wiretool(*arguments, folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, f"wiretool: stdin: {why}\n")


@pytest.mark.parametrize("ends", [(), ("--finish",)], ids=["once", "finish"])
def test_a_stream_of_unread_packets_is_no_success(tmp_path: Path, ends: tuple[str, ...]) -> None:
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / "udp.pcap").write_bytes(datagrams())
    words = ("pipeline", "stream", "captures", "-o", "live", "--checkpoint", "seen", "--once", *ends)
    ended = wiretool(*words, folder=tmp_path)
    assert ended.returncode == 3, ended.stderr
    assert "nothing was read: 5 of 5 packets not read: 5 UDP" in ended.stderr


def test_a_stream_of_an_empty_folder_waits_for_captures(tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    words = ("pipeline", "stream", "captures", "-o", "live", "--checkpoint", "seen", "--once")
    assert wiretool(*words, folder=tmp_path).returncode == 0
    assert wiretool(*words, "--finish", folder=tmp_path).returncode == 1
