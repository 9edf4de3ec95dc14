import json
import os
import signal
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import grpc  # type: ignore[import-untyped]
import pytest
import trustme

from tests.helpers.examples import needs_protocol
from tests.helpers.forked import Forked, run
from tests.helpers.servers import started, wiretool
from wiretool.capture.tls.keylog import KeyLog
from wiretool.commands.serve.run import check_ready_file
from wiretool.errors import UsageError

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
ANSWER = bytes.fromhex("ffffff81000000080000001000000005")
PORTS = ("--listen", "127.0.0.1:0", "--controller", "127.0.0.1:0")


def greeted(address: tuple[str, int]) -> bytes:
    """What a server answers to Hello."""
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(HELLO)
        return client.recv(4096)


@pytest.mark.parametrize(
    ("command", "option"),
    [("serve sbp", "--control"), ("serve sbp", "--listen"), ("serve offramp", "--road"), ("tap sbp", "--upstream")],
)
def test_an_empty_text_is_refused(command: str, option: str) -> None:
    ended = run(*command.split(), option, "")
    assert ended.returncode == 2
    assert ended.stderr.decode() == f"wiretool: {option}: the text is empty; expected a value\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_says_where_it_is_serves_and_stops(tmp_path: Path, number: int) -> None:
    with started(tmp_path, "serve", "pravega", *PORTS) as server:
        assert set(server.doors) == {"store", "controller"}
        assert greeted(server.doors["store"]) == ANSWER
        assert server.stop(number) == 0
        host, port = server.doors["store"]
        assert f"pravega is ready: store {host}:{port}, controller " in server.stderr
        assert server.stderr.splitlines()[-1] == "wiretool: 1 connection; 16 bytes from clients, 16 to them"
        assert "Traceback" not in server.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("protocol", ["pravega", "pravega-draft", "sbp", "sbp-0.1", "offramp"])
def test_every_protocol_has_a_server(tmp_path: Path, protocol: str) -> None:
    arguments = PORTS if protocol == "pravega" else PORTS[:2]
    with started(tmp_path, "serve", protocol, *arguments) as server:
        for address in server.doors.values():
            with socket.create_connection(address, timeout=10):
                pass
        assert server.stop() == 0, server.stderr


def test_only_named_endpoints_are_open_where_the_first_is_named(tmp_path: Path) -> None:
    with started(tmp_path, "serve", "pravega", *PORTS[:2]) as server:
        assert set(server.doors) == {"store"}
        assert server.stop() == 0


def test_a_grpc_client_is_told_where_the_controller_is(tmp_path: Path) -> None:
    with started(tmp_path, "serve", "pravega", *PORTS) as server:
        host, port = server.doors["store"]
        with grpc.insecure_channel(f"{host}:{port}") as channel, pytest.raises(grpc.RpcError) as failed:
            channel.unary_unary("/io.pravega.controller.stream.api.grpc.v1.ControllerService/getURI")(b"", timeout=10)
        assert server.stop() == 0
        host, port = server.doors["controller"]
        assert failed.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert f"the controller listens at {host}:{port}" in failed.value.details()
        assert "this is HTTP/2 (gRPC), expected the wire protocol of the segment store" in server.stderr
        assert f"the controller listens at {host}:{port}" in server.stderr


@pytest.mark.parametrize(
    ("first", "name"), [(b"GET / HTTP/1.1\r\n\r\n", "HTTP"), (b"\x16\x03\x01\x00\x05hello", "TLS")]
)
def test_clients_of_other_protocols_are_named(tmp_path: Path, first: bytes, name: str) -> None:
    with started(tmp_path, "serve", "pravega", *PORTS) as server:
        with socket.create_connection(server.doors["store"], timeout=10) as client:
            client.sendall(first)
            with suppress(ConnectionResetError):
                assert client.recv(4096) == b""
        assert server.stop() == 0
        assert f"this is {name}, expected the wire protocol of the segment store" in server.stderr


def test_what_was_said_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "said.pcapng"
    with started(tmp_path, "serve", "pravega", *PORTS, "--record", str(path)) as server:
        assert greeted(server.doors["store"]) == ANSWER
        assert server.stop() == 0
    ended = wiretool("decode", str(path), "--format", "ndjson", "--strict")
    assert ended.returncode == 0, ended.stderr
    assert [json.loads(line)["message"] for line in ended.stdout.splitlines()] == ["Hello", "Hello"]


def test_a_fault_on_the_command_line(tmp_path: Path) -> None:
    rule = 'message == "Hello" and side == "server": set low_version=1'
    with started(tmp_path, "serve", "pravega", *PORTS, "--fault", rule) as server:
        assert greeted(server.doors["store"])[-4:] == bytes.fromhex("00000001")


