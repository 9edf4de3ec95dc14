"""Keys of records from the secrets of a key log: TLS 1.3 (RFC 8446 §7) and TLS 1.2 (RFC 5246 §5 and §6.3)."""

import hashlib
import hmac
from typing import NamedTuple

from wiretool.capture.tls.keylog import MASTER_SECRET
from wiretool.capture.tls.suites import Suite
from wiretool.codec.message import Side

_IV_BYTES = 12


class Keys(NamedTuple):
    """The keys of one side."""

    key: bytes
    iv: bytes
    mac: bytes = b""


def traffic_keys(secret: bytes, suite: Suite) -> Keys:
    """Return the keys that a traffic secret of TLS 1.3 stands for."""
    key = _expand_label(secret, b"key", suite.key_bytes, suite.hash)
    return Keys(key, _expand_label(secret, b"iv", _IV_BYTES, suite.hash))


def next_secret(secret: bytes, suite: Suite) -> bytes:
    """Return the traffic secret after a KeyUpdate (RFC 8446 §7.2)."""
    return _expand_label(secret, b"traffic upd", len(secret), suite.hash)


def session_keys(master: bytes, server_random: bytes, client_random: bytes, suite: Suite, side: Side) -> Keys:
    """Return the keys of one side of a TLS 1.2 session."""
    mac_bytes = hashlib.new(suite.mac).digest_size if suite.mac else 0
    iv_bytes = {"gcm": 4, "ccm": 4, "ccm8": 4, "chacha": _IV_BYTES, "cbc": 0}[suite.cipher]
    sizes = [mac_bytes, mac_bytes, suite.key_bytes, suite.key_bytes, iv_bytes, iv_bytes]
    block = _prf(master, b"key expansion" + server_random + client_random, sum(sizes), suite.hash)
    parts, at = [], 0
    for size in sizes:
        parts.append(block[at : at + size])
        at += size
    mac, key, iv = parts[side == "server" :: 2]
    return Keys(key, iv, mac)


def secret_label(side: Side, phase: str) -> str:
    """Return the label of a traffic secret in a key log; `phase` is EARLY, HANDSHAKE or TRAFFIC."""
    if phase == "EARLY":
        return "CLIENT_EARLY_TRAFFIC_SECRET"
    suffix = "TRAFFIC_SECRET_0" if phase == "TRAFFIC" else "HANDSHAKE_TRAFFIC_SECRET"
    return f"{side.upper()}_{suffix}"


def needed_labels(is_tls_1_3: bool) -> tuple[str, ...]:
    """Return the labels of the secrets without which no message of a connection can be read."""
    if not is_tls_1_3:
        return (MASTER_SECRET,)
    return secret_label("client", "TRAFFIC"), secret_label("server", "TRAFFIC")


def _expand_label(secret: bytes, label: bytes, size: int, hash_name: str) -> bytes:
    """Return HKDF-Expand-Label without context (RFC 8446 §7.1, RFC 5869 §2.3)."""
    name = b"tls13 " + label
    info = size.to_bytes(2, "big") + bytes([len(name)]) + name + b"\0"
    out = block = b""
    count = 0
    while len(out) < size:
        count += 1
        block = hmac.digest(secret, block + info + bytes([count]), hash_name)
        out += block
    return out[:size]


def _prf(secret: bytes, seed: bytes, size: int, hash_name: str) -> bytes:
    """Return P_hash (RFC 5246 §5)."""
    out, chain = b"", seed
    while len(out) < size:
        chain = hmac.digest(secret, chain, hash_name)
        out += hmac.digest(secret, chain + seed, hash_name)
    return out[:size]
