"""Header blocks (HPACK, RFC 7541) of one side, also where its earlier ones were not captured.

References into the table of earlier fields count back from the newest. So behind a hole each reference to a field
that was said since is certain, and each to one in front of the hole leads out of what is known: that one is null.
"""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

import msgspec
from hpack import Encoder
from hpack.exceptions import (
    HPACKDecodingError,
    InvalidTableIndexError,
    InvalidTableSizeError,
    OversizedHeaderListError,
)
from hpack.table import HeaderTable

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import DecodeError, EncodeError, OverLimit
from wiretool.protocols.pravega_controller.calls import SERVICE
from wiretool.protocols.pravega_controller.header_tables import RememberingDecoder
from wiretool.protocols.pravega_controller.messages import STATUS, Continuation, Headers

#: Name and value; null where it is not known.
Pair = tuple[str | None, str | None]
#: What the table has for a field that was said before it was watched. Told by its identity.
_UNKNOWN = bytes.fromhex("ff00ff")
#: What every table has at first (RFC 9113 §6.5.2).
TABLE_BYTES_DEFAULT = 4_096


class _Table(HeaderTable):
    """The table of one side; when not whole, fields may be in it that were not captured, or did not fit."""

    def __init__(self, *, is_whole: bool) -> None:
        super().__init__()
        self.is_whole = is_whole

    @property
    def maxsize(self) -> int:
        """The size in bytes, at most the limit: of a larger table, the oldest fields are not kept."""
        return self._maxsize

    @maxsize.setter
    def maxsize(self, size: int) -> None:
        if size > limits.HTTP2_TABLE_BYTES_MAX:
            self.is_whole, size = False, limits.HTTP2_TABLE_BYTES_MAX
        self.resized = size != self._maxsize
        self._maxsize = size
        self._shrink()

    def get_by_index(self, index: int) -> tuple[bytes, bytes]:
        if not self.is_whole and index > self.STATIC_TABLE_LENGTH + len(self.dynamic_entries):
            return _UNKNOWN, _UNKNOWN
        return super().get_by_index(index)


class HeaderReader:
    """Reads the header blocks of one side, one after another."""

    def __init__(self, *, is_whole: bool) -> None:
        self._decoder = RememberingDecoder(max_header_list_size=limits.HTTP2_HEADERS_BYTES_MAX)
        self._decoder.max_allowed_table_size = limits.HTTP2_TABLE_BYTES_MAX
        self._decoder.header_table = _Table(is_whole=is_whole)

    def allow(self, table_bytes: int) -> None:
        """Allow its table so many bytes, as its peer said."""
        self._decoder.max_allowed_table_size = table_bytes

    def forget(self) -> None:
        """Some block of this side is missing: all that it said before is unknown from now on."""
        self._decoder.header_table = _Table(is_whole=False)
        self._decoder.max_allowed_table_size = limits.HTTP2_TABLE_BYTES_MAX

    def split(self) -> tuple[bool, list[tuple[bytes, bytes]], int, bool, int]:
        """Return all of it as values."""
        decoder, table = self._decoder, self._decoder.header_table
        assert isinstance(table, _Table)
        return table.is_whole, list(table.dynamic_entries), table.maxsize, table.resized, decoder.max_allowed_table_size

    def restore(
        self,
        is_whole: bool,
        fields: list[tuple[bytes, bytes]],
        table_bytes: int,
        is_resized: bool,
        table_bytes_max: int,
    ) -> None:
        """Take over the values of another one. ValueError where no reader has them."""
        if not 0 <= table_bytes <= limits.HTTP2_TABLE_BYTES_MAX:
            raise ValueError(f"a header table of {table_bytes} bytes")
        HeaderReader.__init__(self, is_whole=is_whole)
        table = self._decoder.header_table
        table.maxsize = table_bytes
        for name, value in reversed(fields):
            table.add(*(_UNKNOWN if each == _UNKNOWN else each for each in (name, value)))
        table.resized = is_resized
        self.allow(table_bytes_max)

    def read(self, block: bytes) -> tuple[Pair, ...]:
        """The fields of a whole block; DecodeError where it is none, and then what was said before is unknown."""
        try:
            fields = self._decoder.decode(block, raw=True)
        except OversizedHeaderListError as err:
            self.forget()
            why = f"the header list has more than {limits.HTTP2_HEADERS_BYTES_MAX} bytes"
            raise OverLimit("headers_too_big", why, path="headers") from err
        except HPACKDecodingError as err:
            self.forget()
            raise DecodeError("bad_header_block", _describe(err), path="headers") from err
        return tuple((_text(name), _text(value)) for name, value in fields)


