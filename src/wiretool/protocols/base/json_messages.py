"""JSON objects in messages of WebSocket, as data for readers that know declarations alone."""

from dataclasses import dataclass

from wiretool.codec.message import Message


@dataclass(frozen=True, slots=True)
class JsonMessages:
    """Messages that are JSON objects, each in a message of WebSocket; the member `type` has the name of the message."""

    messages: tuple[type[Message], ...]
