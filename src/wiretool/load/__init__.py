"""Load on servers, with Locust as its engine: users for a locustfile of one's own, and all that `wiretool bench` is.

Importing Locust changes the standard library (gevent), so nothing here does it before a user class is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wiretool.load.users.offramp import OfframpConsumer
    from wiretool.load.users.pravega import PravegaAppender, PravegaFetcher
    from wiretool.load.users.pravega_draft import PravegaDraftAppender, PravegaDraftFetcher
    from wiretool.load.users.sbp import SbpAppender, SbpFetcher
    from wiretool.load.users.sbp_0_1 import SbpBatchAppender, SbpBatchFetcher

#: Where each user class is.
_HOMES = {
    "OfframpConsumer": "wiretool.load.users.offramp",
    "PravegaAppender": "wiretool.load.users.pravega",
    "PravegaFetcher": "wiretool.load.users.pravega",
    "PravegaDraftAppender": "wiretool.load.users.pravega_draft",
    "PravegaDraftFetcher": "wiretool.load.users.pravega_draft",
    "SbpAppender": "wiretool.load.users.sbp",
    "SbpBatchAppender": "wiretool.load.users.sbp_0_1",
    "SbpBatchFetcher": "wiretool.load.users.sbp_0_1",
    "SbpFetcher": "wiretool.load.users.sbp",
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
