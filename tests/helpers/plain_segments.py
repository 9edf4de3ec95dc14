"""The ends of flows of plain segments."""

import numpy as np

from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.tcp.stream_events import End


def ends_of(plain: PlainSegments) -> list[End]:
    """Return the ends of all flows, those of connections that are over among them."""
    if plain.closed is None:
        return list(plain.ends)
    every = np.ones(len(plain.closed.slots), np.bool_)
    return [*plain.ends, *plain.closed.fins.ends(plain.table, plain.closed.connections, every)]
