"""Recordings: the cases that they show, and the case that a failure counts against."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.helpers.examples import ABSENT, needs_protocol
from wiretool.analysis.dialogues import Dialogue, Ended, Event, Recording, Told
from wiretool.conformance.case import (
    MUST,
    Case,
    Conformance,
    Incoming,
    Send,
    case,
    expect,
    expect_close,
    expect_nothing,
    send,
)
from wiretool.conformance.levels import Verdict
from wiretool.conformance.recorded.attribution import attributed
from wiretool.conformance.recorded.judgement import judge_recording
from wiretool.conformance.recorded.observed import Closing, Item, Observed, ObservedConnection, observe
from wiretool.conformance.recorded.reply_match import PATIENCE_S
from wiretool.conformance.recorded.rules import NS_PER_S
from wiretool.conformance.recorded.sighting import Sighting
from wiretool.conformance.registry import conformance_of
from wiretool.conformance.values import Bindings
from wiretool.records import Record

#: By protocol, the class of a value that its clients never omit.
NEVER_ABSENT = {"pravega": "Token", "offramp": "Upgrade"}
SILENT = case("offramp/x/2", MUST, "B.", "§1", send("REQUEST", count=0), expect_nothing(seconds=0.5))
PING = case("offramp/x/3", MUST, "C.", "§1", send("REQUEST", count=2), expect("Ping"), send("CANCEL"), expect("ERROR"))


def client(n: int, name: str, at_s: float = 0.0, **fields: Any) -> Observed:
    return Observed(n, round((at_s or n / 100) * NS_PER_S), "client", name, fields, (), None, b"")


def server(n: int, name: str, at_s: float = 0.0, **fields: Any) -> Observed:
    return client(n, name, at_s, **fields)._replace(side="server")


def verdicts(cases: tuple[Case, ...], *items: Item, **options: Any) -> dict[str, Verdict]:
    part = Conformance("offramp", "offramp", cases=cases, **options)
    connection = ObservedConnection(1, "a", "b", "offramp", True, True, 0, list(items), 9 * NS_PER_S)
    return {result.case.id: result.verdict for result in judge_recording(part, [connection], cases)}


@needs_protocol("offramp")
def test_a_reply_after_another_message_of_the_client_is_no_failure() -> None:
    waited = (client(1, "REQUEST", count=0), server(2, "REBALANCE", assignment=[0]))
    assert verdicts((SILENT,), *waited) == {"offramp/x/2": Verdict.FAIL}
    went_on = (waited[0], client(2, "REQUEST", count=5), server(3, "REBALANCE", assignment=[0]))
    assert verdicts((SILENT,), *went_on) == {"offramp/x/2": Verdict.NOT_EXERCISED}


@needs_protocol("offramp")
def test_automatic_replies_of_a_client_are_not_steps_of_a_case() -> None:
    def pong(incoming: Incoming) -> list[tuple[str, Mapping[str, Any]]]:
        return [("Pong", {"payload": incoming.fields["payload"]})] if incoming.name == "Ping" else []

    items = (
        client(1, "REQUEST", count=2),
        server(2, "Ping", payload="70"),
        client(3, "Pong", payload="70"),
        client(4, "CANCEL"),
        server(5, "ERROR", reason=""),
    )
    auto: Callable[[Incoming], list[tuple[str, Mapping[str, Any]]]] = pong
    assert verdicts((PING,), *items, auto_reply=auto) == {"offramp/x/3": Verdict.PASS}
    other = (*items[:2], client(3, "Pong", payload="71"), *items[3:])
    assert verdicts((PING,), *other, auto_reply=auto) == {"offramp/x/3": Verdict.NOT_EXERCISED}


@needs_protocol("offramp")
def test_a_silent_server_is_known_only_where_its_packets_were_captured() -> None:
    closes = case("offramp/x/4", MUST, "D.", "§1", send("REQUEST", count=0), expect_close())
    part = Conformance("offramp", "offramp", cases=(closes,))
    silent = ObservedConnection(2, "a", "b", "offramp", True, False, 0, [client(1, "REQUEST", count=0)], 9 * NS_PER_S)
    other = ObservedConnection(1, "a", "b", "offramp", True, True, 0, [], 9 * NS_PER_S)
    assert judge_recording(part, [silent], (closes,))[0].verdict is Verdict.NOT_EXERCISED
    assert judge_recording(part, [other, silent], (closes,))[0].verdict is Verdict.FAIL


@needs_protocol("offramp")
def test_silence_is_known_only_after_some_time() -> None:
    closes = case("offramp/x/4", MUST, "D.", "§1", send("REQUEST", count=0), expect_close())

    def verdict(end_s: float) -> Verdict:
        end = Closing(round(end_s * NS_PER_S), "client", "rst")
        return verdicts((closes,), client(1, "REQUEST", count=0), end)["offramp/x/4"]

    assert verdict(PATIENCE_S * 0.9) is Verdict.NOT_EXERCISED
    assert verdict(PATIENCE_S * 1.1) is Verdict.FAIL


def test_a_token_and_headers_that_a_cut_message_lacks_do_not_match() -> None:
    seen: set[str] = set()
    for protocol in NEVER_ABSENT.keys() - ABSENT:
        for each in conformance_of(protocol).cases:
            for step in each.steps:
                for value in step.fields.values() if isinstance(step, Send) else ():
                    if type(value).__name__ == NEVER_ABSENT[protocol]:
                        assert not value.matches(None, Bindings(None))
                        seen.add(protocol)
    assert seen == NEVER_ABSENT.keys() - ABSENT


def failed(connection: int, matched: int) -> Sighting:
    return Sighting(Verdict.FAIL, "why", connection=connection, matched=matched)


def passed(connection: int, *, explains: bool = True) -> Sighting:
    return Sighting(Verdict.PASS, connection=connection, explained=frozenset([connection] if explains else []))


def test_a_failure_counts_unless_another_case_explains_the_connection() -> None:
    assert attributed({"a": [failed(1, 2)], "b": [passed(1)]}) == {"a": [], "b": [passed(1)]}
    partly = {"a": [failed(1, 2)], "b": [passed(1, explains=False)]}
    assert attributed(partly) == partly


def test_a_failure_counts_against_the_case_that_was_followed_furthest() -> None:
    assert attributed({"a": [failed(1, 2)], "b": [failed(1, 3)]}) == {"a": [], "b": [failed(1, 3)]}
    both = {"a": [failed(1, 2)], "b": [failed(1, 2)]}
    assert attributed(both) == both


@needs_protocol("offramp")
def test_messages_of_other_connections_do_not_count_for_a_failure() -> None:
    narrow = case("offramp/x/4", MUST, "A.", "§1", send("REQUEST", count=3), send("CANCEL"), expect("ERROR"))
    others = (send("CANCEL", on="b"), send("CANCEL", on="b"))
    wide = case("offramp/x/5", MUST, "B.", "§1", send("REQUEST", count=3), *others, expect("Ping"))
    part = Conformance("offramp", "offramp", cases=(narrow, wide))
    one: list[Item] = [client(1, "REQUEST", count=3), server(2, "MESSAGE", id=""), client(3, "CANCEL")]
    two: list[Item] = [client(4, "CANCEL"), client(5, "CANCEL")]
    connections = [
        ObservedConnection(number, "a", "b", "offramp", True, True, 0, items, 9 * NS_PER_S)
        for number, items in enumerate((one, two), 1)
    ]
    results = {result.case.id: result.verdict for result in judge_recording(part, connections, part.cases)}
    assert results == {"offramp/x/4": Verdict.FAIL, "offramp/x/5": Verdict.NOT_EXERCISED}


def test_a_failure_counts_rather_against_the_case_that_is_not_seen_kept() -> None:
    found = {"a": [failed(1, 2), passed(2)], "b": [failed(1, 2)]}
    assert attributed(found) == {"a": [passed(2)], "b": [failed(1, 2)]}
    alone = {"a": [failed(1, 2), passed(2)]}
    assert attributed(alone) == alone


def test_messages_of_a_side_keep_the_order_of_its_bytes_and_its_end_comes_last() -> None:
    dialogue = Dialogue(1, "a", "b", is_opened=True)
    dialogue.protocol = "offramp"

    def told(n: int, time_ns: int) -> Told:
        record = Record(n, "frame", time_ns, 1, "a", "b", "server", (n, n), 0, 0, "offramp", "MESSAGE", {})
        return Told(time_ns, dialogue, record)

    events: list[Event] = [told(1, 10), Ended(20, dialogue, "server", "fin"), told(3, 15), told(2, 20)]
    (seen,) = observe(Recording([dialogue], events), "offramp")
    assert [item.n if isinstance(item, Observed) else item for item in seen.items] == [
        1,
        2,
        3,
        Closing(20, "server", "fin"),
    ]
