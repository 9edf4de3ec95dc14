"""Pravega's controller: calls of gRPC over HTTP/2."""

from wiretool.protocols.base.protocol import Protocol

PROTOCOL = Protocol(
    name="pravega-controller",
    title="Pravega controller (gRPC over HTTP/2)",
    ports=(9090,),
    rank=20,
    wire="wiretool.protocols.pravega_controller.wire:WIRE",
    state="wiretool.protocols.pravega_controller.state:STATE",
    faults="wiretool.protocols.pravega_controller.faults:ControllerFaultAdapter",
    replay="wiretool.protocols.pravega_controller.replay.adapter:ControllerReplayAdapter",
    conformance="wiretool.protocols.pravega_controller.conformance:CONFORMANCE",
    fuzz="wiretool.protocols.pravega_controller.fuzz:FUZZ",
)