def _describe(err: HPACKDecodingError) -> str:
    """Return what is wrong with a block. The texts of the library name places in memory, others in every run."""
    if isinstance(err, InvalidTableIndexError):
        return "refers to an entry that the table of headers does not have"
    if isinstance(err, InvalidTableSizeError):
        return "sets a table size that its peer did not allow"
    return "the bytes are not a header block; expected HPACK (RFC 7541)"


def _text(raw: str | bytes) -> str | None:
    assert isinstance(raw, bytes)
    return None if raw is _UNKNOWN else raw.decode("latin-1")


def read_alone(block: bytes) -> tuple[Pair, ...]:
    """The fields of a block of which nothing before is known; DecodeError where it is none."""
    return HeaderReader(is_whole=False).read(block)


def write_headers(headers: Sequence[Pair]) -> bytes:
    """A block that means the same whatever was said before, and leaves no trace; EncodeError for unknown fields."""
    fields = []
    for name, value in headers:
        if name is None or value is None:
            raise EncodeError("a field that is not known cannot be written", path="headers")
        try:
            fields.append((name.encode("latin-1"), value.encode("latin-1"), True))
        except UnicodeEncodeError as err:
            raise EncodeError(f"a header is Latin-1: {err}", path="headers") from err
    return Encoder().encode(fields, huffman=False)


# -- what headers say of a call ----------------------------------------------------------------------------------------

_PATH = f"/{SERVICE}/"


class Meaning(NamedTuple):
    """What the headers of a request, an answer or its end say."""

    #: The target of a request, None in an answer, and where it is not known.
    path: str | None
    #: The method of the controller that it calls.
    method: str | None
    #: gRPC's status, by its name, and its text.
    grpc_status: str | int | None
    grpc_message: str | None


def meaning_of(headers: Sequence[Pair] | None) -> Meaning:
    """What those headers mean."""
    named = {name: value for name, value in headers or () if name is not None}
    path, status, text = named.get(":path"), named.get("grpc-status"), named.get("grpc-message")
    method = path[len(_PATH) :] if path is not None and path.startswith(_PATH) else None
    is_status = status is not None and status.isascii() and status.isdigit() and len(status) < 10
    return Meaning(
        path,
        method,
        STATUS.name_of(int(status)) if status is not None and is_status else None,
        None if text is None else unquote(text, errors="replace"),
    )


def lacks_status(headers: Sequence[Pair], *, is_first: bool) -> bool:
    """Whether headers of a server are none of a response (RFC 9113 §8.3.2).

    The first on a stream need a status, if all of them are known; those at its end have no field with a colon.
    """
    names = [name for name, _ in headers]
    is_known = is_first and None not in names
    return ":status" not in names and (is_known or any(name and name.startswith(":") for name in names))


def path_of(method: str) -> str:
    """The target of a request that calls a method of the controller."""
    return _PATH + method


def completed(message: Message) -> Message:
    """A Headers or Continuation whose first fields say what its headers mean; any other message as it is."""
    if not isinstance(message, Headers | Continuation):
        return message
    meaning = meaning_of(message.headers)
    said = {"method": meaning.method, "grpc_status": meaning.grpc_status, "grpc_message": meaning.grpc_message}
    return msgspec.structs.replace(message, **said)
