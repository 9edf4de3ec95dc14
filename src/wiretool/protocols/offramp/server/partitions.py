"""The messages of one partition by offset, the oldest of which may be gone."""


class Entry:
    """A message at its offset: the event's text as it is kept, and as it is without the grant PII."""

    __slots__ = ("blanked", "text")

    #: What a kept message costs beside its text.
    OVERHEAD_BYTES = 128

    def __init__(self, text: bytes, without_pii: bytes) -> None:
        self.text = text
        self.blanked = without_pii

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        other = 0 if self.blanked is self.text else len(self.blanked)
        return len(self.text) + other + self.OVERHEAD_BYTES


_GONE = Entry(b"", b"")
#: So many places of messages that are gone are given back at once.
_PLACES = 1_024


class Partition:
    """Messages in the order of their offsets, which begin at `first`."""

    def __init__(self, first: int = 0) -> None:
        self._entries: list[Entry] = []
        #: The offset of the first place in the list, and how many places behind it hold nothing any more.
        self._base = first
        self._gone = 0

    @property
    def first(self) -> int:
        """The oldest offset that is kept."""
        return self._base + self._gone

    @property
    def end(self) -> int:
        """The offset of the next message."""
        return self._base + len(self._entries)

    def at(self, offset: int) -> Entry:
        """The message at an offset from `first` on, below `end`."""
        assert self.first <= offset < self.end
        return self._entries[offset - self._base]

    def append(self, entry: Entry) -> None:
        """The next message."""
        self._entries.append(entry)

    def drop_oldest(self) -> int:
        """Forget the oldest message; the bytes that it took."""
        size = self._entries[self._gone].size
        self._entries[self._gone] = _GONE
        self._gone += 1
        if self._gone >= _PLACES and 2 * self._gone >= len(self._entries):
            del self._entries[: self._gone]
            self._base += self._gone
            self._gone = 0
        return size
