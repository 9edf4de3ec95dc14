"""Streaming Batch Protocol v0.1: the batch style, schemas S1 and S2."""

from wiretool.protocols.base.protocol import Protocol

PROTOCOL = Protocol(
    name="sbp-0.1",
    title="Streaming Batch Protocol v0.1",
    ports=(10911, 12378),
    rank=50,
    wire="wiretool.protocols.sbp_0_1.wire:WIRE",
    columns="wiretool.protocols.sbp_0_1.columns.conversation:COLUMNS",
    events="wiretool.protocols.sbp.events:EVENTS",
    state="wiretool.protocols.sbp_0_1.state:STATE",
    server="wiretool.protocols.sbp_0_1.server.mock:SERVER",
    faults="wiretool.protocols.sbp_0_1.faults:batch_fault_adapter",
    replay="wiretool.protocols.sbp_0_1.replay.adapter:BatchReplayAdapter",
    load="wiretool.protocols.sbp_0_1.load:LOAD",
    conformance="wiretool.protocols.sbp_0_1.conformance:CONFORMANCE",
    consistency="wiretool.protocols.sbp_0_1.consistency:CONSISTENCY",
    fuzz="wiretool.protocols.sbp_0_1.fuzz:FUZZ",
)
