"""The wire protocol of Pravega's segment store, wire versions 5 to 17."""

from wiretool.protocols.base.protocol import Protocol

PROTOCOL = Protocol(
    name="pravega",
    title="Pravega segment store, wire version 17",
    ports=(12345, 12346),
    rank=10,
    wire="wiretool.protocols.pravega.wire:WIRE",
    columns="wiretool.protocols.pravega.columns.conversation:COLUMNS",
    events="wiretool.protocols.pravega.events:EVENTS",
    state="wiretool.protocols.pravega.state:STATE",
    server="wiretool.protocols.pravega.server.mock:SERVER",
    faults="wiretool.protocols.pravega.faults:PravegaFaultAdapter",
    replay="wiretool.protocols.pravega.replay.adapter:PravegaReplayAdapter",
    load="wiretool.protocols.pravega.load:LOAD",
    conformance="wiretool.protocols.pravega.conformance:CONFORMANCE",
    consistency="wiretool.protocols.pravega.consistency:CONSISTENCY",
    fuzz="wiretool.protocols.pravega.fuzz:FUZZ",
)
