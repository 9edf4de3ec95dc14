"""`decode --live`: the end of a capture, and its exit code."""

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.captures import ethernet, ip, tcp_packets
from wiretool.capture.files import live
from wiretool.cli import app
from wiretool.commands.decode import decode
from wiretool.commands.options import DecodeFormat
from wiretool.errors import Stopped, Unmet, UsageError

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
SAID = [each.data for each in tcp_packets([("client", HELLO)], server=("10.0.0.2", 12345), end="")]
SILENT = [each.data for each in tcp_packets([], server=("10.0.0.2", 12345))]
DATAGRAM = ethernet(ip("10.0.0.1", "10.0.0.2", 17, bytes(20)))
FORMS = [DecodeFormat.TEXT, DecodeFormat.NDJSON, DecodeFormat.CSV, DecodeFormat.PARQUET]


class Interface:
    """Stands in for Scapy's socket: gives packets, then does something once, and remains silent."""

    def __init__(self, packets: Sequence[bytes], end: Callable[[], object]) -> None:
        self.packets = list(packets)
        self.end = end
        self.ins = SimpleNamespace(getsockname=lambda: ("lo", 3, 0, 1, b""))

    def select(self, listeners: list[Any], timeout_s: float) -> list[Any]:
        if not self.packets:
            end, self.end = self.end, lambda: None
            end()
        return listeners if self.packets else []

    def recv_raw(self, size: int) -> tuple[type, bytes, float]:
        return type("Ether", (), {}), self.packets.pop(0), 1_700_000_000.0

    def close(self) -> None:
        self.packets.clear()


def press(number: signal.Signals) -> Callable[[], None]:
    return lambda: signal.raise_signal(number)


def run_on(
    monkeypatch: pytest.MonkeyPatch, packets: Sequence[bytes], end: Callable[[], object], **options: Any
) -> None:
    monkeypatch.setattr(live, "_listen", lambda interface, bpf: Interface(packets, end))
    decode(live="lo", **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("end", ["duration", "Ctrl-C"])
def test_a_capture_of_nothing_is_no_success(
    form: DecodeFormat, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "tables" if form.is_tables else None
    duration, act = (0.05, bool) if end == "duration" else (None, press(signal.SIGINT))
    with pytest.raises(Unmet, match=r"^lo: nothing was read: no packets; expected TCP packets with payload$"):
        run_on(monkeypatch, [], act, duration=duration, format_=form, output=output)


@pytest.mark.parametrize(
    ("packets", "why"),
    [(SILENT, "no payload in 1 TCP connection"), ([DATAGRAM], "1 of 1 packets not read: 1 UDP")],
    ids=["no payload", "no TCP"],
)
def test_packets_without_payload(packets: Sequence[bytes], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unmet, match=why):
        run_on(monkeypatch, packets, bool, duration=0.05)


@pytest.mark.parametrize("duration", [0.05, None])
def test_the_usual_end(
    duration: float | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT)
    run_on(monkeypatch, SAID, bool if duration else press(signal.SIGINT), duration=duration)
    told = capsys.readouterr()
    assert "Hello" in told.out
    assert told.err == "wiretool: 1 frame in 1 connection; 16 bytes: 16 in frames\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_supervisor_stops_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Stopped) as stopped:
        run_on(monkeypatch, SAID, press(signal.SIGTERM))
    assert stopped.value.exit_code == 143
    assert "wiretool: stopped by SIGTERM: " in capsys.readouterr().err


def test_the_second_ctrl_c_stops_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def press_twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(Stopped):
        run_on(monkeypatch, SAID, press_twice)


@pytest.mark.parametrize("name", ["rpcap://host:2002/eth0", "ssh://host/eth0"])
def test_an_interface_of_another_machine_is_refused(name: str) -> None:
    why = f"--live {name}: not an interface of this machine; .*: ssh HOST tcpdump .* [|] wiretool decode -$"
    with pytest.raises(UsageError, match=why):
        decode(live=name)


def test_the_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(live, "_listen", lambda interface, bpf: Interface([], bool))
    with pytest.raises(SystemExit) as ended:
        app(["decode", "--live", "lo", "--duration", "50ms"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == "wiretool: lo: nothing was read: no packets; expected TCP packets with payload\n"
