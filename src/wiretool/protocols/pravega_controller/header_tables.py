"""HPACK with remembered blocks: the meaning of a block depends on its bytes and on the table of earlier fields alone.

In fuzzing the same blocks come on connection after connection; elsewhere nothing is remembered.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from hpack import Decoder, Encoder, HeaderTuple
from hpack.table import HeaderTable

from wiretool.codec.remembering import BYTES_MAX, ResultCache

_Entries = tuple[tuple[bytes, bytes], ...]


class _TableState(NamedTuple):
    """The table of one side."""

    entries: _Entries
    size: int
    size_max: int
    is_resized: bool

    @classmethod
    def of(cls, table: HeaderTable) -> "_TableState":
        return cls(tuple(table.dynamic_entries), table._current_size, table.maxsize, table.resized)

    def restore(self, table: HeaderTable) -> None:
        """Give a table this state."""
        table.dynamic_entries = deque(self.entries)
        table._current_size, table._maxsize, table.resized = self.size, self.size_max, self.is_resized


_decoded: ResultCache[tuple[Any, ...], tuple[tuple[HeaderTuple, ...], _TableState]] = ResultCache()
_encoded: ResultCache[tuple[Any, ...], tuple[bytes, _TableState]] = ResultCache()


class RememberingDecoder(Decoder):
    """A decoder of header blocks."""

    def decode(self, data: bytes, raw: bool = False) -> Iterable[HeaderTuple]:
        """Return the fields of a block; exceptions are those of the library, and are not remembered."""
        table = self.header_table
        # A table that is not whole tells unknown fields by their identity, which a key does not have.
        if not _decoded.is_on or len(data) > BYTES_MAX or not getattr(table, "is_whole", True):
            return super().decode(data, raw)
        before = _TableState.of(table)
        key = bytes(data), raw, before, self.max_allowed_table_size, self.max_header_list_size
        found = _decoded.get(key)
        if found is None:
            fields = tuple(super().decode(data, raw))
            if getattr(table, "is_whole", True):
                _decoded.put(key, (fields, _TableState.of(table)))
            return list(fields)
        fields, after = found
        if after != before:
            after.restore(table)
        return list(fields)


def decoder_like(decoder: Decoder) -> RememberingDecoder:
    """Return a decoder with the bounds of another one that has read nothing."""
    made = RememberingDecoder(decoder.max_header_list_size)
    made.max_allowed_table_size = decoder.max_allowed_table_size
    return made


class RememberingEncoder(Encoder):
    """An encoder of header blocks."""

    def encode(self, headers: Any, huffman: bool = True) -> bytes:
        """Return the block of some fields."""
        if not _encoded.is_on or self.table_size_changes or isinstance(headers, dict):
            return super().encode(headers, huffman)
        fields = tuple(headers)
        before = _TableState.of(self.header_table)
        key = fields, tuple(map(_is_sensitive, fields)), huffman, before
        found = _encoded.get(key)
        if found is None:
            block = super().encode(fields, huffman)
            _encoded.put(key, (block, _TableState.of(self.header_table)))
            return block
        block, after = found
        if after != before:
            after.restore(self.header_table)
        return block


def _is_sensitive(header: Any) -> bool:
    return not header.indexable if isinstance(header, HeaderTuple) else len(header) > 2 and bool(header[2])
