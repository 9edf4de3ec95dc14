"""One connection of the batch style: as in the newest protocol, once it is known which of the two schemas is spoken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wiretool.codec.cursor import Span
from wiretool.codec.message import Side
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.sbp import framing, spans
from wiretool.protocols.sbp.forms import form_in
from wiretool.protocols.sbp.session import SbpConversation
from wiretool.protocols.sbp_0_1.framing import only_fit, trust
from wiretool.protocols.sbp_0_1.messages import S1, S2


class BatchConversation(SbpConversation):
    """A connection that is read as S1 until a frame says that it is S2, which decides it."""

    # A frame of one schema takes away trust in frames of the other.
    is_proved_by_trust = False

    def __init__(self, began: bool) -> None:
        super().__init__(began, S1)
        self.is_decided = False

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        # The operations of S1 are all among those of S2.
        return framing.candidates(self.schema if self.is_decided else S2, data, at, end)

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        return trust((self.schema,) if self.is_decided else (S1, S2), data, at, end)

    def annotate(self, side: Side, data: bytes, at: int, end: int) -> list[Span]:
        schema = self.schema if self.is_decided else only_fit(data, at, end) or self.schema
        return spans.annotate(schema, data, at, end)

    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        self._decide(data, at, end)
        return super().read(side, data, at, end, n)

    def adopt(self, data: bytes, fields: Any) -> None:
        """Take over the schema by which the fields of a frame were read."""
        for schema in (S1, S2):
            if form_in(schema, data, 0, len(data))[1] == fields:
                self.is_decided, self.schema = True, schema
                return

    def recall(self, earlier: Conversation) -> None:
        """Take over which schema is spoken: a first request often fits both, its response but one."""
        if isinstance(earlier, BatchConversation):
            self.is_decided, self.schema = earlier.is_decided, earlier.schema

    def _decide(self, data: bytes, at: int, end: int) -> None:
        if not self.is_decided:
            fit = only_fit(data, at, end)
            self.is_decided = fit is not None
            self.schema = fit or self.schema
