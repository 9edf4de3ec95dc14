"""Conversations that are read, and what is asked of their readings."""

from collections.abc import Sequence
from typing import Any

from tests.protocols.pravega_controller.talk import (
    Peer,
    Sent,
    opening,
    read_all,
)
from wiretool.protocols.base.conversation import Reading

STREAM = {"scope": "sc", "stream": "st"}
URI = {"endpoint": "localhost", "port": 12345}
OPENING = list(opening())


def kinds(readings: Sequence[Reading]) -> list[list[str]]:
    return [[defect.kind for defect in reading.defects] for reading in readings]


def names(readings: Sequence[Reading]) -> list[str]:
    return [reading.message for reading in readings]


def field(reading: Reading, name: str) -> Any:
    fields = reading.fields
    return fields[name] if isinstance(fields, dict) else getattr(fields, name)


def after_opening(*sent: Sent) -> list[Reading]:
    """What frames behind an opening say."""
    return read_all([*OPENING, *sent])[len(OPENING) :]


def opened(method: str = "getURI") -> tuple[Peer, Peer, list[Sent]]:
    """Both sides, and a call on stream 1 whose headers were said."""
    client, server = Peer("client"), Peer("server")
    return client, server, [client.asks(1, method)]
