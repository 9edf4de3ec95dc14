"""How the batch style of the Streaming Batch Protocol is spoken again: its data nodes are one server."""

import random
from collections.abc import Iterable
from dataclasses import replace

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.sbp.messages import Schema
from wiretool.protocols.sbp.replay.adapter import SbpReplayAdapter
from wiretool.protocols.sbp_0_1.framing import only_fit
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.replay.prepare import batch_preparations
from wiretool.protocols.sbp_0_1.session import BatchConversation
from wiretool.records import Record
from wiretool.replay.adapter import Talk
from wiretool.replay.playing.id_map import Values
from wiretool.server.options import MockOptions


class BatchReplayAdapter(SbpReplayAdapter):
    """Streams, ranges and batches in the schemas S1 and S2."""

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        #: The schema of a connection, and of all of them.
        self._schema_of: dict[Dialogue, Schema] = {}
        self.schema: Schema | None = None

    def study(self, recording: Recording) -> None:
        super().study(recording)
        self._schema_of = _schemas_in(recording.of(self.protocol.name))
        found = set(self._schema_of.values())
        self.schema = next(iter(found)) if len(found) == 1 else None

    def door(self, dialogue: Dialogue) -> str:
        return "placement-manager" if super().door(dialogue).startswith("placement-driver") else ""

    def renewed(self, record: Record, values: Values, conversation: Conversation, rng: random.Random) -> bytes:
        dialogue = self.grounds.dialogue_of.get(record.n)
        if isinstance(conversation, BatchConversation) and dialogue in self._schema_of:
            conversation.schema, conversation.is_decided = self._schema_of[dialogue], True
        return super().renewed(record, values, conversation, rng)

    def preparations(self, recording: Recording, values: Values) -> Iterable[tuple[str, Talk]]:
        name, schema = self.protocol.name, self.schema or S1
        return batch_preparations(name, self.servers, self.grounds, schema, recording, values)

    def mock_options(self, recording: Recording, options: MockOptions) -> MockOptions:
        """One server that is both is one door, as by default; else each has its own."""
        self.study(recording)
        if self.servers.both:
            return options if self.schema is None else replace(options, schema=self.schema.name)
        return replace(options, range_servers=1, schema=self.schema.name if self.schema else "")


def _schemas_in(dialogues: Iterable[Dialogue]) -> dict[Dialogue, Schema]:
    """The schema of the batch style that is spoken on each connection, where a frame can only be of one."""
    found = {}
    for dialogue in dialogues:
        frames = (record.raw for record in dialogue.records if record.kind == "frame")
        fits = (only_fit(raw, 0, len(raw)) for raw in frames)
        schema = next((fit for fit in fits if fit is not None), None)
        if schema is not None:
            found[dialogue] = schema
    return found
