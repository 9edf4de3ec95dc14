"""Streaming Batch Protocol, the newest schema (L)."""

from wiretool.protocols.base.protocol import Protocol

PROTOCOL = Protocol(
    name="sbp",
    title="Streaming Batch Protocol, newest schema",
    ports=(10911, 12378),
    rank=40,
    wire="wiretool.protocols.sbp.wire:WIRE",
    columns="wiretool.protocols.sbp.columns.conversation:COLUMNS",
    events="wiretool.protocols.sbp.events:EVENTS",
    state="wiretool.protocols.sbp.state:STATE",
    server="wiretool.protocols.sbp.server.mock:SERVER",
    faults="wiretool.protocols.sbp.faults:latest_fault_adapter",
    replay="wiretool.protocols.sbp.replay.adapter:SbpReplayAdapter",
    load="wiretool.protocols.sbp.load:LOAD",
    conformance="wiretool.protocols.sbp.conformance:CONFORMANCE",
    consistency="wiretool.protocols.sbp.consistency:CONSISTENCY",
    fuzz="wiretool.protocols.sbp.fuzz:FUZZ",
)
