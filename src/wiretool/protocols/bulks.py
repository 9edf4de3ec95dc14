"""The column path of each protocol that has one. It stands apart so that only who reads in bulk loads NumPy."""

from functools import cache

from wiretool.protocols.bulk import ProtocolColumns
from wiretool.protocols.registry import load_part

#: By protocol: the module with its COLUMNS; loaded when the first connection speaks it.
_MODULES = {
    "pravega": "pravega.bulk",
    "pravega-draft": "pravega_draft.bulk",
    "sbp": "sbp.bulk",
    "sbp-0.1": "sbp_0_1.bulk",
    "offramp": "offramp.bulk",
}


@cache
def columns_of(protocol: str) -> ProtocolColumns | None:
    """Return what reads frames of connections of that protocol; None where each is read by itself."""
    if protocol not in _MODULES:
        return None
    columns = load_part(_MODULES[protocol]).COLUMNS
    assert isinstance(columns, ProtocolColumns)
    return columns
