"""The protocols by name, newer before older, and the TCP ports on which each is expected, its own first.

They stand apart so that a protocol is loaded only once somebody speaks it.
"""

from collections.abc import Mapping

PORTS: Mapping[str, tuple[int, ...]] = {
    "pravega": (12345, 12346),
    "pravega-controller": (9090,),
    "pravega-draft": (12345,),
    "sbp": (10911, 12378),
    "sbp-0.1": (10911, 12378),
    "offramp": (8080,),
}
