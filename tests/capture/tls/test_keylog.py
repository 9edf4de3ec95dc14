"""The lines of key logs."""

from pathlib import Path

import pytest

from wiretool.capture.tls.keylog import KeyLog, KeyLogLineError
from wiretool.commands.options import keys_from
from wiretool.errors import UsageError

RANDOM = "0a" * 32
LINE = f"CLIENT_RANDOM {RANDOM} {'0b' * 48}\n".encode()


def test_secrets_are_found_by_random_value_and_label() -> None:
    keys = KeyLog.of(b"# a comment\r\n\n" + LINE + LINE.replace(b"CLIENT_RANDOM", b"EXPORTER_SECRET"))
    assert keys.secrets_of(bytes.fromhex(RANDOM)) == dict.fromkeys(("CLIENT_RANDOM", "EXPORTER_SECRET"), b"\x0b" * 48)
    assert keys.secrets_of(bytes(32)) == {}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"CLIENT_RANDOM\n", "not LABEL RANDOM SECRET"),
        (b"\x00\xff\xd4\xc3\n", "not LABEL RANDOM SECRET"),
        (b"CLIENT_RANDOM 0a0 0b\n", "half a byte at the end of a value of CLIENT_RANDOM"),
        (b"CLIENT_RANDOM 0a0b 0b\n", "a random value of 2 bytes; expected 32"),
        (LINE[:-3] + b"\n", "a secret of 47 bytes for CLIENT_RANDOM; expected 48"),
        (
            f"SERVER_TRAFFIC_SECRET_0 {RANDOM} {'0b' * 9000}\n".encode(),
            "a secret of 9000 bytes for SERVER_TRAFFIC_SECRET_0; expected 32 or 48",
        ),
    ],
)
def test_a_malformed_line_is_named_and_the_others_are_added(line: bytes, why: str) -> None:
    keys = KeyLog()
    with pytest.raises(KeyLogLineError) as caught:
        keys.add(LINE + line + LINE.replace(b"0a", b"0c"))
    assert (caught.value.number, caught.value.why, len(keys)) == (2, why, 2)


def test_a_last_line_that_is_not_complete_is_skipped() -> None:
    for cut in (10, len(LINE) - 3):
        keys = KeyLog.of(LINE + LINE.replace(b"0a", b"0c")[:cut])
        assert len(keys) == 1


def test_secrets_of_too_many_connections_are_skipped_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wiretool.capture.tls.keylog.TLS_SECRETS_MAX", 2)
    reported: list[str] = []
    keys = KeyLog(reported.append)
    keys.add(b"".join(LINE.replace(b"0a", number) for number in (b"01", b"02", b"03", b"04", b"01")))
    assert (len(keys), reported) == (2, ["TLS secrets of more than 2 connections: the rest is skipped"])


def test_a_file_that_grows_is_read_again_for_a_secret_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(LINE + b"CLIENT_RANDOM 0c0c")
    keys = keys_from(path, is_live=True)
    assert not keys.secrets_of(b"\x0c" * 32)
    path.write_bytes(LINE + LINE.replace(b"0a", b"0c"))
    assert keys.secret_of(b"\x0c" * 32, "CLIENT_RANDOM") == b"\x0b" * 48
    assert keys.secret_of(b"\x0a" * 32, "CLIENT_RANDOM") == b"\x0b" * 48
    path.unlink()
    with pytest.raises(UsageError, match=r"--keylog .*keys: no such file"):
        keys.secrets_of(bytes(32))


def test_new_lines_are_taken_once() -> None:
    keys = KeyLog.of(LINE)
    assert keys.take_new() == LINE
    assert keys.take_new() == b""
    keys.add(LINE)
    assert KeyLog.of(keys.take_new()).secrets_of(bytes.fromhex(RANDOM)) == {"CLIENT_RANDOM": b"\x0b" * 48}
