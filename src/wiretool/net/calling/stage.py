"""The servers that a caller calls: at addresses, or mocks that are started for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wiretool.net.addresses import Address
from wiretool.net.calling.dialler import Target

if TYPE_CHECKING:  # a call to a server needs no mock, and fault rules load every protocol
    from wiretool.faults import AppliedRules, Rule
    from wiretool.server.mock import Mock
    from wiretool.sinks.pcapng import Recording as Pcapng


@dataclass(frozen=True, slots=True)
class Stage:
    """Whom a caller talks to: addresses, or mocks by the protocol that is spoken at their first door."""

    targets: Mapping[Target, Address] = field(default_factory=dict)
    mocks: "Mapping[str, Mock]" = field(default_factory=dict)
    #: Fault rules of the mocks, and the notes of those that were applied.
    rules: "Sequence[Rule]" = ()
    applied: "AppliedRules | None" = None
    seed: int = 0
    record: "Pcapng | None" = None
    tell: Callable[[str], None] = lambda text: None
