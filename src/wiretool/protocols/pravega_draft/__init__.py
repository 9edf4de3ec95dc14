"""The "Streaming Service Wire Protocol" draft of 2017: append blocks in connection offsets, and partial messages."""

from wiretool.protocols.base.protocol import Protocol

PROTOCOL = Protocol(
    name="pravega-draft",
    title="Streaming Service Wire Protocol, draft of 2017",
    ports=(12345,),
    rank=30,
    wire="wiretool.protocols.pravega_draft.wire:WIRE",
    columns="wiretool.protocols.pravega_draft.columns.conversation:COLUMNS",
    events="wiretool.protocols.pravega.events:FRAMES_ONLY",
    state="wiretool.protocols.pravega_draft.state:STATE",
    server="wiretool.protocols.pravega_draft.server.mock:SERVER",
    faults="wiretool.protocols.pravega.faults:PravegaFaultAdapter",
    replay="wiretool.protocols.pravega_draft.replay.adapter:DraftReplayAdapter",
    load="wiretool.protocols.pravega_draft.load:LOAD",
    conformance="wiretool.protocols.pravega_draft.conformance:CONFORMANCE",
    consistency="wiretool.protocols.pravega_draft.consistency:CONSISTENCY",
    fuzz="wiretool.protocols.pravega_draft.fuzz:FUZZ",
)
