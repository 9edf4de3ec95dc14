"""What stands between frames and the bytes of one live connection, where that has a state of its own."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from wiretool.codec.message import Message
from wiretool.records import Record


class Said(NamedTuple):
    """Bytes that go out now, and the recorded frame that they say, or go on with; None where they say none."""

    record: Record | None
    data: bytes


class Carrier(ABC):
    """One live connection, which begins with its first frame."""

    @abstractmethod
    def say(self, record: Record, data: bytes) -> Sequence[Said]:
        """A recorded frame is said in `data`; what goes out now. EncodeError where it cannot be."""

    @abstractmethod
    def ask(self, message: Message) -> Sequence[Said]:
        """The same with a message of our own."""

    @abstractmethod
    def hear(self, data: bytes) -> Sequence[Said]:
        """The server has said bytes; what goes out at once."""
