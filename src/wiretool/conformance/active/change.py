"""Description of how a case alters the bytes of a valid message before it sends them."""

from itertools import takewhile

#: Bytes that are shown of a change.
HEX_SHOWN = 16


def change_of(valid: bytes, sent: bytes) -> str:
    """Return how the bytes of a message were altered, in words; empty where they were not."""
    if sent == valid:
        return ""
    start = _equal_bytes(valid, sent)
    if start == len(sent):
        return f"cut to {start:,} of {len(valid):,} bytes"
    if len(sent) == len(valid):
        end = len(valid) - _equal_bytes(valid[::-1], sent[::-1])
        return f"from byte {start:,}: {_hex(sent[start:end])} instead of {_hex(valid[start:end])}"
    return f"{len(sent):,} bytes instead of {len(valid):,}, from byte {start:,}: {_hex(sent[start:])}"


def _equal_bytes(one: bytes, other: bytes) -> int:
    """Return how many bytes are equal at the beginning of both."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _hex(data: bytes) -> str:
    return data.hex() if len(data) <= HEX_SHOWN else f"{data[:HEX_SHOWN].hex()}..."
