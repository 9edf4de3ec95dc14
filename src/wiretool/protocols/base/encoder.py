"""Encoders of whole connections: messages in the order in which they were sent, to the frames that carry them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from wiretool.codec.message import Message, Side


class SentMessage(NamedTuple):
    """A message of one connection as a record describes it; `n` and `reply_to` are None where nobody says them."""

    name: str
    side: Side
    fields: Mapping[str, Any]
    n: int | None = None
    reply_to: int | None = None


@dataclass(slots=True)
class PendingFrame:
    """The bytes of one message; None until a later message of the connection decides them."""

    data: bytes | None = None


class ConnectionEncoder:
    """Encodes each message by itself; subclasses remember what earlier ones on the connection said."""

    def __init__(
        self, encode: Callable[[Message, Side], bytes], from_json: Callable[[str, Side, Mapping[str, Any]], Message]
    ) -> None:
        self.encode_message = encode
        self.from_json = from_json

    def encode(self, sent: SentMessage) -> PendingFrame:
        """Encode the next message. EncodeError where it has no bytes."""
        return PendingFrame(self.encode_message(self.from_json(sent.name, sent.side, sent.fields), sent.side))

    def end(self) -> None:
        """Decide all frames that are pending, as no more messages come."""
