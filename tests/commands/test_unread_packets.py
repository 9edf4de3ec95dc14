"""Packets that carry no readable TCP: they are reported, and a capture of nothing else is bad input."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers import forked
from tests.helpers.captures import ethernet, ip, packets_of, pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from wiretool.commands.options import sources_from
from wiretool.errors import UsageError

CAPTURES = Path(__file__).parents[2] / "captures"
UDP = ethernet(ip("10.0.0.1", "10.0.0.2", 17, bytes(20)))
ARP = bytes(12) + b"\x08\x06" + bytes(28)
CUT = UDP[:20]
COMMANDS = (
    ["decode"],
    ["decode", "--format", "ndjson"],
    ["decode", "--engine", "columns"],
    ["decode", "--engine", "columns", "--workers", "2"],
    ["decode", "--engine", "columns", "--workers", "3"],
    ["stats", "--engine", "rows"],
    ["stats", "--engine", "columns"],
)


def write(path: Path, frames: list[bytes], link_type: int = 1) -> Path:
    path.write_bytes(pcap_bytes(packets_of(frames, link_type=link_type), link_type=link_type))
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_capture_without_tcp_is_bad_input(command: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "other.pcap", [UDP, ARP, UDP, CUT, ARP, UDP])
    ended = forked.run(*command, path)
    (line,) = ended.stderr.decode().splitlines()
    assert line.startswith(
        f"wiretool: {path}: 6 of 6 packets not read: 3 UDP, 2 ARP, 1 headers cut short; expected TCP"
    )
    assert (ended.returncode, ended.stdout) == (3, b"")


def test_an_unsupported_link_type_is_bad_input(tmp_path: Path) -> None:
    path = write(tmp_path / "wifi.pcap", [UDP] * 4, link_type=105)
    ended = forked.run("decode", path)
    assert b"4 of 4 packets not read: 4 of unsupported link type 105; expected TCP" in ended.stderr
    assert ended.returncode == 3


def test_slice_of_a_capture_without_tcp_writes_no_file(tmp_path: Path) -> None:
    path = write(tmp_path / "other.pcap", [UDP])
    ended = forked.run("slice", path, "--where", "n > 0", "-o", tmp_path / "out.pcapng")
    assert b"1 of 1 packets not read: 1 UDP" in ended.stderr
    assert (ended.returncode, (tmp_path / "out.pcapng").exists()) == (3, False)


@needs_protocol("offramp")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_packets_beside_tcp_are_counted(command: list[str]) -> None:
    ended = forked.run(*command, CAPTURES / "offramp" / "mixed_noise.pcap")
    assert b"wiretool: 100 of 1,109 packets not read: 50 ICMP, 50 UDP\n" in ended.stderr
    assert ended.returncode == 0


@needs_protocol("offramp")
@pytest.mark.parametrize("options", [[], ["--engine", "columns"], ["--engine", "columns", "--workers", "3"]])
def test_the_ledger_counts_packets(options: list[str], tmp_path: Path) -> None:
    book = tmp_path / "ledger.json"
    forked.run("decode", CAPTURES / "offramp" / "mixed_noise.pcap", "--ledger", book, "-o", tmp_path / "out", *options)
    packets = json.loads(book.read_text())["packets"]
    assert packets["packets"] == packets["tcp"] + sum(packets["not_read"].values()) > 0


def test_tcp_without_payload_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "acks.pcap"
    packets = tcp_packets([("client", b"x")], begin=False, end="")
    path.write_bytes(
        pcap_bytes([packet for packet in packets if len(packet.data) == min(len(p.data) for p in packets)])
    )
    ended = forked.run("decode", path)
    assert ended.returncode == 1
    assert ended.stderr.decode().splitlines() == [
        "wiretool: no frames in 0 connections; 0 bytes",
        f"wiretool: {path}: nothing was read: no payload in 1 TCP connection; expected captures with payload",
    ]


def test_kinds_are_listed_by_their_number() -> None:
    from wiretool.capture.files.packet_counts import PacketCounts

    counts = PacketCounts(
        packets=99, others=Counter({f"IP protocol {n}": n for n in range(90, 98)} | {"IP fragment": 4})
    )
    assert counts.describe_unread().startswith("97 IP protocol 97, 96 IP protocol 96, ")
    assert counts.describe_unread().endswith(", 181 of other kinds")
    assert "IP fragment" not in counts.unread


def test_a_capture_that_may_not_be_read_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "closed.pcap", [UDP])
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may read anything
    with pytest.raises(UsageError, match=r"closed.pcap: permission denied"):
        sources_from([path])
