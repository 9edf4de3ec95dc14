"""Description in reports of the bytes that a case altered."""

import pytest

from wiretool.conformance.active.change import HEX_SHOWN, change_of

VALID = bytes(range(20))


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (VALID, ""),
        (VALID[:12], "cut to 12 of 20 bytes"),
        (b"", "cut to 0 of 20 bytes"),
        (VALID[:4] + b"\x18" + VALID[5:], "from byte 4: 18 instead of 04"),
        (VALID[:4] + b"\x18\x05\x18" + VALID[7:], "from byte 4: 180518 instead of 040506"),
        (VALID + b"more", "24 bytes instead of 20, from byte 20: 6d6f7265"),
        (VALID[1:], "19 bytes instead of 20, from byte 0: 0102030405060708090a0b0c0d0e0f10..."),
    ],
)
def test_a_change_in_words(sent: bytes, words: str) -> None:
    assert change_of(VALID, sent) == words


def test_a_long_change_is_cut() -> None:
    words = change_of(bytes(1000), b"\xff" * 1000)
    assert words == f"from byte 0: {'ff' * HEX_SHOWN}... instead of {'00' * HEX_SHOWN}..."
