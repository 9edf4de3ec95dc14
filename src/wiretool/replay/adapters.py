"""The replay adapters of all protocols."""

from collections.abc import Callable, Mapping

from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.replay.adapter import ReplayAdapter


def manners(is_met: Callable[[str], object] = lambda name: True) -> Mapping[str, ReplayAdapter]:
    """By protocol, a new adapter; `is_met` tells which protocols are met.

    Those whose servers give out what others need come first.
    """
    made = {name: adapter_of(name) for name in PROTOCOLS if is_met(name)}
    return dict(sorted(made.items(), key=lambda item: not item[1].is_first))


def adapter_of(name: str) -> ReplayAdapter:
    """Return a new adapter of a protocol; one that works from the declarations alone where it has none of its own."""
    protocol = PROTOCOLS[name]
    adapter: ReplayAdapter | None = protocol.made("replay", ReplayAdapter, protocol)
    return ReplayAdapter(protocol) if adapter is None else adapter
