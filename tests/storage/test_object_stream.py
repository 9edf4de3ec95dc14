"""The stream of an object, over objects that fail at random."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool import limits
from wiretool.errors import RemoteError
from wiretool.storage.object_stream import ChangedError, ObjectInfo, ObjectStream, TransferError

CONTENT = bytes(range(256)) * 8


class Unreliable:
    """An object whose answers are cut to these lengths in turn; 0 fails, -1 is another version."""

    def __init__(self, answers: list[int], *, size: int = len(CONTENT)) -> None:
        self.answers = answers
        self.size = size
        self.is_closed = False

    def look(self) -> ObjectInfo:
        return ObjectInfo(self.size, "one")

    def fetch(self, at: int, size: int) -> bytes:
        length = self.answers.pop(0) if self.answers else size
        if not length:
            raise TransferError("it failed")
        if length < 0:
            raise ChangedError
        return CONTENT[at : at + min(length, size)]

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REMOTE_PAUSE_S", 0.0)
    monkeypatch.setattr(limits, "REMOTE_PROGRESS_BYTES", 64)
    monkeypatch.setattr(limits, "REMOTE_BLOCK_BYTES_MIN", 100)
    monkeypatch.setattr(limits, "REMOTE_BLOCK_BYTES_MAX", 300)


def read_all(stream: ObjectStream, size: int = 97) -> bytes:
    return b"".join(iter(lambda: stream.read(size) or b"", b""))


@given(st.lists(st.integers(-1, 400)), st.booleans())
def test_any_failures_give_the_content_or_state_the_byte(answers: list[int], has_size: bool) -> None:
    found = bytearray()
    with ObjectStream("x", Unreliable(answers, size=len(CONTENT) if has_size else -1)) as stream:
        failed_at = read_up_to_error(stream, found)
    assert bytes(found) == CONTENT[: len(found)]
    assert failed_at == len(found) if failed_at >= 0 else bytes(found) == CONTENT


def read_up_to_error(stream: ObjectStream, found: bytearray) -> int:
    """Add what is read; return the byte that the error states, -1 without one."""
    try:
        while data := stream.read(97):
            found += data
    except RemoteError as err:
        return err.offset or 0
    return -1


def test_an_object_that_ends_early_is_an_error() -> None:
    with (
        ObjectStream("x", Unreliable([], size=len(CONTENT) + 10)) as stream,
        pytest.raises(RemoteError, match=r"x: byte 2048: cannot be read: 5 attempts failed, .* ended 10 bytes early"),
    ):
        read_all(stream)


def test_failures_are_counted_from_the_last_progress_on() -> None:
    failures = [0] * (limits.REMOTE_ATTEMPTS_MAX - 1)
    with ObjectStream("x", Unreliable([*failures, 64, *failures, 64, *failures])) as stream:
        assert read_all(stream) == CONTENT
    with ObjectStream("x", Unreliable([*failures, 63, *failures])) as stream, pytest.raises(RemoteError):
        read_all(stream)


def test_blocks_grow_up_to_a_bound() -> None:
    asked: list[int] = []

    class Noted(Unreliable):
        def fetch(self, at: int, size: int) -> bytes:
            asked.append(size)
            return super().fetch(at, size)

    with ObjectStream("x", Noted([])) as stream:
        read_all(stream)
    assert asked[:4] == [100, 200, 300, 300]


def test_closing_closes_the_object() -> None:
    source = Unreliable([])
    with ObjectStream("x", source):
        assert not source.is_closed
    assert source.is_closed
