"""`--keylog` as users give it."""

import json
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run_text

OFFRAMP = Path(__file__).parents[2] / "captures" / "offramp"
SEALED, CLEAR, KEYS = (OFFRAMP / f"java_tls13{end}" for end in (".pcap", "_clear.pcap", ".keylog.txt"))
pytestmark = needs_protocol("offramp")


def test_decode_and_stats_by_both_engines() -> None:
    shown = [run_text("decode", SEALED, "--keylog", KEYS, "--engine", engine) for engine in ("rows", "columns")]
    assert [each.returncode for each in shown] == [0, 0]
    assert shown[0].stdout == shown[1].stdout
    assert "wiretool: 292 frames in 1 connection; 60,341 bytes: 51,439 in frames, 8,902 in streams" in shown[0].stderr
    numbers = json.loads(run_text("stats", SEALED, "--keylog", KEYS, "--format", "json").stdout)
    (row,) = numbers["connections"]
    expected = {"tls": "TLS 1.3", "decrypted": True, "client_captured_bytes": 4096, "server_captured_bytes": 56_245}
    assert expected.items() <= row.items()


def test_several_processes_get_the_secrets_of_a_file(tmp_path: Path) -> None:
    cut = tmp_path / "with_secrets.pcapng"
    assert run_text("slice", SEALED, "--keylog", KEYS, "--where", 'message == "Close"', "-o", cut).returncode == 0
    head, rest = cut.read_bytes()[:28], cut.read_bytes()[28:]
    from wiretool.sinks.pcapng import tls_secrets

    cut.write_bytes(head + tls_secrets(KEYS.read_bytes()) + rest)
    ended = run_text("stats", cut, "--engine", "columns", "--workers", "3")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "offramp      292" in ended.stdout


def test_without_secrets() -> None:
    ended = run_text("stats", SEALED)
    assert ended.returncode == 0
    assert "0  127.0.0.1:8443  TLS 1.3                    4,096   56,245  no" in ended.stdout
    assert ended.stderr == "wiretool: 1 of 1 TLS connection not decrypted; give the secrets with --keylog FILE\n"
    ended = run_text("replay", SEALED)
    assert ended.returncode == 3
    assert "1 of them TLS; give its secrets with --keylog FILE" in ended.stderr


def test_slice_writes_whole_connections_and_keeps_the_secrets_of_files(tmp_path: Path) -> None:
    from wiretool.sinks.pcapng import tls_secrets

    one, other = tmp_path / "one.pcapng", tmp_path / "other.pcapng"
    words = "--where", 'message == "Close"', "-o"
    ended = run_text("slice", SEALED, "--keylog", KEYS, *words, one)
    assert "TLS: all packets of 1 connection written, as a part of them cannot be decrypted" in ended.stderr
    assert "2 matching records, 433 packets written" in ended.stderr
    secrets = tls_secrets(KEYS.read_bytes())
    assert b"TRAFFIC_SECRET" not in one.read_bytes()
    one.write_bytes(one.read_bytes()[:28] + secrets + one.read_bytes()[28:])
    assert run_text("slice", one, *words, other).returncode == 0
    assert "292 frames" in run_text("decode", other).stderr


def test_diff_with_the_twin_in_the_clear() -> None:
    ended = run_text("diff", SEALED, CLEAR, "--keylog", KEYS)
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "282 exchanges on 1 connection: no finding")


def test_conform_of_a_capture() -> None:
    sealed = run_text("conform", "offramp", "--capture", SEALED, "--keylog", KEYS)
    assert sealed.returncode == 0
    assert "32 pass" in sealed.stdout


@pytest.mark.parametrize(
    ("content", "code", "why"),
    [
        (None, 2, "no such file"),
        (b"", 3, "no secrets; expected lines of a label, a random value and a secret"),
        (b"hello\nyou\n", 3, "line 1: not LABEL RANDOM SECRET; expected a file as of SSLKEYLOGFILE"),
    ],
)
def test_files_that_are_no_key_logs(tmp_path: Path, content: bytes | None, code: int, why: str) -> None:
    path = tmp_path / "keys"
    if content is not None:
        path.write_bytes(content)
    ended = run_text("decode", SEALED, "--keylog", path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", f"wiretool: --keylog {path}: {why}\n")


def test_a_key_log_of_other_connections(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(KEYS.read_bytes().replace(b"448895", b"448896"))
    ended = run_text("decode", SEALED, "--keylog", path)
    expected = f"wiretool: --keylog {path}: decrypts none of the 1 TLS connection; expected the key log"
    assert expected in ended.stderr
    assert "the key log has no secrets of this connection" in ended.stdout
    lines = [line[:-4] + b"0000" for line in KEYS.read_bytes().splitlines() if line[:1] != b"#"]
    path.write_bytes(b"\n".join(lines) + b"\n")
    ended = run_text("decode", SEALED, "--keylog", path)
    assert ended.stdout.count("keys do not fit: the first encrypted record cannot be opened") == 2
    assert expected in ended.stderr
    ended = run_text("decode", CLEAR, "--keylog", KEYS, "--count", "1")
    assert f"--keylog {KEYS}: no connection is TLS; expected the key log" in ended.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("decode", "--hex", "-", "--protocol", "sbp", "--side", "client"), "--keylog: not allowed with --hex"),
        (("serve", "sbp"), "--keylog: requires --tls-cert"),
        (("tap", "sbp", "--upstream", "127.0.0.1:1"), "--keylog: requires --upstream-tls or --tls-cert"),
        (("conform", "offramp", "--list"), "--keylog: requires --capture"),
    ],
)
def test_commands_without_tls(words: tuple[str, ...], why: str) -> None:
    ended = run_text(*words, "--keylog", str(KEYS))
    assert ended.returncode == 2
    assert why in ended.stderr
