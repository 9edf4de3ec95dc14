"""What every sink does."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wiretool.records import Record


class Column(NamedTuple):
    """One chosen value of a record: its name, and how to get at it (None where the record has none)."""

    name: str
    value_in: Callable[[Record], Any]


Columns = Sequence[Column]


class Sink(ABC):
    """Takes records in order. `begin` before the first, `end` after the last, even when reading broke off."""

    @property
    def notice(self) -> str:
        """A notice of what could not be shown of the records written so far; empty if all was."""
        return ""

    def begin(self) -> None:  # noqa: B027  (most forms have nothing in front)
        """Write what stands in front of the records."""

    @abstractmethod
    def write(self, record: Record) -> None:
        """Write one record."""

    def skip(self, record: Record) -> None:  # noqa: B027  (most forms need not know)
        """Take note of a record that is not shown."""

    def flush(self) -> None:  # noqa: B027  (most forms keep nothing back)
        """Write all records that were kept back to be written together."""

    def end(self) -> None:  # noqa: B027
        """Write what stands behind the records."""
