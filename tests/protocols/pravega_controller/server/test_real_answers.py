"""A conversation over all calls, held with a real controller 0.13.0 and with ours: both answer and fail alike.

`real_answers.json` is what tests/interop/controller_calls.py recorded.
"""

import json
from pathlib import Path
from typing import Any

from tests.interop.controller_calls import Caller, converse
from tests.protocols.pravega_controller.server.world import World
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.codes import CallFailed
from wiretool.protocols.pravega_controller.server.transactions import ABORT_NS

REAL: dict[str, Any] = json.loads(Path(__file__).with_name("real_answers.json").read_text())
#: Calls that end otherwise here, on purpose: part of a cut is refused, with a text; transactions that have ended, and a
#: sealed stream by its tags, are always listed, which a real controller does only now and then.
OTHERWISE = {
    "between_unknown",
    "stream.getSegmentsBetween",
    "sealed.getSegmentsBetween",
    "sealed.listCompletedTransactions",
    "sealed.listStreamsInScopeForTag",
}


def test_all_calls_end_as_with_a_real_controller() -> None:
    world = World()

    def send(method: str, request: bytes) -> bytes | tuple[str, str]:
        try:
            return world.service.call(method, request, None, world.now_ns)
        except CallFailed as failed:
            return failed.code.name, failed.text

    caller = Caller(send, "calls", lambda: world.advance(ABORT_NS))
    converse(caller)
    assert caller.outcomes.keys() == REAL.keys()
    differ = {name for name, outcome in caller.outcomes.items() if outcome != REAL[name]}
    assert differ == OTHERWISE, {name: (caller.outcomes[name], REAL[name]) for name in differ ^ OTHERWISE}


def test_the_streams_of_the_controller_are_listed_and_have_segments() -> None:
    world = World()
    world.make_stream()
    request = pb.StreamsInScopeRequest(scope=pb.ScopeInfo(scope="_system"))
    listed = world.call("listStreamsInScope", request).streams
    names = {stream.stream for stream in listed}
    expected = {"_requeststream", "_commitStream", "_abortStream", "_kvTableStream"}
    expected |= {
        f"_RG{name}" for name in ("scaleGroup", "commitStreamReaders", "abortStreamReaders", "kvtStreamReaders")
    }
    assert names == expected | {f"_MARK{name}" for name in expected}
    for stream in listed:
        ranges = world.call("getCurrentSegments", stream).segmentRanges
        assert ranges
        for each in ranges:
            assert world.data(f"_system/{stream.stream}/{each.segmentId.segmentId}.#epoch.0") == b""
