import json
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import grpc  # type: ignore[import-untyped]
import pytest
import trustme

from tests.helpers.servers import started, wiretool
from wiretool.protocols.pravega_controller import controller_pb2 as schema

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
ANSWER = bytes.fromhex("ffffff81000000080000001000000005")
ANY = "127.0.0.1:0"
SERVE = ("serve", "pravega", "--listen", ANY, "--controller", ANY)
SERVICE = "/io.pravega.controller.stream.api.grpc.v1.ControllerService"


def told(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"


def greeted(client: socket.socket) -> bytes:
    client.sendall(HELLO)
    return client.recv(4096)


def test_what_passes_is_shown_changed_and_recorded(tmp_path: Path) -> None:
    record = tmp_path / "tapped.pcapng"
    rule = 'message == "Hello" and side == "server": set low_version=1'
    with started(tmp_path, *SERVE) as server:
        upstream = told(server.doors["store"])
        options = ("--fault", rule, "--record", str(record), "--format", "ndjson")
        with started(tmp_path, "tap", "pravega", "--listen", ANY, "--upstream", upstream, *options, name="tap") as tap:
            with socket.create_connection(tap.doors["pravega"], timeout=10) as client:
                assert greeted(client) == ANSWER[:-4] + bytes.fromhex("00000001")
            assert tap.stop() == 0
    rows = [json.loads(line) for line in tap.stdout.splitlines()]
    assert [(row["side"], row["message"], row["fields"]["low_version"]) for row in rows] == [
        ("client", "Hello", 5),
        ("server", "Hello", 5),
    ]
    ended = wiretool("decode", str(record), "--strict", "--format", "ndjson")
    assert [json.loads(line)["message"] for line in ended.stdout.splitlines()] == ["Hello", "Hello"]


def test_filters_and_columns_are_those_of_decode(tmp_path: Path) -> None:
    with started(tmp_path, *SERVE) as server:
        upstream = told(server.doors["store"])
        options = ("--where", 'side == "server"', "--fields", "message,fields.high_version", "--format", "csv")
        with started(tmp_path, "tap", "pravega", "--listen", ANY, "--upstream", upstream, *options, name="tap") as tap:
            with socket.create_connection(tap.doors["pravega"], timeout=10) as client:
                assert greeted(client) == ANSWER
            assert tap.stop() == 0
    assert tap.stdout.splitlines() == ["message,fields.high_version", "Hello,16"]


def test_tls_on_either_side(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate, roots = tmp_path / "server.pem", tmp_path / "ca.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(certificate)
    authority.cert_pem.write_to_path(roots)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    logs = {name: tmp_path / f"{name}.keys" for name in ("client", "tap", "server")}
    context.keylog_filename = str(logs["client"])
    with started(tmp_path, *SERVE, "--tls-cert", str(certificate), "--keylog", str(logs["server"])) as server:
        upstream = f"localhost:{server.doors['store'][1]}"
        tls = ["--upstream-tls", "--upstream-ca", str(roots), "--tls-cert", str(certificate)]
        tls += ["--keylog", str(logs["tap"])]
        arguments = ("tap", "pravega", "--listen", ANY, "--upstream", upstream, *tls, "--format", "ndjson")
        with started(tmp_path, *arguments, name="tap") as tap:
            with (
                socket.create_connection(tap.doors["pravega"], timeout=10) as raw,
                context.wrap_socket(raw, server_hostname="localhost") as client,
            ):
                assert greeted(client) == ANSWER
            assert tap.stop() == 0
    assert len(tap.stdout.splitlines()) == 2
    secrets = {name: secrets_in(path) for name, path in logs.items()}
    assert len(secrets["client"]) == len(secrets["server"]) == 5
    assert secrets["tap"] == secrets["client"] | secrets["server"]


def secrets_in(keylog: Path) -> set[bytes]:
    """Return the lines of a key log, without comments."""
    return {line for line in keylog.read_bytes().splitlines() if not line.startswith(b"#")}


def test_the_controller_sends_its_clients_to_the_tap(tmp_path: Path) -> None:
    """Often enough that a window of HTTP/2 would run dry, were the rewritten answers shorter than it was told."""
    with started(tmp_path, *SERVE, "--advertise", "a-rather-long-name.of-a-store.example:12345") as server:
        arguments = [
            *("tap", "pravega", "--listen", ANY, "--upstream", told(server.doors["store"])),
            *("--controller", ANY, "--upstream-controller", told(server.doors["controller"])),
            *("--format", "ndjson", "--where", 'message == "createScope"'),
        ]
        with started(tmp_path, *arguments, name="tap") as tap:
            with grpc.insecure_channel(told(tap.doors["pravega-controller"])) as channel:
                create = channel.unary_unary(
                    f"{SERVICE}/createScope",
                    request_serializer=schema.ScopeInfo.SerializeToString,
                    response_deserializer=schema.CreateScopeStatus.FromString,
                )
                assert create(schema.ScopeInfo(scope="s"), timeout=10).status == schema.CreateScopeStatus.SUCCESS
                where = channel.unary_unary(
                    f"{SERVICE}/getURI",
                    request_serializer=schema.SegmentId.SerializeToString,
                    response_deserializer=schema.NodeUri.FromString,
                )
                stream = schema.StreamInfo(scope="s", stream="t")
                for _ in range(2_500):
                    node = where(schema.SegmentId(streamInfo=stream, segmentId=0), timeout=10)
                    assert (node.endpoint, node.port) == tap.doors["pravega"]
            assert tap.stop() == 0
    assert [json.loads(line)["side"] for line in tap.stdout.splitlines()] == ["client", "server"]


def test_nobody_upstream_is_told(tmp_path: Path) -> None:
    with started(tmp_path, *SERVE) as server:
        upstream = told(server.doors["store"])
    with started(tmp_path, "tap", "pravega", "--listen", ANY, "--upstream", upstream, name="tap") as tap:
        # The reset may come before the connecting has returned.
        with (
            pytest.raises(ConnectionResetError),
            socket.create_connection(tap.doors["pravega"], timeout=10) as client,
        ):
            client.recv(1)
        assert tap.stop() == 0
    assert f"cannot reach {upstream}: " in tap.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["http", "--upstream", ANY], "http"),
        (["pravega", "--upstream", "x:y"], "--upstream"),
        (["pravega", "--upstream", ANY, "--controller", ANY], "--controller: requires --upstream-controller"),
        (
            ["sbp", "--upstream", ANY, "--upstream-controller", ANY],
            "--upstream-controller: requires the protocol pravega",
        ),
        (["pravega", "--upstream", ANY, "--upstream-ca", "x.pem"], "--upstream-ca: requires --upstream-tls"),
        (["pravega", "--upstream", ANY, "--upstream-tls", "--upstream-ca", "none.pem"], "none.pem"),
        (["pravega", "--upstream", ANY, "--fault", "x == 1: drop"], "--fault"),
        (["pravega", "--upstream", ANY, "--where", "x == 1"], "x"),
        (["pravega", "--upstream", ANY, "--format", "csv", "-v"], "-v and -x"),
    ],
)
def test_refusals_before_a_socket_opens(arguments: list[str], says: str) -> None:
    ended = wiretool("tap", *arguments)
    assert ended.returncode == 2, ended.stderr
    assert says in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("read", "written"), [("--faults", "-o"), ("--upstream-ca", "--record"), ("--tls-cert", "--ready-file")]
)
def test_what_is_read_is_not_written(tmp_path: Path, read: str, written: str) -> None:
    path, link = tmp_path / "given", tmp_path / "link"
    path.write_text("what it holds")
    link.hardlink_to(path)
    ended = wiretool("tap", "pravega", "--upstream", ANY, "--upstream-tls", read, str(path), written, str(link))
    assert ended.returncode == 2
    assert ended.stderr == f"wiretool: {link} is an input; expected another output\n"
    assert path.read_text() == "what it holds"


