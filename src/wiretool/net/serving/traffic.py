"""The counters of connections and bytes of a host or tap."""

from collections import defaultdict
from dataclasses import dataclass, field


def _by_protocol() -> defaultdict[str, int]:
    return defaultdict(int)


@dataclass(slots=True)
class Traffic:
    """Connections, and bytes by protocol: received from clients, and sent to them."""

    opened: int = 0
    refused: int = 0
    received: defaultdict[str, int] = field(default_factory=_by_protocol)
    sent: defaultdict[str, int] = field(default_factory=_by_protocol)

    @property
    def received_bytes(self) -> int:
        """Return the bytes from clients, of all protocols."""
        return sum(self.received.values())

    @property
    def sent_bytes(self) -> int:
        """Return the bytes to clients, of all protocols."""
        return sum(self.sent.values())
