"""The state of one table segment: its entries, and the log of updates whose offsets are their versions.

Nothing is checked here that a client could have got wrong, save the versions it asks for: tables.py does that.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from hashlib import sha256
from typing import NamedTuple

from wiretool import limits
from wiretool.protocols.pravega.structures import NONE_I64, TableEntry, TableKey

#: Versions that a key may be asked to have: any, and none because the key is not there.
ANY_VERSION, NOT_EXISTS = NONE_I64, -1
#: In front of every entry of the log: format (1), key length (4), value length (4), version where it is not the offset
#: (8). EntrySerializer.java.
HEADER_BYTES = 17
#: What an entry takes here beside its bytes, about.
_ENTRY_OVERHEAD_BYTES = 250
_SIGN = 0x80
_HASH_BYTES = 16


class Mismatch(Enum):
    """Why a key cannot be changed as it was asked."""

    BAD_VERSION = auto()
    DOES_NOT_EXIST = auto()


class Entry(NamedTuple):
    """An entry of the log. `version` is its offset, unless compaction has moved it. Without a value: a removal."""

    offset: int
    version: int
    key: bytes
    value: bytes | None

    @property
    def size(self) -> int:
        """Bytes in the log."""
        return HEADER_BYTES + len(self.key) + len(self.value or b"")

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.offset + self.size

    def serialized(self) -> bytes:
        """Its bytes in the log."""
        value_length = -1 if self.value is None else len(self.value)
        version = NONE_I64 if self.version == self.offset else self.version
        lengths = len(self.key).to_bytes(4, "big") + value_length.to_bytes(4, "big", signed=True)
        return b"\0" + lengths + version.to_bytes(8, "big", signed=True) + self.key + (self.value or b"")


class Delta(NamedTuple):
    """What changed behind a position: every key once, none that was removed in the same page."""

    entries: Sequence[Entry]
    #: The position is gone: what the client has is to be cleared first.
    should_clear: bool
    reached_end: bool
    last_position: int


class TableSegment:
    """One table. `key_length` 0: keys of any length, ordered by their hash; else all have that length and sort."""

    def __init__(self, name: str, key_length: int, now_ns: int) -> None:
        self.name = name
        self.key_length = key_length
        self.is_sealed = False
        self.modified_ns = now_ns
        #: The log holds the offsets from `start_offset` to `length`.
        self.start_offset = 0
        self.length = 0
        self._log: list[Entry] = []
        self._log_bytes = 0
        #: Entries in use by the rank of their key, and the ranks in their order.
        self._entries: dict[bytes, Entry] = {}
        self._ranks: list[bytes] = []
        self._used_bytes = 0

    @property
    def is_hash(self) -> bool:
        """Whether keys may have any length, and hash order."""
        return self.key_length == 0

    @property
    def entry_count(self) -> int:
        """Keys that are there."""
        return len(self._entries)

    @property
    def held_bytes(self) -> int:
        """What the table takes of memory, about."""
        return self._log_bytes + _ENTRY_OVERHEAD_BYTES * (len(self._log) + 1)

    @property
    def has_waste(self) -> bool:
        """Whether entries that were replaced or removed are still kept."""
        return self._log_bytes > self._used_bytes

    def rank(self, key: bytes) -> bytes:
        """What the key is ordered by: itself, or its hash, compared as the two signed numbers of a Java UUID."""
        return key if self.key_length else flipped(sha256(key).digest()[:_HASH_BYTES])

    # -- changing --------------------------------------------------------------------------------------------------

    def mismatch(self, keys: Iterable[TableKey]) -> Mismatch | None:
        """The trouble with the first key whose version is not the one it asks for."""
        for key in keys:
            wanted = key.key_version
            if wanted == ANY_VERSION:
                continue
            entry = self._entries.get(self.rank(key.data))
            if entry is None and wanted != NOT_EXISTS:
                return Mismatch.DOES_NOT_EXIST if self.is_hash else Mismatch.BAD_VERSION
            if entry is not None and wanted != entry.version:
                return Mismatch.BAD_VERSION
        return None

    def put(self, entries: Iterable[TableEntry], now_ns: int) -> tuple[int, ...]:
        """Set the values of keys, whatever versions they have; the versions they have then."""
        versions = tuple(self._put(entry.key.data, entry.value.data) for entry in entries)
        self._changed(now_ns)
        return versions

    def remove(self, keys: Iterable[TableKey], now_ns: int) -> None:
        """Remove keys, those that are not there too: a hash table logs each removal, the other kind none."""
        for key in keys:
            rank = self.rank(key.data)
            old = self._entries.pop(rank, None)
            if old is not None:
                self._used_bytes -= old.size
                del self._ranks[bisect_left(self._ranks, rank)]
            if self.is_hash:
                self._append(key.data, None)
        self._changed(now_ns)

    def seal(self, now_ns: int) -> None:
        """Let nothing be changed any more."""
        self.is_sealed = True
        self.modified_ns = now_ns

    def _put(self, key: bytes, value: bytes) -> int:
        rank = self.rank(key)
        old = self._entries.get(rank)
        entry = self._entries[rank] = self._append(key, value)
        self._used_bytes += entry.size
        if old is None:
            insort(self._ranks, rank)
        else:
            self._used_bytes -= old.size
        return entry.version

    def _append(self, key: bytes, value: bytes | None, version: int | None = None) -> Entry:
        entry = Entry(self.length, self.length if version is None else version, key, value)
        self._log.append(entry)
        self.length = entry.end
        self._log_bytes += entry.size
        return entry

    def _changed(self, now_ns: int) -> None:
        self.modified_ns = now_ns
        if self._log_bytes - self._used_bytes > self._used_bytes + limits.MOCK_TABLE_WASTE_BYTES:
            self.compact()

    def compact(self) -> None:
        """Write what is in use anew, each entry with the version it has, and drop the log before that."""
        used = sorted(self._entries.items(), key=lambda item: item[1].offset)
        self.start_offset = self.length
        self._log, self._log_bytes = [], 0
        for rank, entry in used:
            self._entries[rank] = self._append(entry.key, entry.value, entry.version)

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, key: bytes) -> Entry | None:
        """The entry of a key."""
        return self._entries.get(self.rank(key))

    def behind(self, rank: bytes) -> Iterator[Entry]:
        """The entries of all ranks above one, in their order."""
        for index in range(bisect_right(self._ranks, rank), len(self._ranks)):
            yield self._entries[self._ranks[index]]

    def between(self, first: bytes, last: bytes | None) -> Iterator[Entry]:
        """The entries of the ranks from `first` to `last`, both of them too, in their order; None: to the end."""
        stop = len(self._ranks) if last is None else bisect_right(self._ranks, last)
        for index in range(bisect_left(self._ranks, first), stop):
            yield self._entries[self._ranks[index]]

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes of the log from an offset in it on."""
        if offset >= self.length:
            return b""
        index = bisect_right(self._log, offset, key=lambda entry: entry.offset) - 1
        skip = offset - self._log[index].offset
        found = bytearray()
        while index < len(self._log) and len(found) < skip + size:
            found += self._log[index].serialized()
            index += 1
        return bytes(found[skip : skip + size])

    def delta(self, position: int, count: int) -> Delta | None:
        """A page of what changed from a position on, up to `count` entries; None where no entry begins there."""
        should_clear = position < self.start_offset
        index = bisect_left(self._log, max(position, self.start_offset), key=lambda entry: entry.offset)
        if position < 0 or (not should_clear and not self._begins(index, position)):
            return None
        found: dict[bytes, Entry] = {}
        size = 0
        last: Entry | None = None
        while index < len(self._log) and len(found) < count and size < limits.PRAVEGA_TABLE_PAGE_BYTES:
            entry = last = self._log[index]
            index += 1
            old = found.pop(entry.key, None)
            size -= old.size if old else 0
            if entry.value is not None:
                found[entry.key] = entry
                size += entry.size
        if last is None:
            return Delta((), should_clear, reached_end=True, last_position=0)
        return Delta(tuple(found.values()), should_clear, last.end == self.length, last.end)

    def _begins(self, index: int, position: int) -> bool:
        return position == (self._log[index].offset if index < len(self._log) else self.length)


def flipped(digest: bytes) -> bytes:
    """Both halves with their sign bits turned: from numbers with a sign to bytes in their order, or back."""
    return bytes((digest[0] ^ _SIGN,)) + digest[1:8] + bytes((digest[8] ^ _SIGN,)) + digest[9:]
