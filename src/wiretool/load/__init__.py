"""Load on servers, with Locust as its engine: users for a locustfile of one's own, and all that `wiretool bench` is.

Importing Locust changes the standard library (gevent), so nothing here does it before a user class is asked for:
`from wiretool.load import PravegaAppender` finds it through the load part of its protocol (load/part.py).
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Return a user class of any protocol, and import Locust with it."""
    from wiretool.load.part import user_places
    from wiretool.protocols.base.protocol import imported

    places = user_places() if name[:1].isupper() else {}
    if name not in places:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return imported(places[name])


def __dir__() -> list[str]:
    """List the user classes too."""
    from wiretool.load.part import user_places

    return sorted({*globals(), *user_places()})
