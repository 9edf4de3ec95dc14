"""How each protocol is spoken again."""

from collections.abc import Mapping

from wiretool.protocols.registry import PROTOCOLS
from wiretool.replay.manners.manner import Manner


def manners() -> Mapping[str, Manner]:
    """By protocol, those that can be spoken again."""
    from wiretool.replay.manners.pravega import PravegaManner

    return {
        "pravega": PravegaManner(PROTOCOLS["pravega"]),
        "pravega-draft": Manner(PROTOCOLS["pravega-draft"]),
        "sbp": Manner(PROTOCOLS["sbp"]),
        "sbp-0.1": Manner(PROTOCOLS["sbp-0.1"]),
        "offramp": Manner(PROTOCOLS["offramp"]),
    }
