import pytest

from wiretool.capture.tcp import fragments
from wiretool.capture.tcp.fragments import DATAGRAM_WAIT_NS, Fragment, Fragments

KEY = (b"ends", 1)


def piece(offset: int, data: bytes, *, last: bool = False, key: tuple[bytes, int] = KEY, time_ns: int = 0) -> Fragment:
    return Fragment(key, time_ns, 6, offset, last, data)


def test_a_whole_datagram() -> None:
    waiting = Fragments()
    assert waiting.add(piece(8, b"B" * 4, last=True)) is None
    assert waiting.add(piece(0, b"A" * 8)) == (6, b"A" * 8 + b"B" * 4)
    assert waiting.lost == 0


def test_of_overlapping_fragments_the_one_before_counts() -> None:
    waiting = Fragments()
    waiting.add(piece(0, b"A" * 16))
    assert waiting.add(piece(8, b"B" * 16, last=True)) == (6, b"A" * 16 + b"B" * 8)


def test_enough_bytes_in_the_wrong_place_are_not_whole() -> None:
    waiting = Fragments()
    waiting.add(piece(0, b"A" * 8))
    waiting.add(piece(24, b"C" * 8))
    assert waiting.add(piece(16, b"B" * 4, last=True)) is None


def test_an_identification_that_comes_again_later_is_another_datagram() -> None:
    waiting = Fragments()
    waiting.add(piece(0, b"A" * 8))
    assert waiting.add(piece(8, b"B", last=True, time_ns=DATAGRAM_WAIT_NS + 1)) is None
    assert waiting.lost == 2


def test_too_many_datagrams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "IP_DATAGRAMS_WAITING_MAX", 2)
    waiting = Fragments()
    for identification in range(3):
        waiting.add(piece(0, b"A" * 8, key=(b"ends", identification)))
    assert waiting.add(piece(8, b"B", last=True, key=(b"ends", 1))) == (6, b"A" * 8 + b"B")
    assert waiting.add(piece(8, b"B", last=True, key=(b"ends", 0))) is None


def test_too_many_fragments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "IP_FRAGMENTS_MAX", 3)
    waiting = Fragments()
    for at in range(1, 4):
        assert waiting.add(piece(at * 8, b"A" * 8)) is None
    assert waiting.lost == 3
    assert waiting.add(piece(0, b"A" * 8)) is None
