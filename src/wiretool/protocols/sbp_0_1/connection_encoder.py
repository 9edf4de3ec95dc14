"""Encodes the frames of one connection by the schema that all of them have: what S1 leaves out is not that of S2."""

from typing import Any

from wiretool.errors import EncodeError
from wiretool.protocols.base.encoder import ConnectionEncoder, PendingFrame, SentMessage
from wiretool.protocols.sbp.forms import frame_from_json
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp_0_1.messages import S1, S2

#: Frames that may fit both schemas before the first is taken.
LOOKAHEAD_FRAMES_MAX = 1024


class Sbp01Encoder(ConnectionEncoder):
    """Holds frames until one of them fits one schema only."""

    def __init__(self, *functions: Any) -> None:
        super().__init__(*functions)
        self._schema: Any = None
        #: Frames that fit both schemas, and their bytes by each.
        self._pending: list[tuple[PendingFrame, bytes, bytes]] = []

    def encode(self, sent: SentMessage) -> PendingFrame:
        if self._schema is not None:
            return PendingFrame(_encoded(self._schema, sent))
        try:
            first = _encoded(S1, sent)
        except EncodeError as err:
            try:
                frame = PendingFrame(_encoded(S2, sent))
            except EncodeError:
                raise err from None
            self._decide(S2)
            return frame
        try:
            second = _encoded(S2, sent)
        except EncodeError:
            self._decide(S1)
            return PendingFrame(first)
        frame = PendingFrame()
        self._pending.append((frame, first, second))
        if len(self._pending) > LOOKAHEAD_FRAMES_MAX:
            self._decide(S1)
        return frame

    def end(self) -> None:
        self._decide(self._schema or S1)

    def _decide(self, schema: Any) -> None:
        self._schema = schema
        for frame, first, second in self._pending:
            frame.data = first if schema is S1 else second
        self._pending.clear()


def _encoded(schema: Any, sent: SentMessage) -> bytes:
    return encode_frame(frame_from_json(schema, sent.name, sent.side, sent.fields), sent.side)
