"""One request again and again: the load on a protocol without a load part, from its declarations alone."""

from typing import Any

import msgspec

from wiretool.codec.frames.buffer import whole_frames
from wiretool.codec.message import Message
from wiretool.errors import DecodeError, EncodeError, UsageError
from wiretool.expectations import json_problem
from wiretool.load.link import Failed
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS

OPTION = "--message"
_EXPECTED = 'expected {"message": ..., "fields": {...}}'


class _Given(msgspec.Struct):
    """A message in the JSON form of `wiretool encode`; other keys, as records have them, are ignored."""

    message: str
    fields: dict[str, Any] = {}


def request_from(protocol: str, text: str) -> Message:
    """Return the message of a line of `wiretool encode`, as a client sends it. UsageError where it is not one."""
    try:
        given = msgspec.json.decode(text, type=_Given)
        message = PROTOCOLS[protocol].from_json(given.message, "client", given.fields)
        PROTOCOLS[protocol].encode(message, "client")
        if message.declaration.sender == "server":
            raise EncodeError(f"{given.message} is sent by servers, not by clients")
    except msgspec.MsgspecError as err:
        raise UsageError(f"{OPTION}: {json_problem(err)}; {_EXPECTED}") from err
    except (EncodeError, UsageError) as err:
        raise UsageError(f"{OPTION}: {err}; {_EXPECTED}") from err
    return message


class Requests:
    """The frames of one user, all alike, and the replies to them, which the conversation of the protocol pairs.

    A reply answers all earlier requests on its connection too.
    """

    events = 1

    def __init__(self, protocol: Protocol, message: Message) -> None:
        self._protocol = protocol
        self._frame = protocol.encode(message, "client")
        #: The number of the last request, and its bytes.
        self.last = 0
        self.size = len(self._frame)
        self._conversation = protocol.open(True)
        #: The beginning of a reply that is not whole.
        self.rest = b""

    def reopen(self) -> None:
        """Begin a new connection."""
        self._conversation = self._protocol.open(True)
        self.rest = b""

    def next(self) -> bytes:
        """Return the frame of the next request."""
        self.last += 1
        self._conversation.read("client", self._frame, 0, self.size, self.last)
        return self._frame

    def extent(self, data: bytes, at: int, end: int) -> int:
        """Return the bytes of the server's frame that begins there (codec/frames/buffer.py)."""
        return self._conversation.extent("server", data, at, end)

    def feed(self, data: bytes) -> int:
        """Return the number of the newest request that these bytes answer, 0 for none.

        Failed where they are not a frame of the protocol.
        """
        data, end, newest = self.rest + data, 0, 0
        try:
            for at, end in whole_frames(data, self.extent):
                reading = self._conversation.read("server", data, at, end, 0)
                newest = max(newest, reading.reply_to or 0)
        except DecodeError as err:
            what = f"not {self._protocol.name}"
            raise Failed(f"the reply is {what}: {err}", kind=f"{what}: {err.kind}") from err
        self.rest = data[end:]
        return newest
