"""`extcap`: the interface 'wiretool tap' of Wireshark, by hand and with tshark itself."""

import os
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tests.helpers.examples import needs_protocol
from tests.helpers.forked import Forked, run
from tests.helpers.servers import Server, started
from tests.helpers.tools import path_of_tool
from wiretool import cli
from wiretool.capture.files.reading import read_packets
from wiretool.commands.extcap.sentences import option_sentences
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.pcapng import ETHERNET, interface, section

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
ANSWER = bytes.fromhex("ffffff81000000080000001000000005")
KEEP_ALIVE = bytes.fromhex("0000006400000000")
RULE = 'message == "Hello" and side == "server": set low_version=1'
ASK = ("extcap", "--extcap-interface", "wiretool")
WAIT_S = 30.0


def parameters() -> list[Any]:
    group: Any = typer.main.get_command(cli.app)
    return list(group.commands["extcap"].params)


def attributes(sentence: str) -> dict[str, str]:
    return dict(re.findall(r"\{(\w+)=([^}]*)\}", sentence))


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def connected(address: str) -> socket.socket:
    """A connection to a tap, once it listens."""
    host, port = address.split(":")
    until_s = time.monotonic() + WAIT_S
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=WAIT_S)
        except ConnectionRefusedError:
            assert time.monotonic() < until_s, f"no server listens at {address}"
            select.select([], [], [], 0.05)


def talk(address: str, answer: bytes = ANSWER) -> None:
    """Send a greeting and wait for the answer, then say that nothing more comes."""
    with connected(address) as client:
        client.sendall(HELLO)
        assert client.recv(len(answer), socket.MSG_WAITALL) == answer
        client.sendall(KEEP_ALIVE)
        assert client.recv(len(KEEP_ALIVE), socket.MSG_WAITALL) == KEEP_ALIVE


# -- questions ---------------------------------------------------------------------------------------------------------


def test_the_interface_is_listed() -> None:
    ended = run("extcap", "--extcap-interfaces", "--extcap-version=4.0")
    program, listed = ended.stdout.decode().splitlines()
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert program.startswith("extcap {version=")
    assert listed == "interface {value=wiretool}{display=wiretool tap}"


def test_its_packets_are_ethernet() -> None:
    assert run(*ASK, "--extcap-dlts").stdout == b"dlt {number=1}{name=EN10MB}{display=Ethernet}\n"


def test_the_dialog_has_the_options_of_a_tap() -> None:
    lines = list(option_sentences(parameters(), {"one": "First {1}", "two": "Second"}, "--upstream"))
    fields = {attributes(line)["call"]: attributes(line) for line in lines if line.startswith("arg ")}
    assert {"--protocol", "--upstream", "--listen", "--fault", "--faults", "--upstream-controller"} <= fields.keys()
    assert not [option for option in fields if option.startswith(("--extcap", "--capture", "--fifo", "--help"))]
    assert [int(field["number"]) for field in fields.values()] == list(range(len(fields)))
    assert [option for option, field in fields.items() if field["required"] == "true"] == ["--upstream"]
    assert fields["--upstream-tls"]["type"] == "boolflag"
    assert fields["--faults"]["type"] == "fileselect"
    assert fields["--seed"] | {"type": "integer", "default": "0"} == fields["--seed"]
    assert [attributes(line) for line in lines if line.startswith("value ")] == [
        {"arg": "0", "value": "one", "display": "First (1)", "default": "true"},
        {"arg": "0", "value": "two", "display": "Second", "default": "false"},
    ]


def test_each_registered_protocol_can_be_chosen() -> None:
    ended = run(*ASK, "--extcap-config")
    assert re.findall(r"\{value=([^}]+)\}", ended.stdout.decode()) == list(PROTOCOLS)


