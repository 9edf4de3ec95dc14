"""Losses of a recording: what a gap, its beginning or its cut explains, and what they do not."""

from collections.abc import Iterator, Sequence
from math import inf

from wiretool.analysis.dialogues import Dialogue
from wiretool.codec.message import Side
from wiretool.records import Record


class Losses:
    """Bytes of one recorded connection that were not captured."""

    def __init__(self, dialogue: Dialogue, *, name: str, is_cut: bool) -> None:
        """`name` is that of the recording; `is_cut` if the capture breaks off before the connection ended."""
        self._dialogue = dialogue
        self._name = name
        self._is_cut = is_cut
        self._gaps = [record for record in dialogue.records if record.kind == "gap"]

    @property
    def has_any(self) -> bool:
        """Whether anything was lost."""
        return not self._dialogue.is_opened or self._is_cut or bool(self._gaps)

    def whole_side(self, side: Side) -> str:
        """Return why nothing is known of a side; empty if something of it was captured."""
        sent = (each.side == side and each.kind != "gap" for each in self._dialogue.records)
        is_heard = self._dialogue.is_heard if side == "server" else any(sent)
        return "" if is_heard else f"{self._name} has nothing that the {side} of this conversation sent"

    def between(self, side: Side, before: Record | None, after: Record | None) -> str:
        """Return why a frame of a side may be missing between two captured ones; empty if nothing explains it."""
        if why := self.whole_side(side):
            return why
        first = -1 if before is None else before.offset
        last = inf if after is None else after.offset
        if any(gap.side == side and first < gap.offset < last for gap in self._gaps):
            return self._missing
        if before is None and not self._dialogue.is_opened:
            return f"{self._name} begins in the middle of this conversation"
        return f"{self._name} is cut there" if after is None and self._is_cut else ""

    def after(self, request: Record, message: str) -> str:
        """Return why a reply to a captured request may be missing; empty if nothing explains it.

        Where requests were lost, a reply that was captured may be held to answer none.
        """
        if why := self.whole_side("server"):
            return why
        if any(gap.side == "server" and gap.n > request.n for gap in self._gaps):
            return self._missing
        is_detached = any(each.message == message and each.reply_to is None for each in self._sent_by_server)
        if is_detached and any(gap.side == "client" for gap in self._gaps):
            return self._missing
        is_last = not any(request.n < (each.reply_to or 0) for each in self._sent_by_server)
        return f"{self._name} is cut there" if self._is_cut and is_last else ""

    def of_request(self) -> str:
        """Return why the request of a captured server message may be missing; empty if nothing explains it."""
        if why := self.whole_side("client"):
            return why
        if not self._dialogue.is_opened:
            return f"{self._name} begins in the middle of this conversation"
        return self._missing if any(gap.side == "client" for gap in self._gaps) else ""

    @property
    def _sent_by_server(self) -> Iterator[Record]:
        return (each for each in self._dialogue.records if each.side == "server" and each.kind == "frame")

    @property
    def _missing(self) -> str:
        return f"bytes of this conversation are missing in {self._name}"


def neighbours(
    pairs: Sequence[tuple[int, int]], many: int, others: Sequence[Record]
) -> Iterator[tuple[int, Record | None, Record | None]]:
    """Yield the index of each element without a counterpart, and the counterparts of its nearest matched neighbours."""
    counterpart = dict(pairs)
    before: Record | None = None
    waiting: list[tuple[int, Record | None]] = []
    for at in range(many):
        if at in counterpart:
            after = others[counterpart[at]]
            yield from ((index, earlier, after) for index, earlier in waiting)
            waiting, before = [], after
        else:
            waiting.append((at, before))
    yield from ((index, earlier, None) for index, earlier in waiting)
