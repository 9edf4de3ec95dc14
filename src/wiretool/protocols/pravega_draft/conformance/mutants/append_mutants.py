"""Defects of appenders and blocks."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.server.segments import NONE_I64
from wiretool.protocols.pravega_draft.conformance.mutants.patches import allow, rehandle, rewrite
from wiretool.protocols.pravega_draft.messages import (
    AppendSetup,
    BeginAppendBlock,
    DataAppended,
    EndAppendBlock,
    Event,
    Padding,
)
from wiretool.protocols.pravega_draft.server import appends
from wiretool.protocols.pravega_draft.server.appends import Appends
from wiretool.protocols.pravega_draft.server.link import DraftLink
from wiretool.protocols.pravega_draft.server.mock import DraftMock

MUTANTS = Mutants()


def _resend(patcher: Patcher, change: Any) -> None:
    """Change what is sent: a function of the message."""
    patcher.wrap(DraftLink, "_send", lambda send: lambda self, message: send(self, change(message)))


@MUTANTS.declare("setup-level-zero", "AppendSetup never names a stored offset.")
def _level_zero(patcher: Patcher) -> None:
    _resend(
        patcher,
        lambda message: (
            replaced(message, connection_offset_ack_level=0) if isinstance(message, AppendSetup) else message
        ),
    )


@MUTANTS.declare(
    "setup-new-as-today", "AppendSetup gives a new appender NONE_I64, the number for none in the current protocol."
)
def _new_as_today(patcher: Patcher) -> None:
    def marked(message: Any) -> Any:
        if isinstance(message, AppendSetup) and not message.connection_offset_ack_level:
            return replaced(message, connection_offset_ack_level=NONE_I64)
        return message

    _resend(patcher, marked)


@MUTANTS.declare("setup-level-of-any-segment", "AppendSetup names the appender's offset from any segment.")
def _of_any_segment(patcher: Patcher) -> None:
    def replace(set_up: Any) -> Any:
        def wide(self: Any, setup: Any, segment: Any) -> Any:
            if segment is not None:
                every = (each.attributes.get(setup.connection_id) for each in self._segments._segments.values())
                segment.attributes.setdefault(setup.connection_id, max((each for each in every if each), default=0))
            return set_up(self, setup, segment)

        return wide

    patcher.wrap(Appends, "set_up", replace)


@MUTANTS.declare("setup-one-appender", "The set-up of a second appender ends the first on its connection.")
def _one_appender(patcher: Patcher) -> None:
    def replace(set_up: Any) -> Any:
        def alone(self: Any, setup: Any, segment: Any) -> Any:
            self._blocks.writers.clear()
            return set_up(self, setup, segment)

        return alone

    patcher.wrap(Appends, "set_up", replace)


@MUTANTS.declare("setup-without-name", "A segment without a name is made like any other.")
def _without_name(patcher: Patcher) -> None:
    def replace(to_append: Any) -> Any:
        return lambda self, name, now_ns: to_append(self, name or "(none)", now_ns)

    patcher.wrap(DraftMock, "_to_append", replace)


# -- acknowledgements --------------------------------------------------------------------------------------------------


@MUTANTS.declare("ack-of-the-block", "An acknowledgement has the bytes of the last block alone.")
def _of_the_block(patcher: Patcher) -> None:
    acked: dict[str, int] = {}

    def alone(message: Any) -> Any:
        if not isinstance(message, DataAppended):
            return message
        level = message.connection_offset_ack_level
        before, acked[message.connection_id] = acked.get(message.connection_id, 0), level
        return replaced(message, connection_offset_ack_level=level - before)

    _resend(patcher, alone)


@MUTANTS.declare("ack-twice", "Every block is acknowledged twice.")
def _twice(patcher: Patcher) -> None:
    patcher.wrap(Appends, "acks", lambda acks: lambda self: acks(self) * 2)


@MUTANTS.declare("ack-lost", "No block is acknowledged.")
def _lost(patcher: Patcher) -> None:
    patcher.wrap(Appends, "acks", lambda acks: lambda self: acks(self)[:0])


@MUTANTS.declare("ack-before-last-part", "A block is acknowledged at its end, though an event of it is not whole.")
def _before_last_part(patcher: Patcher) -> None:
    def replace(end: Any) -> Any:
        def early(self: Any, message: Any, now_ns: int) -> Any:
            reply = end(self, message, now_ns)
            self._acks[message.connection_id] = message.connection_offset
            return reply

        return early

    patcher.wrap(Appends, "end", replace)


# -- blocks ------------------------------------------------------------------------------------------------------------


@MUTANTS.declare("padding-stored", "Padding counts among the stored bytes of a block.")
def _padding_stored(patcher: Patcher) -> None:
    def replace(handle: Any) -> Any:
        return lambda self, padding, now_ns: self._appends.store(bytes(padding.length))

    rehandle(patcher, Padding, replace)


@MUTANTS.declare("event-outside-dropped", "An event outside a block is dropped.")
def _outside_dropped(patcher: Patcher) -> None:
    allow(patcher, "outside", Event, "outside")


@MUTANTS.declare("begin-unknown-ignored", "A block of an appender that is not set up is dropped.")
def _unknown_ignored(patcher: Patcher) -> None:
    def replace(begin: Any) -> Any:
        def known(self: Any, message: Any) -> None:
            if message.connection_id in self._blocks.writers:
                begin(self, message)

        return known

    patcher.wrap(Appends, "begin", replace)


@MUTANTS.declare("end-stray-ignored", "An end without a beginning is dropped.")
def _stray_ignored(patcher: Patcher) -> None:
    def replace(end: Any) -> Any:
        return lambda self, message, now_ns: None if self._blocks.open_id is None else end(self, message, now_ns)

    allow(patcher, "outside", EndAppendBlock, "outside")
    patcher.wrap(Appends, "end", replace)


@MUTANTS.declare("begin-replaces", "A second beginning drops the block before it.")
def _replaces(patcher: Patcher) -> None:
    allow(patcher, "block", BeginAppendBlock, "block")


@MUTANTS.declare("begin-offset-ignored", "The offset of the beginning of a block is not checked.")
def _offset_ignored(patcher: Patcher) -> None:
    def change(self: Any, begin: Any) -> Any:
        writer = self._blocks.writers.get(begin.connection_id)
        return begin if writer is None else replaced(begin, connection_offset=writer.offset)

    rewrite(patcher, "begin", change)


@MUTANTS.declare("begin-length-negative", "A negative length of a block counts as 0.")
def _length_negative(patcher: Patcher) -> None:
    rewrite(patcher, "begin", lambda self, begin: replaced(begin, length=max(begin.length, 0)))


def _begin_of(self: Any, end: Any) -> Any:
    """Return the beginning of the open block, an end of the same appender where none is open."""
    block = self._blocks._block
    return end if block is None else block.begin


@MUTANTS.declare("end-offset-ignored", "The offset of the end of a block is not checked.")
def _end_offset_ignored(patcher: Patcher) -> None:
    rewrite(
        patcher,
        "end",
        lambda self, end: replaced(end, connection_offset=_begin_of(self, end).connection_offset + end.block_length),
    )


@MUTANTS.declare("end-length-ignored", "The bytes between the beginning and the end of a block are not counted.")
def _end_length_ignored(patcher: Patcher) -> None:
    def change(self: Any, end: Any) -> Any:
        if self._blocks._block is not None:
            self._blocks._block.between = self._blocks._block.begin.length
        return end

    rewrite(patcher, "end", change)


@MUTANTS.declare("end-says-more", "An end with a length above the number of sent bytes ends a block of the sent bytes.")
def _says_more(patcher: Patcher) -> None:
    def change(self: Any, end: Any) -> Any:
        block = self._blocks._block
        if block is None or self._partial.is_open or end.block_length <= len(block.stored):
            return end
        length = len(block.stored)
        return replaced(end, block_length=length, connection_offset=block.begin.connection_offset + length)

    rewrite(patcher, "end", change)


@MUTANTS.declare("end-of-anyone", "The end of another appender ends a block.")
def _of_anyone(patcher: Patcher) -> None:
    rewrite(patcher, "end", lambda self, end: replaced(end, connection_id=_begin_of(self, end).connection_id))


@MUTANTS.declare("overtaken-stored", "A block of an appender that another connection has moved on is stored.")
def _overtaken_stored(patcher: Patcher) -> None:
    def replace(complete: Any) -> Any:
        def anyway(self: Any, now_ns: int) -> Any:
            begin = self._blocks._block.begin
            segment = self._segments.find(self._blocks.writers[begin.connection_id].segment)
            if segment is not None:
                segment.attributes[begin.connection_id] = begin.connection_offset
            return complete(self, now_ns)

        return anyway

    patcher.wrap(Appends, "complete", replace)


@MUTANTS.declare("block-stored-at-break", "A block that is open when its connection breaks is stored.")
def _stored_at_break(patcher: Patcher) -> None:
    def replace(lost: Any) -> Any:
        def storing(self: Any, now_ns: int) -> None:
            block = self._appends._blocks._block
            if block is not None:
                name = self._appends._blocks.writers[block.begin.connection_id].segment
                segment = self._appends._segments.find(name)
                self._appends._segments.append(segment, bytes(block.stored), now_ns)
            lost(self, now_ns)

        return storing

    patcher.wrap(DraftLink, "lost", replace)


@MUTANTS.declare(
    "appenders-end-with-connection", "The stored offset of an appender is lost when its connection breaks."
)
def _end_with_connection(patcher: Patcher) -> None:
    def replace(lost: Any) -> Any:
        def forgetting(self: Any, now_ns: int) -> None:
            for connection_id, writer in self._appends._blocks.writers.items():
                segment = self._appends._segments.find(writer.segment)
                if segment is not None:
                    segment.attributes.pop(connection_id, None)
            lost(self, now_ns)

        return forgetting

    patcher.wrap(DraftLink, "lost", replace)


@MUTANTS.declare("cut-event-lost", "An event that is cut by the end of its block is not stored.")
def _cut_event_lost(patcher: Patcher) -> None:
    def replace(blocks: Any) -> Any:
        class Forgetting(blocks):  # type: ignore[misc]
            def store(self, frame: bytes) -> None:
                super().store(bytes(len(frame)) if self.phase == "tail" else frame)

        return Forgetting

    patcher.wrap(appends, "Blocks", replace)


@MUTANTS.declare("append-to-sealed", "A sealed segment takes blocks.")
def _to_sealed(patcher: Patcher) -> None:
    def replace(complete: Any) -> Any:
        def unsealed(self: Any, now_ns: int) -> Any:
            writer = self._blocks.writers[self._blocks._block.begin.connection_id]
            segment = self._segments.find(writer.segment)
            was_sealed, segment.is_sealed = segment.is_sealed, False
            reply = complete(self, now_ns)
            segment.is_sealed = was_sealed
            return reply

        return unsealed

    patcher.wrap(Appends, "complete", replace)
