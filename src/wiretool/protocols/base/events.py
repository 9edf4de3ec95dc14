"""The events part of a protocol: where in its frames the events of appends and batches lie."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wiretool.codec.message import Message, fields_of
from wiretool.codec.types import Data, WireType


def no_batches(payload: Any) -> Iterator[tuple[int | None, bytes]]:
    """Yield nothing, for payloads that are no batches."""
    return iter(())


@dataclass(frozen=True)
class EventLayout:
    """Events one after the other in a frame or a block, each after its header; or batches in payloads."""

    #: Bytes of the header of a frame, and of that of each event.
    header_bytes: int = 0
    #: The header and the bytes of an event.
    framed: Callable[[bytes], bytes] = bytes
    #: The wire type of a field that is one event with its header.
    event: type[WireType] | None = None
    #: The message whose bytes the appends of `block_end` take; None where each append is in its own frame.
    block: type[Message] | None = None
    block_end: type[Message] | None = None
    #: Number and bytes of each event in the batches of a payload's JSON form, or of each batch that is one whole.
    batched: Callable[[Any], Iterator[tuple[int | None, bytes]]] = no_batches

    @cached_property
    def block_head(self) -> int:
        """Where the events of a block begin in its frame: after the header and the writer's id."""
        fields = fields_of(self.block) if self.block is not None else ()
        return self.header_bytes + sum(field.wire.size_min for field in fields)

    def first_body(self, cls: type[Message]) -> int | None:
        """Where in a frame of the class the first event's bytes begin, if it has events in itself."""
        at = self.header_bytes
        for field in fields_of(cls):
            at += field.wire.size_min
            if self.event is not None and isinstance(field.wire, self.event):
                return at
            if isinstance(field.wire, Data):
                return at + self.header_bytes
            if not field.wire.form:
                return None
        return None


#: That of a protocol that declares none.
NO_EVENTS = EventLayout()
