"""The phase table, walked whole, and who waits for which reply."""

from itertools import product

import pytest

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.protocols.offramp.messages import (
    EVENTS,
    MESSAGES,
    CancelEvent,
    Close,
    ConnectionEvent,
    HandshakeRequest,
    HandshakeResponse,
    MessageEvent,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.session import TABLE, Kind, Phase, Session, Unnamed, Waiting

SIDES: tuple[Side, Side] = ("client", "server")
KINDS: tuple[Kind, ...] = (*MESSAGES, Unnamed)
BREACHES = {
    "http_after_upgrade",
    "frame_after_close",
    "frame_before_upgrade",
    "event_before_connection",
    "repeated_connection",
}


def sends(side: Side, kind: Kind) -> bool:
    return kind is Unnamed or kind.declaration.sender in (side, "both")


def at(phase: Phase) -> Session:
    session = Session(from_start=True)
    session.phases = {"client": phase, "server": phase}
    return session


@pytest.mark.parametrize(("phase", "side"), list(product(Phase, SIDES)))
def test_every_message_moves_on_or_breaks_a_rule(phase: Phase, side: Side) -> None:
    for kind in KINDS:
        session = at(phase)
        breach = session.take(side, kind)
        following = TABLE.get((phase, side, kind))
        if following is not None:
            assert breach is None
            assert session.phases[side] is following
            assert sends(side, kind)
        elif sends(side, kind):
            assert breach is not None
            assert breach.kind in BREACHES
            assert (breach.phase, breach.side) == (phase.value, side)
        assert session.phases["server" if side == "client" else "client"] is phase


def test_nothing_follows_a_close() -> None:
    assert not [key for key in TABLE if key[0] is Phase.CLOSED]
    for side, kind in product(SIDES, KINDS):
        if sends(side, kind) and kind not in (HandshakeRequest, HandshakeResponse):
            breach = at(Phase.CLOSED).take(side, kind)
            assert breach is not None
            assert breach.kind == "frame_after_close"


def test_whoever_joins_late_may_meet_anything() -> None:
    for side, kind in product(SIDES, KINDS):
        if sends(side, kind):
            assert Session(from_start=False).take(side, kind) is None


def test_the_ways_to_break_a_session() -> None:
    session = Session(from_start=True)
    early = session.take("client", RequestEvent)
    assert str(early) == ("frame_before_upgrade: REQUEST from the client in phase http: no handshake came before it")
    assert session.take("client", CancelEvent) is None  # said once
    assert session.take("server", HandshakeResponse, 101) is None
    first = session.take("server", RebalanceEvent)
    assert first is not None
    assert first.kind == "event_before_connection"
    assert session.take("server", ConnectionEvent) is None
    again = session.take("server", ConnectionEvent)
    assert again is not None
    assert again.kind == "repeated_connection"
    late = session.take("server", HandshakeResponse, 200)
    assert late is not None
    assert late.kind == "http_after_upgrade"
    unnamed = at(Phase.CLOSED).take("server", Unnamed)
    assert str(unnamed).startswith("frame_after_close: a frame from the server")


def test_only_101_upgrades() -> None:
    session = Session(from_start=True)
    assert session.take("server", HandshakeResponse, 404) is None
    refused = session.phases["server"]
    assert session.take("server", HandshakeResponse, 101) is None
    assert (refused, session.phases["server"]) == (Phase.HTTP, Phase.UPGRADED)


@pytest.mark.parametrize("phase", list(Phase))
def test_a_hole_explains_what_may_have_been_in_it(phase: Phase) -> None:
    session = at(phase)
    session.hole("server")
    assert session.phases["client"] is phase
    breach = session.take("server", MessageEvent)
    assert (breach is None) == (phase is not Phase.CLOSED)
    if phase is Phase.CLOSED:
        assert session.take("server", Close) is not None


def test_the_table_is_about_all_events() -> None:
    for event in EVENTS:
        side: Side = "server" if event.declaration.sender == "server" else "client"
        assert (Phase.JOINED, side, event) in TABLE


def test_replies_are_taken_in_order() -> None:
    waiting = Waiting()
    for n, key in enumerate(["a", "b", "a", None], 1):
        waiting.add(key, n)
    assert [waiting.take(key) for key in ("a", "b", "b", "a", "a", None)] == [1, 2, None, 3, None, 4]


def test_after_a_hole_only_single_requests_still_wait() -> None:
    waiting = Waiting()
    for n, key in enumerate(["a", "b", "a", "c", "c"], 1):
        waiting.add(key, n)
    assert waiting.take("c") == 4
    waiting.forget_repeated()
    assert [waiting.take(key) for key in "abc"] == [None, 2, 5]
    waiting.forget_repeated()


def test_the_oldest_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 3)
    waiting = Waiting()
    for n in range(5):
        waiting.add(n, n)
    assert [waiting.take(n) for n in range(5)] == [None, None, 2, 3, 4]
