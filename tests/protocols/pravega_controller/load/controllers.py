"""Controllers in memory that say what they are told to, whatever is asked."""

from collections.abc import Mapping
from typing import Any

from tests.load.mock_stage import MockWire, Place
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega_controller import PROTOCOL
from wiretool.protocols.pravega_controller.calls import METHODS
from wiretool.protocols.pravega_controller.encoding import data_frame, encode
from wiretool.protocols.pravega_controller.frames import read_header
from wiretool.protocols.pravega_controller.messages import Headers, Settings

SETTINGS = encode(Settings(settings={}), "server")
SCOPE, STREAM = {"scope": "bench-run"}, {"scope": "bench-run", "stream": "load"}
DONE = {"status": "SUCCESS"}
SEGMENT = {"segmentId": {"streamInfo": STREAM, "segmentId": 0}, "minKey": 0.0, "maxKey": 1.0}
#: What a controller answers that has one segment.
ANSWERS: dict[str, dict[str, Any]] = {
    "createScope": DONE,
    "createStream": DONE,
    "getDelegationToken": {"delegationToken": ""},
    "getCurrentSegments": {"segmentRanges": [SEGMENT]},
    "getURI": {"endpoint": "store", "port": 12345},
    "sealStream": DONE,
    "deleteStream": DONE,
    "deleteScope": DONE,
}


def mock_place() -> Place:
    """A mock store with its controller."""
    return Place(PravegaMock())


def begun(stream: int = 1, status: str = "200") -> bytes:
    """The headers in front of an answer."""
    headers = ((":status", status), ("content-type", "application/grpc"))
    return encode(Headers(stream_id=stream, headers=headers), "server")


def ended(stream: int = 1, status: int = 0, message: str = "") -> bytes:
    """The headers behind it."""
    headers = (("grpc-status", str(status)), ("grpc-message", message))
    return encode(Headers(stream_id=stream, end_stream=True, headers=headers), "server")


def answer(method: str, fields: Mapping[str, Any], stream: int = 1) -> bytes:
    """A whole answer to a call."""
    message = PROTOCOL.from_json(method, "server", fields)
    return begun(stream) + data_frame(message, stream, end_stream=False) + ended(stream)


class Saying(MockWire):
    """Says these pieces, one for each time that somebody listens, and then nothing."""

    def __init__(self, *said: bytes) -> None:
        super().__init__(mock_place(), 0)
        self.said = list(said)

    def send(self, data: bytes | bytearray) -> None:
        """Nobody listens."""

    def receive_within(self, seconds: float) -> bytes:
        return self.said.pop(0) if self.said else b""


class Scripted(MockWire):
    """Answers each call with what is written for its method, and with nothing at all where nothing is."""

    def __init__(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(mock_place(), 0)
        self.answers = answers
        self.asked: list[str] = []
        self.headers: list[dict[str | None, str | None]] = []
        self.heard = SETTINGS
        self._talk = PROTOCOL.open(True)

    def send(self, data: bytes | bytearray) -> None:
        said, at = bytes(data), 0
        while at < len(said):
            end = at + self._talk.extent("client", said, at, len(said))
            reading = self._talk.read("client", said, at, end, 0)
            method = reading.message
            if isinstance(reading.fields, Headers):
                self.headers.append(dict(reading.fields.headers or ()))
            if method in METHODS:
                self.asked.append(method)
                if method in self.answers:
                    self.heard += answer(method, self.answers[method], read_header(said, at).stream_id)
            at = end
