"""Remembered results: by the bytes that a function reads, and only inside a block that asks for it."""

import pytest

from wiretool.codec import remembering as module
from wiretool.codec.remembering import ResultCache, remembered, remembered_bytes, remembering

calls: list[bytes] = []


@remembered
def parts_of(mark: str, data: bytes, at: int, end: int, *, is_reversed: bool = False) -> list[str]:
    """Split data; ValueError for none."""
    calls.append(data[at:end])
    if at == end:
        raise ValueError("nothing to split")
    parts = data[at:end].decode().split(mark)
    return parts[::-1] if is_reversed else parts


@pytest.fixture(autouse=True)
def fresh() -> None:
    calls.clear()


def test_nothing_is_remembered_by_itself() -> None:
    assert parts_of("a", b"bac", 0, 3) == parts_of("a", b"bac", 0, 3) == ["b", "c"]
    assert len(calls) == 2


def test_the_same_bytes_elsewhere_give_the_same_result() -> None:
    with remembering(is_on=True):
        first = parts_of("-", b"1-2", 0, 3)
        assert parts_of("-", b"xx1-2yy", 2, 5) is first
    assert len(calls) == 1


def test_results_depend_on_all_arguments() -> None:
    with remembering(is_on=True):
        assert parts_of("+", b"1+2-3", 0, 5) == ["1", "2-3"]
        assert parts_of("-", b"1+2-3", 0, 5) == ["1+2", "3"]
        assert parts_of("-", b"1+2-3", 0, 5, is_reversed=True) == ["3", "1+2"]
        assert parts_of("-", b"1+2-3", 0, 3) == ["1+2"]


def test_exceptions_and_long_data_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BYTES_MAX", 4)
    with remembering(is_on=True):
        for _ in range(2):
            with pytest.raises(ValueError, match="nothing to split"):
                parts_of("-", b"", 0, 0)
            assert parts_of("-", b"abcde", 0, 5) == ["abcde"]
    assert len(calls) == 4


def test_few_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESULTS_MAX", 4)
    with remembering(is_on=True):
        for number in (*range(10, 20), 19, 18, 10):
            parts_of("-", b"%d" % number, 0, 2)
    assert calls[10:] == [b"10"]


def test_a_block_inside_may_switch_it_off() -> None:
    with remembering(is_on=True):
        parts_of("/", b"1/2", 0, 3)
        with remembering(is_on=False):
            parts_of("/", b"1/2", 0, 3)
        parts_of("/", b"1/2", 0, 3)
    assert len(calls) == 2


@remembered_bytes
def text_of(numbers: tuple[int, ...]) -> bytes:
    """Write numbers."""
    calls.append(bytes(numbers))
    return b",".join(b"%d" % number for number in numbers)


def test_bytes_of_a_value_are_remembered_in_a_block() -> None:
    for is_on in (False, True):
        with remembering(is_on=is_on):
            assert [text_of((1, 2)), text_of((1, 2)), text_of((3,))] == [b"1,2", b"1,2", b"3"]
    assert len(calls) == 3 + 2


def test_long_bytes_of_a_value_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BYTES_MAX", 2)
    with remembering(is_on=True):
        assert text_of((7, 8)) == text_of((7, 8)) == b"7,8"
    assert len(calls) == 2


def test_a_cache_drops_its_older_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESULTS_MAX", 4)
    cache: ResultCache[int, str] = ResultCache()
    for number in range(5):
        cache.put(number, str(number))
    assert [cache.get(number) for number in range(5)] == [None, None, "2", "3", "4"]
