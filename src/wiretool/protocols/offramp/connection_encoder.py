"""Encodes the messages of one connection, those in several frames too, as they were cut when they were recorded."""

from typing import Any

from wsproto.frame_protocol import Opcode

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import EncodeError
from wiretool.protocols.base.encoder import ConnectionEncoder, PendingFrame, SentMessage
from wiretool.protocols.offramp import events, framing
from wiretool.protocols.offramp.encoding import ZERO_MASK
from wiretool.protocols.offramp.messages import EVENTS

_OPCODES = {name: number for number, name in framing.NAMES.items()}


class OfframpEncoder(ConnectionEncoder):
    """Holds the fragments of a message until the record that completes it says what they carry."""

    def __init__(self, *functions: Any) -> None:
        super().__init__(*functions)
        #: By side, the fragments of the message that is open, and how many bytes each has.
        self._open: dict[Side, list[tuple[PendingFrame, int, int]]] = {"client": [], "server": []}

    def encode(self, sent: SentMessage) -> PendingFrame:
        if sent.name == "Fragment":
            return self._hold(sent)
        if sent.name == "Empty":
            return self._complete(sent.side, _opcode(sent), b"")
        if self._open[sent.side]:
            message = self.from_json(sent.name, sent.side, sent.fields)
            if isinstance(message, EVENTS):
                return self._complete(sent.side, Opcode.CONTINUATION, events.encode(message))
        return super().encode(sent)

    def end(self) -> None:
        for side in self._open:
            if self._open[side]:
                self._complete(side, Opcode.CONTINUATION, b"")

    def _hold(self, sent: SentMessage) -> PendingFrame:
        length = sent.fields.get("length")
        if type(length) is not int or not 0 <= length <= limits.WEBSOCKET_MESSAGE_BYTES_MAX:
            raise EncodeError(f"expected a length in bytes, got {length!r}", path="Fragment.length")
        if length + sum(size for _, _, size in self._open[sent.side]) > limits.WEBSOCKET_MESSAGE_BYTES_MAX:
            raise EncodeError(
                f"makes a message of more than {limits.WEBSOCKET_MESSAGE_BYTES_MAX} bytes", path="Fragment"
            )
        pending = PendingFrame()
        self._open[sent.side].append((pending, _opcode(sent), length))
        return pending

    def _complete(self, side: Side, opcode: int, payload: bytes) -> PendingFrame:
        """Share a payload among the fragments before it and the last frame; spaces, which mean nothing, pad it."""
        fragments, self._open[side] = self._open[side], []
        payload = payload.ljust(sum(length for _, _, length in fragments))
        mask, at = ZERO_MASK if side == "client" else None, 0
        for pending, kind, length in fragments:
            pending.data = framing.frame_bytes(kind, payload[at : at + length], mask)
            at += length
        kind = Opcode.CONTINUATION if fragments else opcode
        return PendingFrame(framing.frame_bytes(framing.FIN | kind, payload[at:], mask))


def _opcode(sent: SentMessage) -> int:
    name = sent.fields.get("opcode")
    if name not in _OPCODES:
        raise EncodeError(f"expected one of {', '.join(_OPCODES)}, got {name!r}", path=f"{sent.name}.opcode")
    return _OPCODES[name]
