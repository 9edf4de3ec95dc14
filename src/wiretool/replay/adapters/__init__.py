"""How each protocol is spoken again."""

from collections.abc import Mapping

from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.replay.adapter import Manner


def manners() -> Mapping[str, Manner]:
    """By protocol, those that can be spoken again."""
    from wiretool.protocols.offramp.replay.adapter import OfframpManner
    from wiretool.protocols.pravega.replay.adapter import PravegaManner
    from wiretool.protocols.pravega_controller.replay.adapter import ControllerManner
    from wiretool.protocols.pravega_draft.replay.adapter import DraftManner
    from wiretool.protocols.sbp.replay.adapter import SbpManner

    return {
        "pravega-controller": ControllerManner(PROTOCOLS["pravega-controller"]),
        "pravega": PravegaManner(PROTOCOLS["pravega"]),
        "pravega-draft": DraftManner(PROTOCOLS["pravega-draft"]),
        "sbp": SbpManner(PROTOCOLS["sbp"]),
        "sbp-0.1": SbpManner(PROTOCOLS["sbp-0.1"]),
        "offramp": OfframpManner(PROTOCOLS["offramp"]),
    }
