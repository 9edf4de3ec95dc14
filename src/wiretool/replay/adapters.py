"""The replay adapters of all protocols."""

from collections.abc import Callable, Mapping

from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.replay.adapter import ReplayAdapter


def manners() -> Mapping[str, ReplayAdapter]:
    """By protocol, a new adapter; one that works from the declarations alone where a protocol has none of its own.

    Those whose servers give out what others need come first.
    """
    made = {name: _adapter(protocol) for name, protocol in PROTOCOLS.items()}
    return dict(sorted(made.items(), key=lambda item: not item[1].is_first))


def _adapter(protocol: Protocol) -> ReplayAdapter:
    make: Callable[[Protocol], ReplayAdapter] = protocol.part("replay") or ReplayAdapter
    return make(protocol)
