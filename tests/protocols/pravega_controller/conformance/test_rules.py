"""Rules on recorded traffic: what a capture of the real controller keeps, and the smallest change that breaks it."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Side
from wiretool.conformance.recorded.observed import Closing, Item, Observed, ObservedConnection, observe
from wiretool.conformance.recorded.rules import NS_PER_S, Observation, Rule
from wiretool.protocols.pravega_controller.conformance.rules import RULES
from wiretool.replay.recording import recording_of

CAPTURES = Path(__file__).parents[4] / "captures" / "pravega"
NAMES = ("java_write_sync.pcap", "java_scale.pcap.gz", "mgmt.pcap", "py_bytestream.pcap", "txn.pcap")
PREFIX = "pravega-controller/traffic/"


@cache
def recorded(name: str) -> list[ObservedConnection]:
    return observe(recording_of(read_packets([CAPTURES / name])), "pravega-controller")


def problems(observations: Iterable[Observation]) -> list[str]:
    return [each.problem for each in observations if each.problem]


@pytest.mark.parametrize("name", NAMES)
def test_captures_keep_every_rule(name: str) -> None:
    assert recorded(name)
    found = [(each.id, problems(each.judge(seen))) for each in RULES for seen in recorded(name)]
    assert [each for each in found if each[1]] == []


Change = Callable[[list[Item]], list[Item]]


def place(items: list[Item], side: Side, name: str, nth: int = 0) -> int:
    found = (
        at for at, each in enumerate(items) if isinstance(each, Observed) and (each.side, each.name) == (side, name)
    )
    return list(found)[nth]


def edit(side: Side, name: str, change: Callable[[Observed], Observed], nth: int = 0) -> Change:
    def apply(items: list[Item]) -> list[Item]:
        at = place(items, side, name, nth)
        found = items[at]
        assert isinstance(found, Observed)
        return [*items[:at], change(found), *items[at + 1 :]]

    return apply


def fields(side: Side, name: str, nth: int = 0, **changed: Any) -> Change:
    return edit(side, name, lambda each: each._replace(fields={**each.fields, **changed}), nth)


def problem(side: Side, name: str, text: str) -> Change:
    return edit(side, name, lambda each: each._replace(problems=(text,)))


def headers(side: Side, name: str, value: str) -> Change:
    def changed(each: Observed) -> Observed:
        pairs = [[key, value if key == name else other] for key, other in each.fields["headers"]]
        return each._replace(fields={**each.fields, "headers": pairs})

    return edit(side, "Headers", changed)


def without_acks(side: Side, name: str) -> Change:
    """Leave out the acknowledgements of a side, and the end of the connection."""

    def is_kept(item: Item) -> bool:
        if isinstance(item, Observed) and (item.side, item.name) == (side, name):
            return not item.fields["ack"]
        return not isinstance(item, Closing)

    return lambda items: [item for item in items if is_kept(item)]


def unanswered_ping(side: Side) -> Change:
    """Let a side send a Ping, and nobody end the connection."""

    def apply(items: list[Item]) -> list[Item]:
        like = items[0]
        assert isinstance(like, Observed)
        ping = like._replace(n=0, side=side, name="Ping", fields={"ack": False, "opaque_data": "00"}, raw=b"")
        return [*(item for item in items if not isinstance(item, Closing)), ping]

    return apply


def goaway(before: str, last_stream_id: int) -> Change:
    """Let the server send GoAway before the client's first message of a name."""

    def apply(items: list[Item]) -> list[Item]:
        at = place(items, "client", before)
        like = items[at]
        assert isinstance(like, Observed)
        values = {"last_stream_id": last_stream_id, "error_code": "NO_ERROR", "debug_data": ""}
        return [*items[:at], Observed(like.n, like.time_ns, "server", "GoAway", values, (), None, b""), *items[at:]]

    return apply


def of_both(side: Side, message: str) -> dict[str, Change]:
    """Return a change for each rule that both sides have; `message`: of a call."""
    data = (65_536).to_bytes(4, "big")[1:] + bytes(6)
    other: Side = "client" if side == "server" else "server"

    def windowless(items: list[Item]) -> list[Item]:
        left = [item for item in items if getattr(item, "name", "") != "WindowUpdate"]
        at = place(left, side, message)
        found = left[at]
        assert isinstance(found, Observed)
        return [*left[:at], found._replace(raw=data), *left[at + 1 :]]

    return {
        f"{side}/1": problem(side, "Settings", "no_settings: settings come first"),
        f"{side}/2": without_acks(side, "Settings"),
        f"{side}/3": unanswered_ping(other),
        f"{side}/4": problem(side, "Settings", "bad_setting: takes 0 to 1"),
        f"{side}/5": problem(side, "Headers", "frame_after_end: the side has ended the stream"),
        f"{side}/6": windowless,
        f"{side}/7": problem(side, message, "second_message: a call has one message each way"),
        f"{side}/8": problem(side, message, "bad_grpc_prefix: a message begins with 0 or 1"),
        f"{side}/9": problem(side, message, "bad_protobuf: the bytes are not a message"),
    }


RANGE = {"segmentId": {"streamInfo": {"scope": "a", "stream": "b"}, "segmentId": 0}, "minKey": 0.0, "maxKey": 0.5}
BROKEN: dict[str, Change] = {
    **of_both("server", "createScope"),
    "server/10": headers("server", "content-type", "text/html"),
    "server/11": fields("server", "Headers", nth=1, grpc_status=None),
    "server/12": fields("server", "Headers", nth=1, grpc_status="UNKNOWN"),
    "server/13": goaway("createScope", 99),
    "server/14": fields("server", "getCurrentSegments", segmentRanges=[RANGE]),
    "server/15": fields("server", "getCurrentSegments", segmentRanges=[RANGE]),
    "server/16": fields("server", "getURI", port=0),
    **of_both("client", "createScope"),
    "client/10": lambda items: items[place(items, "client", "Preface") + 1 :],
    "client/11": fields("client", "Headers", stream_id=2),
    "client/12": headers("client", ":path", "/other/method"),
    "client/13": headers("client", "te", "gzip"),
    "client/14": fields("server", "Settings", ack=False, settings={"MAX_CONCURRENT_STREAMS": 0}),
    "client/15": goaway("Settings", 0),
}


def changed(change: Change) -> ObservedConnection:
    kept = recorded("py_bytestream.pcap")[0]
    until_ns = kept.recorded_until_ns + 9 * NS_PER_S
    items = change(list(kept.items))
    return ObservedConnection(kept.number, "a", "b", kept.protocol, True, True, kept.opened_ns, items, until_ns)


def test_every_rule_is_here() -> None:
    assert {PREFIX + name for name in BROKEN} == {each.id for each in RULES}


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_is_broken_by_one_change(name: str) -> None:
    rule: Rule = next(each for each in RULES if each.id == PREFIX + name)
    assert problems(rule.judge(changed(list))) == []
    assert len(problems(rule.judge(changed(BROKEN[name])))) >= 1
