"""Of the manner of Pravega's controller: names, cuts, lists, copies, and what was there before."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.conftest import HERE
from tests.replay.controllers import LyingController, ask
from tests.replay.stage import START_NS, Stage
from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.messages import Headers
from wiretool.protocols.pravega_controller.replay.adapter import ControllerReplayAdapter
from wiretool.protocols.pravega_controller.replay.lists import Lists
from wiretool.protocols.pravega_controller.replay.names import (
    name_of,
    other_scope,
    stream_at,
    stream_of,
    transaction_suffix,
)
from wiretool.protocols.pravega_controller.replay.prepare import Before
from wiretool.records import Record
from wiretool.replay.adapter import Identity
from wiretool.replay.adapters import manners
from wiretool.replay.playing.copies import copy_of
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of

CAPTURES = HERE.parent / "captures" / "pravega"
CONTROLLER = "pravega-controller"


def recorded(name: str) -> Recording:
    return recording_of(read_packets([CAPTURES / name]))


def test_a_segment_is_named_by_its_stream_and_id() -> None:
    assert name_of("sc/st", (2 << 32) | 7) == "sc/st/7.#epoch.2"
    assert stream_of("sc/st/7.#epoch.2#transaction.00") == "sc/st"
    assert stream_of("alone") is None
    assert transaction_suffix({"highBits": 1, "lowBits": -1}) == "#transaction.0000000000000001ffffffffffffffff"


@pytest.mark.parametrize(
    ("name", "now"), [("sc", "sc-3"), ("sc/rg", "sc-3/rg"), ("sc/st/0.#epoch.0", "sc-3/st/0.#epoch.0"), ("", "")]
)
def test_copies_have_scopes_of_their_own(name: str, now: str) -> None:
    assert other_scope(name, 3) == now


def test_the_stream_that_is_told_nearest_counts() -> None:
    inner = {"streamInfo": {"scope": "b", "stream": "inner"}, "segmentId": 1}
    form = {
        "streamInfo": {"scope": "a", "stream": "outer"},
        "segments": [{"segmentId": inner, "offset": 5}],
        "epoch": 1,
    }
    assert stream_at(form, ("segments", 0, "offset")) == "b/inner"
    assert stream_at(form, ("epoch",)) == "a/outer"
    assert stream_at({"status": "SUCCESS"}, ("status",)) is None


def test_a_copy_calls_in_another_scope() -> None:
    copy = copy_of(recorded("mgmt.pcap"), manners(), 2)
    said: list[Any] = [
        record.fields for each in copy.of(CONTROLLER) for record in each.records if record.message == "createStream"
    ]
    assert {fields["streamInfo"]["scope"] for fields in said if "streamInfo" in fields} == {"sc-2", "nope-2"}


def test_what_calls_take_for_granted_was_there() -> None:
    """A part of a recording: its scope and stream were made before, with as many segments as the stream has."""
    whole = recorded("txn.pcap")
    second = whole.events[0].time_ns + 10_000_000
    before = Before(whole.between(second, whole.events[-1].time_ns), CONTROLLER)
    assert list(before.scopes) == ["sc"]
    segments = before.streams["sc/st"]
    assert segments is not None
    assert sorted(segments.ids) == [(0.0, 0.5), (0.5, 1.0)]
    assert not Before(whole, CONTROLLER).streams


def test_what_was_there_is_made_first() -> None:
    whole = recorded("txn.pcap")
    part = whole.between(whole.events[0].time_ns + 10_000_000, whole.events[-1].time_ns)
    known, mock = manners(), PravegaMock(wire_version=17)
    player = Player(script_of(part, known), known, prepare=part)
    Stage(player, {"pravega": mock}).play()
    assert not [each for each in player.outcomes() if each.verdict.is_finding]
    info = pb.StreamInfo(scope="sc", stream="st")
    assert len(ask(mock, "getCurrentSegments", info, START_NS).segmentRanges) == 2


def test_a_segment_that_is_told_without_its_id_is_none_of_those_there() -> None:
    def forget(answer: Any) -> None:
        answer.segmentRanges[0].ClearField("segmentId")

    whole = recorded("txn.pcap")
    part = whole.between(whole.events[0].time_ns + 10_000_000, whole.events[-1].time_ns)
    known, mock = manners(), LyingController("getCurrentSegments", forget, wire_version=17)
    player = Player(script_of(part, known), known, prepare=part)
    Stage(player, {"pravega": mock}).play()
    assert mock.has_lied
    assert player.is_over


def test_nor_where_it_was_told_so_in_the_recording() -> None:
    part = recorded("txn.pcap")
    part = part.between(part.events[0].time_ns + 10_000_000, part.events[-1].time_ns)
    for record in part.of(CONTROLLER)[0].records:
        fields: Any = record.fields
        if record.message in ("getEpochSegments", "createTransaction", "getSegments") and record.side == "server":
            told = next(fields[name] for name in ("segmentRanges", "activeSegments", "segments") if name in fields)
            told[0]["segmentId"] = None
    segments = Before(part, CONTROLLER).streams["sc/st"]
    assert segments is not None
    assert sorted(segments.ids) == [(0.5, 1.0)]


@pytest.mark.parametrize(
    ("identity", "proof"),
    [
        (Identity(), "Basic b2xk"),
        (Identity(token="new"), "Bearer new"),
        (Identity(token="new", headers=(("Authorization", "Basic bmV3"),)), "Basic bmV3"),
    ],
)
def test_proofs_are_those_that_are_given(identity: Identity, proof: str) -> None:
    manner = ControllerReplayAdapter(PROTOCOLS[CONTROLLER])
    manner.identity = identity
    said = Headers(stream_id=1, headers=((":authority", "old:1"), ("authorization", "Basic b2xk"), ("x", "kept")))
    found = manner.metadata(said, "createScope")
    assert [value for name, value in found if name == "authorization"] == [proof]
    assert dict(found)["x"] == "kept"
    assert dict(found)[":path"].endswith("/createScope")


def test_calls_go_to_the_host_that_is_meant_and_want_no_compression() -> None:
    manner = ControllerReplayAdapter(PROTOCOLS[CONTROLLER])
    manner.identity = Identity(host="here:9090", token="new")
    said = Headers(stream_id=1, headers=((":authority", "old:1"), ("grpc-accept-encoding", "gzip"), (None, "unknown")))
    found = dict(manner.metadata(said, "createScope"))
    assert found[":authority"] == "here:9090"
    assert found["grpc-accept-encoding"] == "identity"
    assert found["content-type"] == "application/grpc"
    assert "authorization" not in found


def test_a_page_in_another_order_is_no_finding_in_any_of_its_places() -> None:
    recording = recorded("mgmt.pcap")
    lists = Lists(recording, CONTROLLER)
    exchange = next(each for each in recording.exchanges(CONTROLLER) if _streams_in(each.replies))
    (reply,) = exchange.replies
    assert isinstance(reply.fields, dict)
    live = msgspec.structs.replace(reply, fields={**reply.fields, "streams": _streams_in(exchange.replies)[::-1]})
    first = lists.excuse(reply, live, exchange.request)
    assert first is not None
    assert lists.excuse(reply, live, exchange.request) == first


def _streams_in(replies: Sequence[Record]) -> list[Any]:
    """Return the entries of the answer to listStreamsInScope; none of another."""
    fields = replies[0].fields if replies else None
    return list(fields["streams"]) if isinstance(fields, dict) and replies[0].message == "listStreamsInScope" else []
