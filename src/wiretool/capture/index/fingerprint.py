"""What tells the beginning of a file from that of others: whether a file that has grown is still the same one."""

from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from wiretool.errors import CaptureError, system_reason

#: Bytes that are looked at, of the first ones and of the last: in these are times of packets, which no other file has.
SEAL_BYTES = 4096


def seal(file: BinaryIO, size: int) -> str:
    """What tells the first `size` bytes of an open file from others; "" where it has not got as many."""
    wanted = min(size, SEAL_BYTES)
    parts = []
    for at in (0, size - wanted):
        file.seek(at)
        parts.append(file.read(wanted))
    if any(len(part) < wanted for part in parts):
        return ""
    return blake2b(b"".join(parts), digest_size=8).hexdigest()


def seal_of(path: Path, size: int) -> str:
    """The seal of a file; "" where it is gone, or has not got as many bytes. CaptureError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return seal(file, size)
    except FileNotFoundError:
        return ""
    except OSError as err:
        raise CaptureError(str(path), f"cannot be read: {system_reason(err)}") from err
