"""`export scapy` writes a script with which Scapy starts."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run_text
from wiretool.dissect.dissector import read
from wiretool.export.scapy_script import make_scapy_script, ports_of
from wiretool.protocols.base.registry import PROTOCOLS

CAPTURES = Path(__file__).parents[2] / "captures"
INPUT = """\
found = sniff_messages(offline={path!r}, count=60)
print("read", sum(pravega["SetupAppend"] in packet for packet in found), len(found))
print("built", bytes(pravega["Hello"](high_version=17, low_version=5)).hex())
"""


@needs_protocol("pravega")
def test_scapy_starts_with_the_layers_and_their_ports(tmp_path: Path) -> None:
    path = tmp_path / "start.py"
    assert run_text("export", "scapy", "pravega", "--port", "12345", "-o", path).returncode == 0
    assert "bind('pravega', 12345)" in path.read_text()
    words = [sys.executable, "-m", "scapy", "-H", "-P", "-c", str(path)]
    capture = CAPTURES / "pravega" / "txn.pcap"
    count = sum(record.message == "SetupAppend" and record.packets[1] <= 60 for record in read(capture))
    assert count > 0
    script = INPUT.format(path=str(capture))
    ended = subprocess.run(words, input=script, capture_output=True, text=True, check=True, timeout=60)
    assert f"read {count} " in ended.stdout
    assert "built ffffff81000000080000001100000005" in ended.stdout


def test_a_port_is_bound_to_one_protocol() -> None:
    bound = ports_of(list(PROTOCOLS.values()))
    every = [port for ports in bound.values() for port in ports]
    assert sorted(every) == sorted({port for protocol in PROTOCOLS.values() for port in protocol.ports})
    made = make_scapy_script(list(PROTOCOLS.values()), bound, "0")
    compile(made, "start.py", "exec")
    assert made.count("layers_of(") == len(PROTOCOLS)
    assert made.count("\nbind(") == sum(map(bool, bound.values()))


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["--port", "1"], 2, "--port: which protocol is at the port is not given; expected PROTOCOL, too"),
        (["nothing"], 2, "no protocol is called 'nothing'"),
        (["pravega", "-o", "/dev/full"], 74, "cannot write /dev/full"),
    ],
)
def test_what_cannot_be_exported_is_refused(words: list[str], code: int, why: str) -> None:
    ended = run_text("export", "scapy", *words)
    assert ended.returncode == code
    assert why in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
