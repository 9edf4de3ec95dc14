"""Byte streams."""

import hashlib
import random
from typing import Any

from tests.interop.pravega_python.client import Scenario, outcome, prepare


def byte_stream(manager: Any, scope: str, size_bytes: int, seed: int) -> dict[str, Any]:
    """Bytes written, read from several places, and cut off at the head."""
    prepare(manager, scope)
    stream = manager.create_byte_stream(scope, "stream")
    data = random.Random(seed).randbytes(size_bytes)
    _write(stream, data)
    report: dict[str, Any] = {"ends": _ends(stream), "digest": hashlib.sha256(_read(stream, size_bytes)).hexdigest()}
    report["told"] = stream.tell()
    report["seeks"] = [stream.seek(100, 0), stream.seek(-50, 1), stream.seek(-10, 2)]
    report["last"] = _read(stream, 10).hex()
    report["seek_negative"] = outcome(stream.seek, -1 - size_bytes, 2)
    stream.truncate(size_bytes // 2)
    report["ends_truncated"] = _ends(stream)
    stream.seek(0, 0)
    report["read_truncated"] = outcome(stream.readinto, bytearray(1))
    report["truncate_beyond"] = outcome(stream.truncate, size_bytes + 1)
    stream.seek(size_bytes // 2, 0)
    report["digest_truncated"] = hashlib.sha256(_read(stream, size_bytes - size_bytes // 2)).hexdigest()
    _write(stream, b"more")
    report["more"] = _read(stream, 4).decode()
    return report


def _ends(stream: Any) -> list[int]:
    return [stream.current_head_offset(), stream.current_tail_offset()]


def _write(stream: Any, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(bytes(rest)) :]
    stream.flush()


def _read(stream: Any, size_bytes: int) -> bytes:
    data = bytearray()
    while len(data) < size_bytes:
        buffer = bytearray(min(size_bytes - len(data), 1 << 16))
        data += buffer[: stream.readinto(buffer)]
    return bytes(data)


SCENARIOS: dict[str, Scenario] = {"byte_stream": byte_stream}
