import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.tools import needs_root_to
from wiretool.capture.files import live
from wiretool.capture.files.live import sniff
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.reassembler import Streams
from wiretool.capture.tcp.segments_of_packets import read_segments
from wiretool.capture.tcp.stream_events import Data
from wiretool.errors import CaptureError, UsageError

needs_root = needs_root_to("capture (or CAP_NET_RAW)")
SAID = {"client": b"hello" * 1000, "server": b"world" * 40_000}


class Listener:
    """Stands in for Scapy's socket: gives packets, raises what is among them."""

    def __init__(self, *packets: Any, hardware: int = 1) -> None:
        self.packets = list(packets)
        self.is_closed = False
        self.ins = SimpleNamespace(getsockname=lambda: ("lo", 3, 0, hardware, b""))

    def select(self, listeners: list[Any], timeout_s: float) -> list[Any]:
        assert 0 < timeout_s <= live.POLL_S
        return listeners if self.packets else []

    def recv_raw(self, size: int) -> tuple[type, bytes, float]:
        packet = self.packets.pop(0)
        if isinstance(packet, BaseException):
            raise packet
        assert isinstance(packet, bytes)
        return type("Ether", (), {}), packet, 1_700_000_000.123_456

    def close(self) -> None:
        self.is_closed = True


def heard(monkeypatch: pytest.MonkeyPatch, listener: Listener, **limits: Any) -> list[bytes]:
    monkeypatch.setattr(live, "_listen", lambda interface, bpf: listener)
    packets = list(sniff("lo", **limits))
    assert listener.is_closed
    assert [packet.number for packet in packets] == list(range(1, len(packets) + 1))
    assert {packet.time_ns for packet in packets} <= {1_700_000_000_123_456_000}
    return [packet.data for packet in packets]


def test_a_count_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heard(monkeypatch, Listener(b"a", b"b", b"c"), count=2) == [b"a", b"b"]


def test_a_duration_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heard(monkeypatch, Listener(b"a"), duration_s=0.01) == [b"a"]


def test_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heard(monkeypatch, Listener(b"a", b"", KeyboardInterrupt())) == [b"a"]


def test_an_interface_that_goes_down(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CaptureError, match="lo: cannot be read any more: Network is down"):
        heard(monkeypatch, Listener(b"a", OSError(100, "Network is down")))


def test_a_tunnel_gives_ip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_listen", lambda interface, bpf: Listener(b"E", hardware=65534))
    assert next(sniff("tun0")).link_type == 101


def test_an_unknown_interface() -> None:
    with pytest.raises(UsageError, match=r"no interface nope0; expected one of .*lo"):
        sniff("nope0")


def test_no_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    # Importing Scapy's layers is what chooses its sockets: one is replaced after that, whatever test runs first.
    from scapy.layers.l2 import conf

    def refuse(**_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(conf, "L2socket", refuse)
    with pytest.raises(UsageError, match="capturing on lo needs root or CAP_NET_RAW: permission denied"):
        sniff("lo")


@needs_root
def test_a_filter_that_makes_no_sense() -> None:
    expected = r"; expected one such as 'tcp port 12345' \(see man pcap-filter\)$"
    with pytest.raises(UsageError, match=f"^--filter 'tcp port nonsense': no port is called 'nonsense'{expected}"):
        sniff("lo", bpf="tcp port nonsense")
    with pytest.raises(UsageError, match=f"^--filter 'tcp prt 1': not a filter of libpcap{expected}"):
        sniff("lo", bpf="tcp prt 1")


@needs_root
def test_a_real_conversation_on_loopback_is_heard_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        port = server.getsockname()[1]
        packets = sniff("lo", bpf=f"tcp port {port}", duration_s=10)
        talk = threading.Thread(target=_talk, args=(server, port))
        talk.start()
        seen: list[bytes] = []
        found = _streams(_noted(packets, seen))
        talk.join(5)
    assert found == SAID
    assert len(set(seen)) == len(seen)


def _noted(packets: Iterable[Packet], seen: list[bytes]) -> Iterator[Packet]:
    """Yield packets, and note their bytes: one that the system sends again has another IP identification."""
    for packet in packets:
        seen.append(packet.data)
        yield packet


def _streams(packets: Iterable[Packet]) -> dict[str, bytes]:
    """Return the bytes that both sides sent until both have ended."""
    following, found = Streams(), {"client": b"", "server": b""}
    for segment in read_segments(packets):
        for item in following.feed(segment):
            if isinstance(item, Data):
                found[item.side] += item.data
            if item.connection.closed:
                return found
    return found


def _talk(server: socket.socket, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        peer, _ = server.accept()
        with peer:
            peer.settimeout(5)
            client.sendall(SAID["client"])
            _read(peer, len(SAID["client"]))
            sender = threading.Thread(target=peer.sendall, args=(SAID["server"],))
            sender.start()
            _read(client, len(SAID["server"]))
            sender.join(5)


def _read(connection: socket.socket, size: int) -> None:
    while size > 0:
        size -= len(connection.recv(65536))


@pytest.mark.parametrize("interface", ["lo", "no such interface"])
def test_nothing_is_read_or_written_at_home(interface: str, tmp_path: Path) -> None:
    """Scapy keeps caches in the home of the user, and cannot be imported where it may not look into them."""
    hidden = tmp_path / ".cache" / "scapy"
    hidden.mkdir(parents=True)
    (hidden / "services.pickle").mkdir()  # reading it as a cache fails for anybody, root too
    before = sorted(tmp_path.rglob("*"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    command = [sys.executable, "-m", "wiretool", "decode", "--live", interface, "--duration", "0.05"]
    ended = subprocess.run(command, env={**environment, "HOME": str(tmp_path)}, capture_output=True, check=False)
    assert ended.returncode in ((0, 1, 2) if interface == "lo" else (2,))  # 1: nothing captured, 2: no privilege
    assert ended.stderr.count(b"\n") <= 1
    assert b"Traceback" not in ended.stderr
    assert sorted(tmp_path.rglob("*")) == before
