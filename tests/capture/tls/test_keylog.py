"""The lines of key logs."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from wiretool.capture.tls.keylog import KeyLog, KeyLogLineError
from wiretool.commands.options import keys_from
from wiretool.errors import InputError, UsageError

RANDOM = "0a" * 32
LINE = f"CLIENT_RANDOM {RANDOM} {'0b' * 48}\n".encode()


def test_secrets_are_found_by_random_value_and_label() -> None:
    other = LINE.replace(b"CLIENT_RANDOM", b"SERVER_TRAFFIC_SECRET_0")
    keys = KeyLog.of(b"# a comment\r\n\n" + LINE + other)
    labels = "CLIENT_RANDOM", "SERVER_TRAFFIC_SECRET_0"
    assert keys.secrets_of(bytes.fromhex(RANDOM)) == dict.fromkeys(labels, b"\x0b" * 48)
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


def test_labels_that_are_not_used_take_no_memory() -> None:
    """Any program may add labels of its own (RFC 9850 §2)."""
    others = (f"LABEL_{number} {RANDOM} {'0b' * 48}\n".encode() for number in range(100))
    keys = KeyLog.of(b"".join(others) + f"RSA 0011223344556677 {'0b' * 48}\n".encode(), keeps_new=True)
    assert (len(keys), keys.secrets_of(bytes.fromhex(RANDOM)), keys.take_new()) == (0, {}, b"")


def test_new_lines_are_taken_once() -> None:
    keys = KeyLog.of(LINE, keeps_new=True)
    assert keys.take_new() == LINE
    assert keys.take_new() == b""
    keys.add(LINE)
    assert keys.take_new() == b"", "the capture was read again"
    keys.add(LINE.replace(b"0b", b"0c"))
    assert KeyLog.of(keys.take_new()).secrets_of(bytes.fromhex(RANDOM)) == {"CLIENT_RANDOM": b"\x0c" * 48}


def test_all_secrets_as_lines() -> None:
    lines = LINE + LINE.replace(b"CLIENT_RANDOM", b"SERVER_TRAFFIC_SECRET_0") + LINE.replace(b"0a", b"0c")
    assert KeyLog.of(lines + b"# more\n" + lines).lines() == lines


# -- files ------------------------------------------------------------------------------------------------------------


def line_of(number: int) -> bytes:
    return f"CLIENT_RANDOM {number:064x} {'0b' * 48}\n".encode()


def has(keys: KeyLog, number: int) -> bool:
    return bool(keys.secret_of(number.to_bytes(32), "CLIENT_RANDOM"))


def test_a_file_that_grows_is_read_again_for_a_secret_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(line_of(1) + line_of(2)[:20])
    keys = keys_from(path, is_live=True)
    assert not has(keys, 2)
    with path.open("ab") as file:
        file.write(line_of(2)[20:])
    assert has(keys, 2)
    assert has(keys, 1)


def removed(path: Path) -> None:
    path.unlink()


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def truncated(path: Path) -> None:
    path.write_bytes(line_of(7))


def replaced(path: Path) -> None:
    new = path.with_name("new")
    new.write_bytes(line_of(7) + line_of(8) + line_of(9))
    new.rename(path)


@pytest.mark.parametrize(
    ("change", "why", "is_read"),
    [
        (removed, "no such file; the secrets that were read before stay in use", False),
        (made_a_folder, "is not a regular file any more; the secrets that were read before stay in use", False),
        (truncated, "was truncated; it is read from its beginning", True),
        (replaced, "was replaced; the new file is read from its beginning", True),
    ],
)
def test_a_file_that_changes_is_reported_once(
    change: Callable[[Path], None],
    why: str,
    is_read: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "keys"
    path.write_bytes(line_of(1) + line_of(2))
    keys = keys_from(path, is_live=True)
    change(path)
    assert [has(keys, number) for number in (7, 6, 5, 2)] == [is_read, False, False, True]
    assert capsys.readouterr().err == f"wiretool: --keylog {path}: {why}\n"


@pytest.mark.parametrize(("lines", "why"), [(40, ""), (400, "more than 32,000 bytes in a pipe; expected a file")])
def test_a_pipe_is_read_to_its_end(lines: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wiretool.commands.growing_file.KEYLOG_READ_BYTES_MAX", 1000)
    monkeypatch.setattr("wiretool.commands.growing_file.KEYLOG_PIPE_BYTES_MAX", 32_000)
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write() -> None:
        with suppress(BrokenPipeError), path.open("wb") as file:
            file.write(b"".join(map(line_of, range(lines))))

    writer = Thread(target=write)
    writer.start()
    try:
        if why:
            with pytest.raises(UsageError, match=f"^--keylog {path}: {why}$"):
                keys_from(path)
        else:
            keys = keys_from(path)
            assert all(has(keys, number) for number in range(lines))
    finally:
        writer.join(10)
    assert not writer.is_alive()


def test_a_file_that_comes_back_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "keys"
    path.write_bytes(line_of(1))
    keys = keys_from(path, is_live=True)
    path.rename(tmp_path / "keys.1")
    assert not has(keys, 2)
    path.write_bytes(line_of(2))
    assert has(keys, 2)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_lines_written_again_in_the_same_length(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(line_of(1))
    keys = keys_from(path, is_live=True)
    path.write_bytes(line_of(2))
    os.utime(path, ns=(0, 0))
    assert has(keys, 2)


def test_malformed_lines_that_are_added_are_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "keys"
    path.write_bytes(line_of(1))
    keys = keys_from(path, is_live=True)
    for number in (2, 3):
        with path.open("ab") as file:
            file.write(b"garbage\n" + line_of(number))
        assert has(keys, number)
    expected = (
        "wiretool: key log: malformed lines that were added are skipped, the first one: not LABEL RANDOM SECRET\n"
    )
    assert capsys.readouterr().err == expected


def test_a_big_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wiretool.commands.growing_file.KEYLOG_READ_BYTES_MAX", 400)
    path = tmp_path / "keys"
    lines = b"".join(map(line_of, range(9)))
    path.write_bytes(lines[:-1])
    assert len(keys_from(path)) == 9
    path.write_bytes(lines + b"garbage\n")
    with pytest.raises(InputError, match=r"keys: line 10: not LABEL RANDOM SECRET"):
        keys_from(path)
    path.write_bytes(lines + bytes(1000))
    with pytest.raises(UsageError, match=r"keys: 400 bytes without an end of a line; expected a key log"):
        keys_from(path)
