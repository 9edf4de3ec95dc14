"""Data Highway Offramp v2: JSON events in WebSocket messages behind an HTTP upgrade."""

from wiretool.protocols.base.protocol import Protocol

PROTOCOL = Protocol(
    name="offramp",
    title="Data Highway Offramp v2 (JSON events in WebSocket messages)",
    ports=(8080,),
    rank=60,
    wire="wiretool.protocols.offramp.wire:WIRE",
    columns="wiretool.protocols.offramp.columns.conversation:COLUMNS",
    state="wiretool.protocols.offramp.state:STATE",
    server="wiretool.protocols.offramp.server.mock:SERVER",
    faults="wiretool.protocols.offramp.faults:OfframpFaultAdapter",
    replay="wiretool.protocols.offramp.replay.adapter:OfframpReplayAdapter",
    load="wiretool.protocols.offramp.load:LOAD",
    conformance="wiretool.protocols.offramp.conformance:CONFORMANCE",
    consistency="wiretool.protocols.offramp.consistency:CONSISTENCY",
    fuzz="wiretool.protocols.offramp.fuzz:FUZZ",
)
