"""Requirements on clients of Offramp: how the server behaves, and what the client then does."""

from wiretool.conformance.clients.case import (
    ClientCase,
    Scenario,
    case_maker,
    ends_well,
    on_each_connection,
    reports_failure,
)
from wiretool.conformance.levels import MUST, SHOULD
from wiretool.conformance.recorded.rules import Rule
from wiretool.protocols.offramp.conformance import client_judges as judges
from wiretool.protocols.offramp.conformance import run_judges as runs
from wiretool.protocols.offramp.conformance.rules import RULES
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.protocols.offramp.server.roads import RoadStart

#: Messages on the road of each client, whatever its name.
_MESSAGES = 60
_ROAD = "road"
_OPTIONS = {
    "roads": (_ROAD,),
    "road_starts": {_ROAD: RoadStart(partitions=1)},
    "feed": tuple(FeedMessage(road=_ROAD, payload={"n": n}, timestamp=n) for n in range(_MESSAGES)),
}


def _scenario(name: str, behaviour: str, *faults: str) -> Scenario:
    return Scenario(name, faults, _OPTIONS, behaviour)


PLAIN = Scenario("plain", options=_OPTIONS)
PING = _scenario("ping", "a Ping between messages", 'message == "MESSAGE" nth=3: answer Ping payload="7069"')
LATE = _scenario("late-messages", "late messages", 'message == "MESSAGE": delay 20ms')
LATE_REBALANCE = _scenario("late-rebalance", "a late assignment", 'message == "REBALANCE": delay 400ms')
TWICE = _scenario("doubled-message", "a message that comes twice", 'message == "MESSAGE" nth=7: duplicate')
RESET = _scenario("reset", "a reset by the server", 'message == "MESSAGE" nth=8: reset')
CUT = _scenario("cut", "a connection that ends inside a message", 'message == "MESSAGE" nth=8: cut 20')
GOING = _scenario(
    "server-stops", "a Close with 1001", 'message == "MESSAGE" nth=8: answer Close code=1001, reason="stopping"'
)
FAILING = _scenario(
    "server-fails", "a Close with 1011", 'message == "MESSAGE" nth=8: answer Close code=1011, reason=""'
)
REFUSING = _scenario(
    "closed-at-once",
    "a Close with 1000 before any event",
    'message == "CONNECTION": answer Close code=1000, reason=""',
)
DEAD = _scenario("no-upgrade", "resets instead of upgrades", 'message == "HandshakeResponse": reset')
UNKNOWN_ROAD = Scenario("unknown-road", (), {"roads": ("other",)}, "a road that does not exist")
ERROR = _scenario("error-event", "an ERROR event", 'message == "MESSAGE" nth=3: answer ERROR reason="injected"')
NO_COMMIT = _scenario("failed-commits", "commits that fail", 'message == "COMMIT_RESPONSE": set success=false')


_case, _each = case_maker("offramp", "protocols/offramp.md", PLAIN), on_each_connection


def _from_rule(id: str, rule_id: str) -> ClientCase:
    """Return the case of a plain run that a rule on recorded traffic makes."""
    rule: Rule = next(rule for rule in RULES if rule.id == f"offramp/traffic/{rule_id}")
    return ClientCase(f"offramp/client/{id}", rule.level, rule.requirement, rule.source, PLAIN, _each(rule.judge))


_PLAIN = (
    _from_rule("handshake/1", "client/1"),
    _from_rule("handshake/2", "client/2"),
    _from_rule("handshake/3", "client/3"),
    _from_rule("frame/1", "client/4"),
    _from_rule("frame/2", "client/5"),
    _from_rule("frame/3", "client/6"),
    _from_rule("frame/4", "client/13"),
    _from_rule("event/1", "client/7"),
    _from_rule("event/2", "client/8"),
    _from_rule("event/3", "client/9"),
    _from_rule("request/1", "client/10"),
    _from_rule("commit/1", "client/11"),
    _from_rule("commit/2", "client/12"),
    _case("commit/3", SHOULD, "Saved positions never go back.", "§2.2", runs.commits_forward),
    _from_rule("close/1", "client/15"),
    _from_rule("close/2", "client/17"),
    _case("close/3", SHOULD, "A client closes before it ends the connection.", "§1.4", runs.closes_before_it_ends),
    _case("end/1", SHOULD, "The program ends by itself with exit code 0.", "§4", ends_well),
)


def _survives(scenario: Scenario) -> ClientCase:
    words = f"The program still ends well with {scenario.behaviour}."
    return _case(f"{scenario.name}/1", SHOULD, words, "§4.7, §5", ends_well, scenario)


def _returns(scenario: Scenario) -> tuple[ClientCase, ...]:
    """Return what a client does after a lost connection."""
    name, words = scenario.name, f"after {scenario.behaviour}"
    return (
        _case(f"{name}/1", SHOULD, f"The client comes back {words}.", "§4.6", runs.comes_back, scenario),
        _case(f"{name}/2", SHOULD, f"The program still ends well {words}.", "§4.6", ends_well, scenario),
    )


def _answers_close(scenario: Scenario) -> tuple[ClientCase, ...]:
    """Return what a client does with a Close of the server."""
    name, words = scenario.name, scenario.behaviour
    answers, only = _each(judges.answers_close), _each(runs.only_answers_close)
    return (
        _case(f"{name}/3", MUST, f"{words.capitalize()} is answered with a Close.", "§1.4", answers, scenario),
        _case(f"{name}/4", SHOULD, f"Nothing but a Close follows {words}.", "§5 2.3", only, scenario),
    )


CLIENT_CASES: tuple[ClientCase, ...] = (
    *_PLAIN,
    _case("ping/1", MUST, "A Ping is answered with its payload.", "§1.4", _each(judges.answers_pings), PING),
    _survives(LATE),
    _survives(LATE_REBALANCE),
    _survives(TWICE),
    *_returns(RESET),
    *_returns(CUT),
    *_returns(GOING),
    *_answers_close(GOING),
    *_returns(FAILING),
    *_answers_close(FAILING),
    _case(
        "closed-at-once/1",
        SHOULD,
        "A Close with 1000 before any event is taken as a refusal.",
        "§6 7",
        reports_failure,
        REFUSING,
    ),
    _case("no-upgrade/1", SHOULD, "Handshakes are repeated with pauses.", "§4.6", runs.does_not_storm, DEAD),
    _case("unknown-road/1", SHOULD, "The program reports a refused handshake.", "§6 6", reports_failure, UNKNOWN_ROAD),
    _case("unknown-road/2", SHOULD, "Handshakes are repeated with pauses.", "§4.6", runs.does_not_storm, UNKNOWN_ROAD),
    _case("error-event/1", MUST, "An ERROR event does not end the stream.", "§6 3", runs.reads_on("ERROR"), ERROR),
    _case("failed-commits/1", SHOULD, "The program reports failed commits.", "§4.4", reports_failure, NO_COMMIT),
)
