"""Fuzzing of Pravega's controller: the frames of HTTP/2, header blocks, and the messages of gRPC."""

from typing import Any

from wiretool.fuzz.part import FuzzPart, SessionTable
from wiretool.fuzz.sequences.call_streams import CallStreams
from wiretool.protocols.base.encoder import SentMessage
from wiretool.protocols.pravega_controller import PROTOCOL
from wiretool.protocols.pravega_controller.calls import METHODS
from wiretool.protocols.pravega_controller.conformance.steps import headers
from wiretool.protocols.pravega_controller.frames import HEADER_BYTES, PREFACE, read_header
from wiretool.protocols.pravega_controller.fuzz import grpc, header_blocks, http2
from wiretool.protocols.pravega_controller.messages import Continuation, Data, Headers
from wiretool.protocols.pravega_controller.session import CONNECTION, Phase


def session_table() -> SessionTable:
    """Return the frames of clients by the phase of their side, and the calls where the DATA that ends them may come.

    Headers alone end no call, so they are not in it.
    """
    following = {
        (phase.value, kind.declaration.name): after.value
        for (phase, side, kind), after in CONNECTION.items()
        if side == "client" and phase is not Phase.JOINED and kind not in (Headers, Continuation)
    }
    calls = {
        (phase, method): after
        for (phase, name), after in following.items()
        if name == Data.declaration.name
        for method in METHODS
    }
    return SessionTable(Phase.NEW.value, {**following, **calls}, CallStreams(stream_of, on_stream, session_with))


def stream_of(data: bytes) -> int:
    """Return the stream of a frame; 0 for one of the connection, and for other bytes, as the preface."""
    if len(data) < HEADER_BYTES or data.startswith(PREFACE):
        return 0
    return read_header(data, 0).stream_id


def on_stream(data: bytes, number: int) -> bytes:
    """Return a whole frame on another stream."""
    at = HEADER_BYTES - 4
    return data[:at] + number.to_bytes(4, "big") + data[HEADER_BYTES:]


def session_with(method: str) -> bytes:
    """Return a session with a call whose fields have their defaults; no bytes where it is not a method."""
    if method not in METHODS:
        return b""
    messages: tuple[tuple[str, dict[str, Any]], ...] = (
        ("Preface", {}),
        ("Settings", {"ack": False, "settings": {}}),
        ("Headers", {"stream_id": 1, "headers": headers(method)}),
        (method, {}),
    )
    encoder = PROTOCOL.open_encoder()
    pending = [encoder.encode(SentMessage(name, "client", fields)) for name, fields in messages]
    encoder.end()
    return b"".join(frame.data or b"" for frame in pending)


FUZZ = FuzzPart(
    mutations=(*http2.MUTATIONS, *header_blocks.MUTATIONS, *grpc.MUTATIONS),
    table=session_table(),
)
