"""Numbers of 64 bits as IEEE 754 has them, in network byte order."""

import struct


def pack_double(value: float) -> bytes:
    """Return the eight bytes of a number."""
    return struct.pack(">d", value)