def run_with_few_files(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `wiretool ARGUMENTS` for a moment where the system allows 260 open files."""
    command = [sys.executable, "-m", "wiretool", *arguments, "--duration", "0.1s"]
    script = 'ulimit -n 260; exec "$@"'
    return subprocess.run(["sh", "-c", script, "sh", *command], capture_output=True, text=True, timeout=60, check=True)


@pytest.mark.parametrize(
    "command", [("serve", "sbp", "--listen", ANY), ("tap", "sbp", "--listen", ANY, "--upstream", "127.0.0.1:1")]
)
def test_fewer_connections_than_usual_are_reported_only_where_a_number_was_given(command: tuple[str, ...]) -> None:
    assert "ulimit" not in run_with_few_files(*command).stderr
    allowed = 4 if command[0] == "serve" else 2
    told = f"wiretool: the system allows {allowed} connections, not 10,000: see ulimit -n"
    assert told in run_with_few_files(*command, "--max-connections", "10000").stderr.splitlines()


def test_without_a_connection_it_ends_well_and_reports_it(tmp_path: Path) -> None:
    record = tmp_path / "tapped.pcapng"
    options = ("--duration", "200ms", "--record", str(record))
    ended = wiretool("tap", "pravega", "--listen", ANY, "--upstream", "127.0.0.1:1", *options)
    assert ended.returncode == 0
    assert ended.stderr.splitlines()[-1] == "wiretool: 0 connections; 0 bytes from clients, 0 to them"
    assert "nothing was read: no packets" in wiretool("decode", str(record)).stderr
