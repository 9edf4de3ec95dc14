"""Why a server of the Streaming Batch Protocol may answer otherwise than it was recorded to."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from wiretool.records import Record
from wiretool.replay.manners.manner import Difference, Excuse
from wiretool.replay.manners.sbp_servers import Servers, code_of, fields_in
from wiretool.sessions.dialogues import Dialogue, Recording


@dataclass
class Grounds:
    """What of a recording tells why answers may differ."""

    #: What servers were recorded to make up.
    made: set[tuple[str, Hashable]] = field(default_factory=set)

    def is_made(self, kind: str, value: Hashable) -> bool:
        """Whether a server was recorded to make up a value."""
        return (kind, value) in self.made

    def excuse(self, difference: Difference, recorded: Record, live: Record, request: Record | None) -> Excuse | None:
        return None

    def excuse_missing(self, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        return None

    def excuse_extra(self, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
        return None

    def excuse_end(self, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
        return None


def grounds_in(recording: Recording, protocol: str, servers: Servers) -> Grounds:
    """What a recording tells."""
    grounds = Grounds()
    for dialogue in recording.of(protocol):
        for record in dialogue.records:
            if record.kind == "frame" and record.side == "server":
                fields = fields_in(record)
                if record.message == "CREATE_STREAM" and isinstance(fields.get("stream"), dict):
                    grounds.made.add(("stream", fields["stream"]["stream_id"]))
                elif record.message == "ALLOCATE_ID" and code_of(record) == 1200:
                    grounds.made.add(("range server", fields.get("id")))
    return grounds
