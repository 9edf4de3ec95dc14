"""Load on servers, with Locust as its engine: users for a locustfile of one's own, and all that `wiretool bench` is.

Importing Locust changes the standard library (gevent), so nothing here does it before a user class is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wiretool.protocols.offramp.load.users import OfframpConsumer
    from wiretool.protocols.pravega.load.users import PravegaAppender, PravegaFetcher
    from wiretool.protocols.pravega_draft.load.users import PravegaDraftAppender, PravegaDraftFetcher
    from wiretool.protocols.sbp.load.users import SbpAppender, SbpFetcher
    from wiretool.protocols.sbp_0_1.load.users import SbpBatchAppender, SbpBatchFetcher

#: Where each user class is.
_HOMES = {
    "OfframpConsumer": "wiretool.protocols.offramp.load.users",
    "PravegaAppender": "wiretool.protocols.pravega.load.users",
    "PravegaFetcher": "wiretool.protocols.pravega.load.users",
    "PravegaDraftAppender": "wiretool.protocols.pravega_draft.load.users",
    "PravegaDraftFetcher": "wiretool.protocols.pravega_draft.load.users",
    "SbpAppender": "wiretool.protocols.sbp.load.users",
    "SbpBatchAppender": "wiretool.protocols.sbp_0_1.load.users",
    "SbpBatchFetcher": "wiretool.protocols.sbp_0_1.load.users",
    "SbpFetcher": "wiretool.protocols.sbp.load.users",
}

__all__ = [
    "OfframpConsumer",
    "PravegaAppender",
    "PravegaDraftAppender",
    "PravegaDraftFetcher",
    "PravegaFetcher",
    "SbpAppender",
    "SbpBatchAppender",
    "SbpBatchFetcher",
    "SbpFetcher",
]


def __getattr__(name: str) -> Any:
    """A user class, and Locust with it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
