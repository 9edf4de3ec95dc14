"""Pages of an iteration over a table, and the tokens that say where the next one begins.

A token has the form of the real store's (VersionedSerializer.java): what a client got from one works with the other.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from wiretool import limits
from wiretool.errors import DecodeError
from wiretool.protocols.pravega.server.table_segment import Entry, TableSegment, flipped
from wiretool.protocols.pravega.structures import TableIteratorArgs

#: Format 0, version 0, one revision, of number 0; its length follows.
_REVISION = bytes((0, 0, 1, 0))
_HASH_BYTES = 16
_HASH_TOKEN = _REVISION + _HASH_BYTES.to_bytes(4, "big")
_ONE_BYTE_MAX, _TWO_BYTES = 0x7F, 0x8000
#: Keys of a fixed length come in batches, and only between two of them is looked whether the page is full.
_BATCH_ENTRIES, _BATCH_BYTES = 128, 1024 * 1024


def page_of(table: TableSegment, args: TableIteratorArgs, count: int) -> tuple[Sequence[Entry], bytes]:
    """The next entries, about `count` of them, and the token to go on with; none where nothing is left.

    DecodeError: the token is none.
    """
    return _hash_page(table, args, count) if table.is_hash else _sorted_page(table, args, count)


def _hash_page(table: TableSegment, args: TableIteratorArgs, count: int) -> tuple[Sequence[Entry], bytes]:
    after = _rank_of(args.continuation_token) if args.continuation_token else b""
    found = _up_to(table.behind(after), count, limits.PRAVEGA_TABLE_PAGE_BYTES)
    return found, _HASH_TOKEN + flipped(table.rank(found[-1].key)) if found else b""


def _sorted_page(table: TableSegment, args: TableIteratorArgs, count: int) -> tuple[Sequence[Entry], bytes]:
    entries = table.between(args.from_key, args.to_key or None)
    found: list[Entry] = []
    size = 0
    while len(found) < count and size < limits.PRAVEGA_TABLE_PAGE_BYTES:
        batch = _up_to(entries, _BATCH_ENTRIES, _BATCH_BYTES)
        if not batch:
            break
        found += batch
        size += sum(entry.size for entry in batch)
    return found, _sorted_token(found[-1].key) if found else b""


def _up_to(entries: Iterator[Entry], count: int, size: int) -> list[Entry]:
    """The next entries, until there are `count` or they have `size` bytes."""
    found: list[Entry] = []
    for entry in islice(entries, max(count, 0)):
        found.append(entry)
        size -= entry.size
        if size <= 0:
            break
    return found


def _rank_of(token: bytes) -> bytes:
    """The rank of the last key that was sent."""
    if len(token) != len(_HASH_TOKEN) + _HASH_BYTES or not token.startswith(_HASH_TOKEN):
        raise DecodeError("bad-continuation-token", f"no token of this store: {token[:32].hex()}")
    return flipped(token[len(_HASH_TOKEN) :])


def _sorted_token(key: bytes) -> bytes:
    length = len(key)
    compact = bytes((length,)) if length <= _ONE_BYTE_MAX else (_TWO_BYTES | length).to_bytes(2, "big")
    return _REVISION + (len(compact) + length).to_bytes(4, "big") + compact + key
