"""The first messages of a TLS connection: versions, random values, server name (RFC 8446 §4.1, RFC 6066 §3)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

#: Types of records (RFC 8446 §5.1).
CHANGE_CIPHER, ALERT, HANDSHAKE, DATA = 20, 21, 22, 23
#: Types of handshake messages (RFC 8446 §4).
CLIENT_HELLO, SERVER_HELLO, SESSION_TICKET, END_OF_EARLY_DATA, ENCRYPTED_EXTENSIONS, FINISHED, KEY_UPDATE = (
    1, 2, 4, 5, 8, 20, 24,
)  # fmt: skip
#: Extensions.
_SERVER_NAME, _ENCRYPT_THEN_MAC, EARLY_DATA, _SUPPORTED_VERSIONS = 0, 22, 42, 43
#: The random value that makes a ServerHello a HelloRetryRequest (RFC 8446 §4.1.3).
_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
TLS_1_2, TLS_1_3 = 0x0303, 0x0304
_VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", TLS_1_2: "TLS 1.2", TLS_1_3: "TLS 1.3"}
#: Bytes before a record's body, and before a handshake message's.
RECORD_HEADER_BYTES, MESSAGE_HEADER_BYTES = 5, 4
#: Most bytes in the body of a record that is encrypted (RFC 5246 §6.2.3).
RECORD_BYTES_MAX = 16_384 + 2_048
#: Most bytes of a handshake message that is put together; certificate chains have less.
MESSAGE_BYTES_MAX = 128 * 1024


class ClientHello(NamedTuple):
    """The first message of a client."""

    random: bytes
    server_name: str
    has_early_data: bool


class ServerHello(NamedTuple):
    """The answer of the server: the version and cipher suite of the connection."""

    random: bytes
    version: int
    suite: int
    is_retry: bool
    encrypts_then_macs: bool


class MalformedHello(ValueError):
    """A hello that ends within a field."""


def version_name(version: int) -> str:
    """Return the name of a version."""
    return _VERSIONS.get(version, f"TLS version 0x{version:04x}")


def is_record_header(data: bytes, at: int) -> bool:
    """Return whether the header of a TLS record may stand at a place of which five bytes are there."""
    kind, major, minor = data[at : at + 3]
    length = int.from_bytes(data[at + 3 : at + 5], "big")
    return CHANGE_CIPHER <= kind <= DATA and major == 3 and minor <= 4 and length <= RECORD_BYTES_MAX


def is_client_hello(data: bytes) -> bool:
    """Return whether the bytes of a client, six or more, begin as a TLS connection does."""
    has_type = data[5:6] == bytes([CLIENT_HELLO])
    return len(data) > RECORD_HEADER_BYTES and has_type and data[0] == HANDSHAKE and is_record_header(data, 0)


def first_message(data: bytes) -> bytes | None:
    """Return the first handshake message in the first bytes of a side; None where it is not complete."""
    at, body = 0, b""
    while at + RECORD_HEADER_BYTES <= len(data) and data[at] == HANDSHAKE and is_record_header(data, at):
        length = int.from_bytes(data[at + 3 : at + 5], "big")
        body += data[at + 5 : at + 5 + length]
        at += RECORD_HEADER_BYTES + length
        if len(body) >= MESSAGE_HEADER_BYTES and len(body) >= message_length(body):
            return body[: message_length(body)]
    return None


def message_length(data: bytes) -> int:
    """Return the length of a handshake message, of which the header is there, in bytes with the header."""
    return MESSAGE_HEADER_BYTES + int.from_bytes(data[1:4], "big")


def read_client_hello(message: bytes) -> ClientHello:
    """Return a ClientHello; MalformedHello for one that ends within a field."""
    reader = _Reader(message, MESSAGE_HEADER_BYTES)
    reader.take(2)
    random = reader.take(32)
    reader.vector(1)  # session
    reader.vector(2)  # suites
    reader.vector(1)  # compression
    extensions = reader.extensions()
    return ClientHello(random, _server_name(extensions), EARLY_DATA in extensions)


def read_server_hello(message: bytes) -> ServerHello:
    """Return a ServerHello or HelloRetryRequest; MalformedHello for one that ends within a field."""
    reader = _Reader(message, MESSAGE_HEADER_BYTES)
    version = reader.number(2)
    random = reader.take(32)
    reader.vector(1)  # session
    suite = reader.number(2)
    reader.take(1)  # compression
    extensions = reader.extensions()
    if len(selected := extensions.get(_SUPPORTED_VERSIONS, b"")) == 2:
        version = int.from_bytes(selected, "big")
    return ServerHello(random, version, suite, random == _RETRY, _ENCRYPT_THEN_MAC in extensions)


def accepts_early_data(message: bytes) -> bool:
    """Return whether EncryptedExtensions accept early data; MalformedHello if they end within a field."""
    return EARLY_DATA in _Reader(message, MESSAGE_HEADER_BYTES).extensions()


def _server_name(extensions: Mapping[int, bytes]) -> str:
    """Return the host name that a client asks for; empty if there is none."""
    if _SERVER_NAME not in extensions:
        return ""
    reader = _Reader(extensions[_SERVER_NAME], 0)
    names = _Reader(reader.vector(2), 0)
    kind, name = names.number(1), names.vector(2)
    return name.decode("ascii", "backslashreplace") if kind == 0 else ""


class _Reader:
    """Takes fields from the bytes of a message."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        end = self._at + size
        if end > len(self._data):
            raise MalformedHello(f"ends at byte {len(self._data)}; expected {end} bytes")
        taken, self._at = self._data[self._at : end], end
        return taken

    def number(self, size: int) -> int:
        """Return the next number of so many bytes."""
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> bytes:
        """Return the next bytes whose length is a number of so many bytes."""
        return self.take(self.number(size))

    def extensions(self) -> Mapping[int, bytes]:
        """Return the extensions by type; there may be none."""
        if self._at == len(self._data):
            return {}
        return dict(_Reader(self.vector(2), 0)._pairs())

    def _pairs(self) -> Iterator[tuple[int, bytes]]:
        while self._at < len(self._data):
            yield self.number(2), self.vector(2)