def test_a_capture_filter_is_not_valid() -> None:
    ended = run(*ASK, "--extcap-capture-filter", "tcp port 9")
    assert ended.returncode == 0
    assert ended.stdout.startswith(b"tcp port 9: not supported by a tap")
    assert run(*ASK, "--extcap-capture-filter", "").stdout == b""


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "no interface; expected --extcap-interfaces or --extcap-interface"),
        (["--extcap-config"], "no interface; expected"),
        (["--extcap-interface", "eth0", "--extcap-dlts"], "--extcap-interface eth0: no such interface"),
        (["--capture", "--extcap-interface", "wiretool"], "--capture: requires --fifo"),
        (["--capture", *ASK[1:], "--fifo", "f"], "--upstream: missing; expected the address of the real server"),
        (["--capture", *ASK[1:], "--fifo", "f", "--extcap-capture-filter", "tcp"], "--extcap-capture-filter tcp: not"),
        (["--capture", *ASK[1:], "--fifo", "f", "--upstream", "h:1", "--protocol", "x"], "no protocol is called 'x'"),
        (["--capture", *ASK[1:], "--fifo", "/", "--upstream", "127.0.0.1:9"], "cannot write /: Is a directory"),
    ],
)
def test_wrong_words_are_refused(words: list[str], why: str, tmp_path: Path) -> None:
    ended = run("extcap", *words, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.decode().startswith(f"wiretool: {why}")
    assert not list(tmp_path.iterdir())


# -- captures ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with started(tmp_path, "serve", "pravega", "--listen", "127.0.0.1:0") as running:
        yield running


def upstream(server: Server) -> str:
    host, port = next(iter(server.doors.values()))
    return f"{host}:{port}"


class Capture:
    """A capture that runs, and the pipe it writes into."""

    def __init__(self, folder: Path, upstream_address: str) -> None:
        self.address = free_address()
        self.fifo = folder / "fifo"
        os.mkfifo(self.fifo)
        options = ("--fifo", self.fifo, "--listen", self.address, "--upstream", upstream_address)
        self.process = Forked(*ASK, "--capture", "--protocol", "pravega", *options, "--fault", RULE)
        self.reader = self.fifo.open("rb", buffering=0)

    def read_until(self, part: bytes) -> bytes:
        """Read what is written up to some bytes; AssertionError where they do not come."""
        data = b""
        while part not in data:
            assert select.select([self.reader], [], [], WAIT_S)[0], data
            more = self.reader.read(65536)
            assert more, data
            data += more
        return data

    def end(self) -> tuple[int, str]:
        """The exit code and what was printed on stderr; stdout must be empty."""
        self.reader.close()
        out, err = self.process.communicate(timeout=WAIT_S)
        assert out == ""
        return self.process.wait(), err


@needs_protocol("pravega")
def test_packets_are_in_the_pipe_as_they_pass(server: Server, tmp_path: Path) -> None:
    capture = Capture(tmp_path, upstream(server))
    head = section() + interface(ETHERNET)
    written = capture.read_until(head)
    assert written == head  # at once: Wireshark waits for it
    with connected(capture.address) as client:
        for sent, answer in ((HELLO, ANSWER[:-1] + b"\x01"), (KEEP_ALIVE, KEEP_ALIVE)):
            client.sendall(sent)
            assert client.recv(len(answer), socket.MSG_WAITALL) == answer
            written += capture.read_until(sent)  # before the next one is sent
    capture.process.send_signal(signal.SIGTERM)
    written += capture.reader.read()
    assert capture.end() == (0, "")
    packets = [packet.data for packet in read_packets([BytesIO(written)])]
    assert [data[54:] for data in packets if len(data) > 54] == [HELLO, ANSWER, KEEP_ALIVE, KEEP_ALIVE]


@needs_protocol("pravega")
def test_it_ends_when_the_pipe_has_no_reader(server: Server, tmp_path: Path) -> None:
    capture = Capture(tmp_path, upstream(server))
    capture.read_until(interface(ETHERNET))
    assert capture.end()[0] == 0  # which closes the pipe, and sends no signal
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(capture.address.split(":")[1])), timeout=WAIT_S)


@needs_protocol("pravega")
def test_only_failures_are_on_stderr(tmp_path: Path) -> None:
    unused = free_address()
    capture = Capture(tmp_path, unused)
    capture.read_until(interface(ETHERNET))
    with pytest.raises(ConnectionResetError), connected(capture.address) as client:
        client.recv(1)
    capture.process.send_signal(signal.SIGTERM)
    code, err = capture.end()
    assert code == 0
    refused, unapplied = err.splitlines()
    assert re.fullmatch(rf"wiretool: connection 1 \(.*\): cannot reach {unused}: .*", refused)
    assert "Hello" in unapplied


@needs_protocol("pravega")
def test_an_address_in_use_is_reported(server: Server, tmp_path: Path) -> None:
    options = ("--upstream", "127.0.0.1:9", "--listen", upstream(server), "--protocol", "pravega")
    ended = run(*ASK, "--capture", "--fifo", tmp_path / "new.pcapng", *options)
    assert ended.returncode == 4
    assert ended.stderr.decode().count("\n") == 1
    assert upstream(server) in ended.stderr.decode()
    assert not (tmp_path / "new.pcapng").exists()


@needs_protocol("pravega")
def test_tshark_captures_a_session(server: Server, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "WIRESHARK"))}
    environment["HOME"] = str(tmp_path)
    assert run("export", "wireshark", "--install", env=environment).returncode == 0
    address = free_address()
    wanted = {"upstream": upstream(server), "listen": address, "fault": RULE, "protocol": "pravega"}
    options = [word for name, value in wanted.items() for word in ("-o", f"extcap.wiretool.{name}:{value}")]
    ports = ("-o", f"pravega.ports:{upstream(server).split(':')[1]}")
    command = [path_of_tool("tshark"), "-c", "7", "-a", f"duration:{WAIT_S:g}", "-i", "wiretool", *options, *ports]
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as tshark:
        try:
            talk(address, ANSWER[:-1] + b"\x01")
            out, err = tshark.communicate(timeout=WAIT_S)
        finally:
            tshark.kill()
    assert tshark.returncode == 0, err
    messages = [line.split()[-1] for line in out.splitlines() if " pravega " in line]
    assert messages == ["Hello", "Hello", "KeepAlive", "KeepAlive"]
    assert "Error by extcap" not in err
