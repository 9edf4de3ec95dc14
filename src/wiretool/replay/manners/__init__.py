"""How each protocol is spoken again."""

from collections.abc import Mapping

from wiretool.protocols.registry import PROTOCOLS
from wiretool.replay.manners.manner import Manner


def manners() -> Mapping[str, Manner]:
    """By protocol, those that can be spoken again."""
    from wiretool.replay.manners.controller import ControllerManner
    from wiretool.replay.manners.draft import DraftManner
    from wiretool.replay.manners.offramp import OfframpManner
    from wiretool.replay.manners.pravega import PravegaManner
    from wiretool.replay.manners.sbp import SbpManner

    return {
        "pravega-controller": ControllerManner(PROTOCOLS["pravega-controller"]),
        "pravega": PravegaManner(PROTOCOLS["pravega"]),
        "pravega-draft": DraftManner(PROTOCOLS["pravega-draft"]),
        "sbp": SbpManner(PROTOCOLS["sbp"]),
        "sbp-0.1": SbpManner(PROTOCOLS["sbp-0.1"]),
        "offramp": OfframpManner(PROTOCOLS["offramp"]),
    }
