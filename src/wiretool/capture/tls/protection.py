"""Opens protected records; the library `cryptography` does the ciphers, which is loaded with the first record."""

import hashlib
import hmac
from collections.abc import Callable
from typing import NamedTuple, Protocol

from wiretool.capture.tls.hello import DATA, RECORD_HEADER_BYTES
from wiretool.capture.tls.schedule import Keys
from wiretool.capture.tls.suites import Suite

#: Bytes of a nonce that stand in a record, of a tag, and of a block of AES.
_EXPLICIT_BYTES, _TAG_BYTES, _BLOCK_BYTES = 8, 16, 16


class Opened(NamedTuple):
    """The type and content of a record."""

    kind: int
    content: bytes


class Protection(Protocol):
    """The records of one side that one set of keys protects."""

    def open(self, record: bytes, number: int) -> Opened | None:
        """Return the content of a whole record with its header; None if it is not the record of that number."""
        ...


def protection_1_3(suite: Suite, keys: Keys) -> Protection:
    """Return the protection of records of TLS 1.3 (RFC 8446 §5.2)."""
    return _Aead13(_aead(suite, keys.key), keys.iv)


def protection_1_2(suite: Suite, keys: Keys, *, encrypts_then_macs: bool) -> Protection:
    """Return the protection of records of TLS 1.2 (RFC 5246 §6.2.3, RFC 7366, RFC 7905)."""
    if suite.cipher == "cbc":
        return _Cbc(suite.mac, keys, encrypts_then_macs=encrypts_then_macs)
    tag_bytes = _TAG_BYTES // 2 if suite.cipher == "ccm8" else _TAG_BYTES
    return _Aead12(_aead(suite, keys.key), keys.iv, tag_bytes, has_explicit=suite.cipher != "chacha")


_Decrypt = Callable[[bytes, bytes, bytes], bytes | None]


def _aead(suite: Suite, key: bytes) -> _Decrypt:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305

    cipher: AESCCM | AESGCM | ChaCha20Poly1305
    if suite.cipher == "gcm":
        cipher = AESGCM(key)
    elif suite.cipher == "chacha":
        cipher = ChaCha20Poly1305(key)
    else:
        cipher = AESCCM(key, _TAG_BYTES // 2 if suite.cipher == "ccm8" else _TAG_BYTES)

    def decrypt(nonce: bytes, data: bytes, header: bytes) -> bytes | None:
        try:
            return cipher.decrypt(nonce, data, header)
        except (InvalidTag, ValueError):  # ValueError: too short for a tag
            return None

    return decrypt


def _nonce(iv: bytes, number: int) -> bytes:
    """Return the nonce of a record that has none of its own."""
    return (int.from_bytes(iv, "big") ^ number).to_bytes(len(iv), "big")


class _Aead13:
    def __init__(self, decrypt: _Decrypt, iv: bytes) -> None:
        self._decrypt = decrypt
        self._iv = iv

    def open(self, record: bytes, number: int) -> Opened | None:
        header, data = record[:RECORD_HEADER_BYTES], record[RECORD_HEADER_BYTES:]
        inner = self._decrypt(_nonce(self._iv, number), data, header) if record[0] == DATA else None
        if inner is None:
            return None
        inner = inner.rstrip(b"\0")
        return Opened(inner[-1], inner[:-1]) if inner else None


class _Aead12:
    def __init__(self, decrypt: _Decrypt, iv: bytes, tag_bytes: int, *, has_explicit: bool) -> None:
        self._decrypt = decrypt
        self._iv = iv
        self._explicit_bytes = _EXPLICIT_BYTES if has_explicit else 0
        self._tag_bytes = tag_bytes

    def open(self, record: bytes, number: int) -> Opened | None:
        explicit_end = RECORD_HEADER_BYTES + self._explicit_bytes
        size = len(record) - explicit_end - self._tag_bytes
        if size < 0:
            return None
        explicit = record[RECORD_HEADER_BYTES:explicit_end]
        nonce = self._iv + explicit if explicit else _nonce(self._iv, number)
        content = self._decrypt(nonce, record[explicit_end:], _pseudo_header(record, number, size))
        return None if content is None else Opened(record[0], content)


class _Cbc:
    """AES in CBC mode, with a MAC of the content or of the encrypted record."""

    def __init__(self, mac_hash: str, keys: Keys, *, encrypts_then_macs: bool) -> None:
        self._hash = mac_hash
        self._keys = keys
        self._mac_bytes = hashlib.new(mac_hash).digest_size
        self._encrypts_then_macs = encrypts_then_macs

    def open(self, record: bytes, number: int) -> Opened | None:
        body, mac = record[RECORD_HEADER_BYTES:], b""
        if self._encrypts_then_macs:
            body, mac = body[: -self._mac_bytes], body[-self._mac_bytes :]
            if mac != self._mac(record, number, body):
                return None
        if len(body) < 2 * _BLOCK_BYTES or len(body) % _BLOCK_BYTES:
            return None
        plain = _without_padding(self._decrypt(body))
        if plain is None or self._encrypts_then_macs:
            return None if plain is None else Opened(record[0], plain)
        content, mac = plain[: -self._mac_bytes], plain[-self._mac_bytes :]
        is_mine = len(plain) >= self._mac_bytes and mac == self._mac(record, number, content)
        return Opened(record[0], content) if is_mine else None

    def _decrypt(self, body: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import CBC

        decryptor = Cipher(AES(self._keys.key), CBC(body[:_BLOCK_BYTES])).decryptor()
        return decryptor.update(body[_BLOCK_BYTES:]) + decryptor.finalize()

    def _mac(self, record: bytes, number: int, content: bytes) -> bytes:
        return hmac.digest(self._keys.mac, _pseudo_header(record, number, len(content)) + content, self._hash)


def _without_padding(plain: bytes) -> bytes | None:
    """Return decrypted blocks without their padding (RFC 5246 §6.2.3.2); None where it is malformed."""
    size = plain[-1] + 1
    return plain[:-size] if plain[-size:] == bytes([size - 1]) * size else None


def _pseudo_header(record: bytes, number: int, size: int) -> bytes:
    """Return the number, type, version and length that a MAC or tag covers (RFC 5246 §6.2.3.1)."""
    return number.to_bytes(8, "big") + record[:3] + size.to_bytes(2, "big")
