"""The lines of key logs."""

import pytest

from wiretool.capture.tls.keylog import KeyLog, KeyLogLineError

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
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_added(line: bytes, why: str) -> None:
    keys = KeyLog()
    with pytest.raises(KeyLogLineError) as caught:
        keys.add(LINE + line + LINE)
    assert (caught.value.number, caught.value.why, len(keys)) == (2, why, 0)


def test_a_last_line_that_is_not_complete_is_skipped() -> None:
    keys = KeyLog.of(LINE + b"CLIENT_RAN")
    assert len(keys) == 1


def test_new_lines_are_taken_once() -> None:
    keys = KeyLog.of(LINE)
    assert keys.take_new() == LINE
    assert keys.take_new() == b""
    keys.add(LINE)
    assert KeyLog.of(keys.take_new()).secrets_of(bytes.fromhex(RANDOM)) == {"CLIENT_RANDOM": b"\x0b" * 48}
