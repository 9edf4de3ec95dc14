"""Faults in the controller's calls: frames of HTTP/2, some of which carry the messages of gRPC."""

import random

from wiretool.codec.message import Side, other_side
from wiretool.errors import EncodeError
from wiretool.faults.actions import Answer, Change
from wiretool.faults.adapter import FaultAdapter, Form, Kind, LengthField
from wiretool.faults.remnants import Piece
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.pravega_controller import frames
from wiretool.protocols.pravega_controller.calls import CALLS, PREFIX_BYTES
from wiretool.protocols.pravega_controller.encoding import data_frame, encode, with_message
from wiretool.protocols.pravega_controller.messages import Headers, RstStream, WindowUpdate
from wiretool.records import Record

#: Frames whose header blocks refer to those before them.
_BLOCKS = (frames.HEADERS, frames.PUSH_PROMISE, frames.CONTINUATION)
_OK = (("grpc-status", "0"),)
_STATUS = ((":status", "200"), ("content-type", "application/grpc"))


class ControllerFaultAdapter(FaultAdapter):
    """A call is asked and answered in DATA frames, which have the method's name."""

    length = LengthField(0, 3)

    def check_change(self, kind: Kind, change: Change) -> None:
        if kind[1] in ("Headers", "Continuation", "PushPromise"):
            raise EncodeError("its content is required to read later headers", path=kind[1])
        super().check_change(kind, change)

    def check_length(self, kind: Kind) -> None:
        if kind[1] == "Preface":
            raise EncodeError("is not a frame and has no length", path=kind[1])

    def check_answer(self, action: Answer, kind: Kind) -> None:
        method = kind[1]
        if (method, kind[0]) not in CALLS:
            raise EncodeError("is not a message of a call", path=method)
        if action.message != method:
            raise EncodeError(f"is answered by {method}, not by {action.message}", path=method)
        super().check_answer(action, kind)

    def is_carriage(self, record: Record) -> bool:
        """Whether it is neither a message of a call nor says that one has failed."""
        if isinstance(record.fields, Headers):
            status = record.fields.grpc_status
            return status == "OK" or (status is None and record.reply_to is None)
        return (record.message, record.side) not in CALLS and record.message not in ("RstStream", "GoAway")

    def frame(self, record: Record, form: Form, first: bytes, conversation: Conversation, rng: random.Random) -> bytes:
        if (record.message, record.side) not in CALLS:
            return super().frame(record, form, first, conversation, rng)
        _check_whole(record.raw, record.message)
        return with_message(record.raw, self.protocol.from_json(record.message, record.side, form))

    def answer(self, action: Answer, record: Record, conversation: Conversation) -> bytes:
        """The whole answer to a request; of an answer only the message in it is another."""
        _check_whole(record.raw, record.message)
        message = self.protocol.from_json(action.message, "server", self.changed({}, action.changes))
        if record.side == "server":
            return with_message(record.raw, message)
        stream_id = frames.read_header(record.raw, 0).stream_id
        opening = Headers(stream_id=stream_id, headers=_STATUS)
        ending = Headers(stream_id=stream_id, headers=_OK, end_stream=True)
        said = data_frame(message, stream_id, end_stream=False)
        return encode(opening, "server") + said + encode(ending, "server")

    def instead(self, record: Record) -> bytes:
        """The server has seen the headers of the call: it is told that the client lets go of it."""
        stream_id = frames.read_header(record.raw, 0).stream_id
        return encode(RstStream(stream_id=stream_id, error_code="CANCEL"), "client")

    def piece(self, record: Record) -> Piece | None:
        """Of a request: most clients end it by an empty DATA frame behind the one with the message."""
        if record.side != "client" or record.message == "Preface":
            return None
        header = frames.read_header(record.raw, 0)
        if header.type in (*_BLOCKS, frames.PRIORITY) or not header.stream_id:
            return None
        is_content = header.type == frames.DATA
        ends = is_content and bool(header.flags & frames.END_STREAM)
        is_last = ends or header.type == frames.RST_STREAM
        return Piece(header.stream_id, (record.message, "client") in CALLS, is_content, is_last)

    def credit(self, record: Record) -> bytes:
        """What the sender has counted against the window of the connection is given back (RFC 9113 §6.9.1)."""
        header = frames.read_header(record.raw, 0)
        if record.message == "Preface" or header.type != frames.DATA or not header.length:
            return b""
        return encode(WindowUpdate(stream_id=0, window_increment=header.length), other_side(record.side))

    def why_fixed(self, side: Side, frame: bytes) -> str:
        if len(frame) >= frames.HEADER_BYTES and frame[3] in _BLOCKS:
            return "later headers refer to it, and are not readable without it"
        return ""


def _check_whole(raw: bytes, method: str) -> None:
    """EncodeError where the message began in an earlier frame: that has gone on."""
    data = raw[frames.HEADER_BYTES :]
    if frames.read_header(raw, 0).flags & frames.PADDED:
        data = data[1 : len(data) - data[0]]
    if len(data) < PREFIX_BYTES or PREFIX_BYTES + int.from_bytes(data[1:PREFIX_BYTES], "big") != len(data):
        raise EncodeError("its message does not stand in this frame alone", path=method)