def test_faults_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text('[[rule]]\nmessage = "Hello"\nside = "server"\nset = { low_version = 1 }\n')
    with started(tmp_path, "serve", "pravega", *PORTS, "--faults", str(path)) as server:
        assert greeted(server.doors["store"])[-4:] == bytes.fromhex("00000001")


def test_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = tmp_path / "server.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(certificate)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    record, keylog = tmp_path / "clear.pcapng", tmp_path / "keys"
    keylog.write_bytes(b"# earlier\n")
    files = ("--tls-cert", str(certificate), "--record", str(record), "--keylog", str(keylog))
    with started(tmp_path, "serve", "pravega", *PORTS, *files) as server:
        with (
            socket.create_connection(server.doors["store"], timeout=10) as raw,
            context.wrap_socket(raw, server_hostname="localhost") as client,
        ):
            client.sendall(HELLO)
            assert client.recv(4096) == ANSWER
        assert server.stop() == 0
    assert ANSWER in record.read_bytes()
    assert keylog.read_bytes().startswith(b"# earlier\n")
    assert len(KeyLog.of(keylog.read_bytes())) == 1


def test_a_port_in_use(tmp_path: Path) -> None:
    with started(tmp_path, "serve", "sbp", "--listen", "127.0.0.1:0") as server:
        (address,) = server.doors.values()
        ended = wiretool("serve", "sbp", "--listen", f"{address[0]}:{address[1]}")
    assert ended.returncode == 4
    assert ended.stderr.splitlines()[-1].startswith(f"wiretool: cannot listen on {address[0]}:{address[1]} (sbp): ")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["http"], "no protocol is called 'http'; there are pravega, "),
        (["pravega", "--fault", "mesage == 'Hello': drop"], "message"),
        (["pravega", "--fault", "message == 'Helo': drop"], "Hello"),
        (["pravega", "--fault", "message == 'Hello': set low_verson=1"], "low_version"),
        (["pravega", "--fault", "message == 'Hello'"], "--fault"),
        (["pravega", "--faults", "none.toml"], "none.toml"),
        (["pravega", "--road", "r"], "--road: not allowed with pravega; only with offramp"),
        (["offramp", "--wire-version", "16"], "--wire-version: not allowed with offramp; only with pravega"),
        (["sbp", "--rate", "5"], "--rate: not allowed with sbp; only with "),
        (["offramp", "--controller", "127.0.0.1:0"], "--controller: offramp has no such address"),
        (["pravega", "--listen", "nowhere:x"], "--listen"),
        (["pravega", "--wire-version", "4"], "wire version 4: not supported; expected 15 to 17"),
        (["pravega", "--auth", "me"], "--auth: not credentials; expected USER:PASSWORD"),
        (["pravega", "--tls-cert", "none.pem"], "none.pem: no such file"),
        (["pravega", "--tls-key", "none.pem"], "--tls-key: requires --tls-cert"),
        (["pravega", "--control", "0.0.0.0:1"], "--control 0.0.0.0:1"),
        (["pravega", "--retain", "2X"], "--retain '2X': not a size; expected bytes"),
        (["offramp", "--feed", "none.json"], "none.json"),
    ],
)
def test_refusals_before_a_socket_opens(tmp_path: Path, arguments: list[str], says: str) -> None:
    ended = wiretool("serve", *arguments)
    assert ended.returncode == 2, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert says in line


@needs_protocol("offramp")
def test_a_feed_that_is_none_is_told_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "feed.ndjson"
    path.write_text('{"payload": {}}\n\n{"payload": {}, "partition": -1}\n')
    ended = wiretool("serve", "offramp", "--feed", str(path))
    assert ended.returncode == 3
    assert f"--feed {path}: line 3: " in ended.stderr


def test_rules_that_are_not_toml_are_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text("nonsense")
    ended = wiretool("serve", "sbp", "--faults", str(path))
    assert (ended.returncode, ended.stderr.count("\n")) == (3, 1)
    assert ": not TOML: expected = after the key; expected rules as [[rule]]" in ended.stderr


def test_a_file_that_is_no_certificate(tmp_path: Path) -> None:
    path = tmp_path / "server.pem"
    path.write_text("no certificate")
    ended = wiretool("serve", "sbp", "--tls-cert", str(path))
    assert ended.returncode == 3
    assert f"{path}: not a PEM certificate with its key" in ended.stderr


