"""A mock Offramp v2 server: roads in memory, streams whose consumers share partitions, events over WebSocket."""

from wiretool.protocols.offramp.server.mock import OfframpMock

__all__ = ["OfframpMock"]
