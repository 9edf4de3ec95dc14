"""The events part of Pravega: events in blocks and in conditional appends."""

from wiretool.protocols.base.events import EventLayout
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega.messages import AppendBlock, AppendBlockEnd
from wiretool.protocols.pravega.structures import EventFrame

EVENTS = EventLayout(HEADER_BYTES, event_frame, EventFrame, AppendBlock, AppendBlockEnd)
#: The draft's appends are in frames of their own.
FRAMES_ONLY = EventLayout(HEADER_BYTES, event_frame, EventFrame)