@needs_protocol("offramp")
@pytest.mark.parametrize(
    ("read", "link"), [("--faults", None), ("--feed", os.link), ("--tls-cert", os.symlink), ("--tls-key", None)]
)
def test_what_is_read_is_not_written(tmp_path: Path, read: str, link: Callable[[Path, Path], None] | None) -> None:
    held = '[[rule]]\nside = "server"\ndrop = true\n' if read == "--faults" else '{"payload": {}}\n'
    path = record = tmp_path / "given"
    path.write_text(held)
    if link is not None:
        record = tmp_path / "other"
        link(path, record)
    options = (read, str(path), "--record", str(record), "--duration", "0.05")
    ended = wiretool("serve", "offramp", *PORTS[:2], *options)
    assert ended.returncode == 2
    assert ended.stderr == f"wiretool: {record} is an input; expected another output\n"
    assert path.read_text() == held


def test_two_files_to_be_written_are_two(tmp_path: Path) -> None:
    path, other = tmp_path / "one", tmp_path / "other"
    path.write_text('{"protocol": "sbp", "pid": 1, "endpoints": {}}')
    other.hardlink_to(path)
    ended = wiretool("serve", "sbp", "--record", str(path), "--ready-file", str(other), "--duration", "0.05")
    assert ended.returncode == 2
    assert ended.stderr == f"wiretool: --record and --ready-file name the same file, {other}\n"


def test_a_ready_file_has_to_be_in_a_folder_that_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "no" / "x"
    ended = wiretool("serve", "sbp", "--ready-file", str(path), "--duration", "0.05")
    assert ended.returncode == 2
    why = f"{path.parent} does not exist; expected a file in an existing folder"
    assert ended.stderr == f"wiretool: --ready-file {path}: {why}\n"
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match="ready: permission denied; expected a file in a folder that you may write to"):
        check_ready_file(tmp_path / "ready")


def test_a_recording_is_a_capture_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "new.pcapng"
    process = Forked("serve", "sbp", "--listen", "127.0.0.1:0", "--record", str(path), cwd=tmp_path)
    deadline = time.monotonic() + 30
    while not path.exists() or not path.stat().st_size:
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    ended = wiretool("decode", str(path))
    assert "no packets" in ended.stderr
    assert ended.returncode == 1


def test_a_server_that_never_starts_leaves_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "new.pcapng"
    with started(tmp_path, "serve", "sbp", "--listen", "127.0.0.1:0") as server:
        (address,) = server.doors.values()
        ended = wiretool("serve", "sbp", "--listen", f"{address[0]}:{address[1]}", "--record", str(path))
    assert ended.returncode == 4
    assert not path.exists()


def test_it_stops_by_itself(tmp_path: Path) -> None:
    ended = wiretool("serve", "sbp", "--listen", "127.0.0.1:0", "--duration", "0.05")
    assert ended.returncode == 0
    assert "sbp is ready: sbp 127.0.0.1:" in ended.stderr


def test_the_help_of_a_control_command_requires_no_address() -> None:
    with_address, without = wiretool("control", "127.0.0.1:1", "add", "--help"), wiretool("control", "add", "-h")
    assert without.returncode == 0, without.stderr
    assert without.stdout == with_address.stdout
    assert "RULE  fault rule" in without.stdout


def test_it_is_controlled_from_the_shell(tmp_path: Path) -> None:
    with started(tmp_path, "serve", "pravega", *PORTS, "--control", "127.0.0.1:0") as server:
        control = server.control
        added = wiretool("control", control, "add", 'message == "Hello" and side == "server": set low_version=1')
        assert added.returncode == 0, added.stderr
        number = str(json.loads(added.stdout)["id"])
        assert greeted(server.doors["store"])[-4:] == bytes.fromhex("00000001")
        assert json.loads(wiretool("control", control, "wait", number).stdout)["hits"] == 1
        assert json.loads(wiretool("control", control, "rules").stdout)["hits"] == 1
        assert wiretool("control", control, "remove", number).returncode == 0
        assert json.loads(wiretool("control", control, "messages").stdout)["client"] == {"Hello": 1}
        refused = wiretool("control", control, "remove", number)
        assert refused.returncode == 2
        assert "HTTP 404" in refused.stderr
        assert server.stop() == 0
    assert wiretool("control", control, "rules").returncode == 4


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--allow-remote", "localhost"), "--allow-remote: requires --control"),
        (
            ("--control", "0.0.0.0:0", "--allow-remote", "*"),
            "--allow-remote *: not the name or IPv4 address of a host, without a port",
        ),
        (
            ("--control", "0.0.0.0:0", "--allow-remote", "box:7001"),
            "--allow-remote box:7001: not the name or IPv4 address of a host, without a port",
        ),
    ],
)
def test_bad_hosts_of_the_control_api(words: tuple[str, ...], why: str) -> None:
    ended = wiretool("serve", "sbp", "--listen", "127.0.0.1:0", "--duration", "1s", *words)
    assert (ended.returncode, ended.stderr) == (2, f"wiretool: {why}\n")
