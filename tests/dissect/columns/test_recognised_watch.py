"""A watch whose protocol was recognised with those of others, and is to be recognised again."""

import random
from functools import partial
from itertools import islice

import pytest

from tests.helpers.frames import TALKS
from wiretool.capture.tcp.stream_events import Connection, Data
from wiretool.dissect.columns.numbering import Numbers
from wiretool.dissect.columns.pace import Pace
from wiretool.dissect.columns.watch import BulkWatch
from wiretool.dissect.dissector import Connections
from wiretool.protocols.base.registry import PROTOCOLS


def state_of(watch: BulkWatch) -> dict[str, object]:
    """Return the attributes of a watch, those of the class among them that no object has."""
    names = {name for each in (type(watch).__mro__) for name, value in vars(each).items() if not callable(value)}
    names = {name for name in names if not isinstance(getattr(type(watch), name, None), property)} | vars(watch).keys()
    return {name: getattr(watch, name) for name in names if name.startswith("_") and not name.startswith("__")}


@pytest.mark.parametrize("protocol", ["pravega", "sbp", "sbp-0.1", "offramp"])
@pytest.mark.parametrize("count", [0, 2])
def test_a_forgotten_protocol_leaves_no_trace(protocol: str, count: int) -> None:
    numbers, pace = Numbers(), Pace()
    connections = Connections(numbers.take, kind=partial(BulkWatch, numbers, pace))
    connection = Connection(0, bytes(4) + b"\x80\0", bytes(4) + b"\x2a\x9f", 0)
    connection.opened = True
    watch = connections.watch(connection)
    assert isinstance(watch, BulkWatch)
    sent = islice(TALKS[protocol](random.Random(1)), count)
    watch.hold([Data(connection, each.side, 0, each.data, 0, at) for at, each in enumerate(sent)], 1)
    before = state_of(watch), connections.unfinished.size
    watch.begin_with(PROTOCOLS[protocol], None)
    assert {"_conversation", "_splitters"} < {
        name for name, value in state_of(watch).items() if value is not before[0][name]
    }
    watch.lend()
    watch.forget_protocol()
    assert (state_of(watch), connections.unfinished.size) == before
    assert watch.account.protocol == ""
