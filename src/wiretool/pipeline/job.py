"""What a pipeline is to do, and how far it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wiretool.capture.tls.keylog import KeyLog


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be made of which captures, and where the tables go."""

    captures: Sequence[Path]
    root: Path
    protocol: str = "auto"
    ports: Mapping[int, str] = field(default_factory=dict)
    has_events: bool = False
    #: Into how many parts flows are dealt; 0 for as many as memory asks for.
    splits: int = 0
    #: The lines of a key log, with the secrets of TLS connections.
    secrets: bytes = b""

    @property
    def options(self) -> Mapping[str, Any]:
        """What the dissection is told."""
        options: dict[str, Any] = {"protocol": self.protocol, "ports": dict(self.ports)}
        return options | {"keys": KeyLog.of(self.secrets)} if self.secrets else options


@dataclass(frozen=True, slots=True)
class Step:
    """How far a run is: what it does, and of how much of that how much is done."""

    name: str
    done: int
    total: int
