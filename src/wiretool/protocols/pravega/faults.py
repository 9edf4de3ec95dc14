"""Faults in Pravega's protocol and in its draft, whose frames have the same header."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from wiretool.errors import EncodeError
from wiretool.faults.actions import Stale
from wiretool.faults.adapter import FaultAdapter, Form, Kind, LengthField
from wiretool.faults.places import Pattern
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.records import Record

#: The epoch of a segment is a part of its name.
_EPOCH = re.compile(r"(?<=\.#epoch\.)\d+", re.ASCII)
#: Fields that name segments.
_SEGMENTS = ("segment", "segment_name", "parent_segment", "target", "source", "target_segment_id")


class PravegaFaultAdapter(FaultAdapter):
    """A type and a length in front of each message."""

    length = LengthField(4, 4)

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        if protocol.name == "pravega":
            self.appends = frozenset(("AppendBlockEnd", "ConditionalAppend", "ConditionalBlockEnd"))

    synonyms: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "segment": ("segment_name", "target", "target_segment_id", "parent_segment"),
        "event_number": ("last_event_number",),
        "last_event_number": ("event_number",),
    }

    def stale_places(self, kind: Kind, what: str) -> Sequence[Pattern]:
        if what != "epoch" or self.protocol.name != "pravega" or kind not in self.declared:
            return super().stale_places(kind, what)
        fields = self.declared[kind].__struct_fields__
        places: list[Pattern] = [(name,) for name in _SEGMENTS if name in fields]
        if "source_segment_ids" in fields:
            places.append(("source_segment_ids", None))
        if "merged" in fields:
            places.append(("merged", None, "source"))
        return places

    def lower(self, action: Stale) -> Callable[[Any], Any]:
        lower = super().lower(action)
        if action.what == "offset":
            return lower
        return lambda name: _EPOCH.sub(lambda found: str(lower(int(found.group()))), name)

    def staler(self, record: Record, form: Form, action: Stale) -> Form:
        made = super().staler(record, form, action)
        if made == form:  # a text is another object even where nothing in it was replaced
            raise EncodeError(f"no {action.what} in it can be lower", path=record.message)
        return made

    def frame(self, record: Record, form: Form, first: bytes, conversation: Conversation, rng: random.Random) -> bytes:
        """With the bytes behind its last field, which mean nothing and are kept."""
        frame = super().frame(record, form, first, conversation, rng)
        if not record.left_over:
            return frame
        return self.with_length(frame[:HEADER_BYTES], len(record.left_over)) + frame[HEADER_BYTES:] + record.left_over
