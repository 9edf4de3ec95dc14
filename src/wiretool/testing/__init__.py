"""Fixtures and assertions for tests of clients, with pytest."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from wiretool.testing.assertions import assert_conforms as assert_conforms
    from wiretool.testing.assertions import assert_replays as assert_replays
    from wiretool.testing.mock_server import FaultRule as FaultRule
    from wiretool.testing.mock_server import MockServer as MockServer

__all__ = ["FaultRule", "MockServer", "assert_conforms", "assert_replays"]

_HOMES = {
    "assert_conforms": "wiretool.testing.assertions",
    "assert_replays": "wiretool.testing.assertions",
    "FaultRule": "wiretool.testing.mock_server",
    "MockServer": "wiretool.testing.mock_server",
}


def __getattr__(name: str) -> object:
    """Load an attribute when it is first needed: pytest imports this package in every project."""
    if name not in _HOMES:
        raise AttributeError(f"module 'wiretool.testing' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
