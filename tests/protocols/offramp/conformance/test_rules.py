"""Rules on recorded traffic: what a capture of the original server keeps, and the smallest change that breaks it."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Side
from wiretool.conformance.recorded.observed import Closing, Item, Observed, ObservedConnection, observe
from wiretool.conformance.recorded.rules import NS_PER_S, Observation, Rule
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.conformance.rules import RULES
from wiretool.replay.recording import recording_of

CAPTURES = Path(__file__).parents[4] / "captures" / "offramp"
#: Captures in the repository, and the rules that their clients break on purpose (docs/conformance-captures.md).
FOUND = {
    "plain.pcap": (),
    "plain_resume.pcap": (),
    "rebalance3.pcap": (),
    "u2k_drop5.pcap": (),
    "u2k_snap96.pcap": (),
    "deflate_context_takeover.pcap": (),
    "framing.pcap": ("client/5", "client/12"),
    "payloads_intl.pcap": ("client/9", "client/12"),
    "err_counts.pcap": ("client/7", "client/10"),
    "err_handshake.pcap": ("client/1", "client/2"),
    "err_malformed.pcap": ("client/6", "client/7", "client/8", "client/9"),
}


@cache
def recorded(name: str) -> list[ObservedConnection]:
    return observe(recording_of(read_packets([CAPTURES / name])), "offramp")


def rule(name: str) -> Rule:
    return next(each for each in RULES if each.id == f"offramp/traffic/{name}")


def problems(observations: Iterable[Observation]) -> list[str]:
    return [each.problem for each in observations if each.problem]


@pytest.mark.parametrize("name", FOUND)
def test_captures(name: str) -> None:
    found = {
        each.id.removeprefix("offramp/traffic/")
        for each in RULES
        if any(problems(each.judge(connection)) for connection in recorded(name))
    }
    assert found == set(FOUND[name])


Change = Callable[[list[Item]], list[Item]]


def fields(name: str, nth: int = 0, **changed: Any) -> Change:
    """Change fields of the nth message of a name."""
    return edit(name, lambda each: each._replace(fields={**each.fields, **changed}), nth)


def problem(name: str, text: str, nth: int = 0) -> Change:
    return edit(name, lambda each: each._replace(problems=(text,)), nth)


def framed(name: str, first: int, payload: bytes, mask: bytes | None) -> Change:
    return edit(name, lambda each: each._replace(raw=framing.frame_bytes(first, payload, mask)))


def edit(name: str, change: Callable[[Observed], Observed], nth: int = 0) -> Change:
    def apply(items: list[Item]) -> list[Item]:
        at = place(items, name, nth)
        found = items[at]
        assert isinstance(found, Observed)
        return [*items[:at], change(found), *items[at + 1 :]]

    return apply


def place(items: list[Item], name: str, nth: int = 0) -> int:
    return [at for at, item in enumerate(items) if getattr(item, "name", "") == name][nth]


def without(name: str, side: str = "") -> Change:
    return lambda items: [
        item for item in items if getattr(item, "name", "") != name or side not in ("", getattr(item, "side", ""))
    ]


def first(name: str) -> Change:
    """Move a message before all others."""
    return lambda items: [items[place(items, name)], *(item for item in items if getattr(item, "name", "") != name)]


def doubled(name: str) -> Change:
    return lambda items: [*items[: place(items, name)], items[place(items, name)], *items[place(items, name) :]]


def added(side: Side, name: str, before: str, **values: Any) -> Change:
    def apply(items: list[Item]) -> list[Item]:
        at = place(items, before)
        like = items[at]
        assert isinstance(like, Observed)
        return [*items[:at], Observed(1_000, like.time_ns, side, name, values, (), None, b""), *items[at:]]

    return apply


def both(*changes: Change) -> Change:
    def apply(items: list[Item]) -> list[Item]:
        for change in changes:
            items = change(items)
        return items

    return apply


def pinged(asks: Side, answers: Side) -> Change:
    """Let a side answer a Ping with another payload."""
    return both(added(asks, "Ping", "REQUEST", payload="70"), added(answers, "Pong", "COMMIT", payload="71"))


def without_end(items: list[Item]) -> list[Item]:
    return [item for item in items if not isinstance(item, Closing)]


_HEADERS = [["Upgrade", "h2c"]]
BROKEN: dict[str, Change] = {
    "server/1": fields("HandshakeResponse", headers=[["Sec-WebSocket-Accept", "x"]]),
    "server/2": fields("HandshakeResponse", headers=_HEADERS),
    "server/3": fields("HandshakeResponse", headers=[["Sec-WebSocket-Extensions", "permessage-deflate"]]),
    "server/4": problem("MESSAGE", "masked_server_frame: a server must not mask its frames"),
    "server/5": problem("MESSAGE", "bad_utf8: invalid start byte in a text message"),
    "server/6": problem("MESSAGE", "missing_field: is not there"),
    "server/7": problem("MESSAGE", "wrong_direction: a server does not send REQUEST"),
    "server/8": doubled("CONNECTION"),
    "server/9": fields("REQUEST", count=9),
    "server/10": fields("MESSAGE", nth=3, offset=1),
    "server/11": fields("REBALANCE", assignment=[1]),
    "server/12": fields("COMMIT_RESPONSE", correlationId="other"),
    "server/13": both(without("COMMIT_RESPONSE"), without_end),
    "server/14": both(
        added("client", "Ping", "REQUEST", payload="70"), added("server", "Pong", "COMMIT", payload="71")
    ),
    "server/15": problem("Close", "bad_close_code: 1005 is no code that a server may send", nth=1),
    "server/16": fields("Close", code=3000),
    "server/17": problem("MESSAGE", "frame_after_close: nothing follows a Close"),
    "server/18": framed("MESSAGE", 0x82, b'{"partition":0,"type":"MESSAGE"}', None),
    "server/19": framed("MESSAGE", 0x81, b'{"type":"MESSAGE"}', None),
    "client/1": fields("HandshakeRequest", method="POST"),
    "client/2": fields("HandshakeRequest", target="/offramp/v2/roads/a/streams/b/messages?defaultOffset=NEWEST"),
    "client/3": first("REQUEST"),
    "client/4": problem("REQUEST", "unmasked_client_frame: a client must mask its frames"),
    "client/5": framed("REQUEST", 0x81, b"{}", bytes(4)),
    "client/6": problem("REQUEST", "malformed_utf8: invalid start byte"),
    "client/7": problem("REQUEST", "malformed_json: expected a value"),
    "client/8": problem("REQUEST", "wrong_direction: a client does not send MESSAGE"),
    "client/9": framed("REQUEST", 0x81, b'{"count":1,"type":"REQUEST"}', b"mask"),
    "client/10": fields("REQUEST", count=0),
    "client/11": doubled("COMMIT"),
    "client/12": fields("COMMIT", offsets={"0": 11}),
    "client/13": problem("COMMIT", "message_too_big: a client message of 9,000"),
    "client/14": both(
        added("server", "Ping", "REQUEST", payload="70"), added("client", "Pong", "COMMIT", payload="71")
    ),
    "client/15": problem("Close", "bad_close_body: half a code"),
    "client/16": without("Close", "client"),
    "client/17": problem("COMMIT", "frame_after_close: nothing follows a Close"),
}


def changed(change: Change) -> ObservedConnection:
    (kept,) = recorded("plain.pcap")
    until_ns = kept.recorded_until_ns + 9 * NS_PER_S
    return ObservedConnection(
        kept.number, kept.client, kept.server, "offramp", True, True, kept.opened_ns, change(list(kept.items)), until_ns
    )


def test_every_rule_is_here() -> None:
    assert {f"offramp/traffic/{name}" for name in BROKEN} == {each.id for each in RULES}


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_is_broken_by_one_change(name: str) -> None:
    judge = rule(name).judge
    assert problems(judge(changed(list))) == []
    broken = changed(BROKEN[name])
    assert len(problems(judge(broken))) >= 1


@pytest.mark.parametrize("name", ["server/8", "server/9", "server/12", "server/13"])
def test_what_was_not_captured_may_explain_it(name: str) -> None:
    broken = changed(BROKEN[name])
    broken.is_whole = False
    assert list(rule(name).judge(broken)) == []
