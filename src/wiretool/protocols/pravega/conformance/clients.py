"""Requirements on clients of the segment store: how the server behaves, and what the client then does."""

from wiretool.conformance.clients.case import ClientCase, Scenario, case_maker, ends_well, on_each_connection
from wiretool.conformance.levels import MUST, OBSERVED, SHOULD, Level
from wiretool.conformance.recorded.rules import decodable
from wiretool.protocols.pravega.conformance import client_judges as judges

LATE_SETUP = Scenario("late-setup", ('message == "AppendSetup": delay 300ms',), behaviour="a late AppendSetup")
LATE_ACKS = Scenario("late-acks", ('message == "DataAppended": delay 50ms',), behaviour="late acknowledgements")
DOUBLE_ACKS = Scenario("double-acks", ('message == "DataAppended": duplicate',), behaviour="doubled acknowledgements")
RESET = Scenario("reset", ('message == "DataAppended" nth=3: reset',), behaviour="a reset by the server")
CUT = Scenario(
    "cut", ('message == "DataAppended" nth=3: cut 5',), behaviour="a connection that ends inside an acknowledgement"
)
LOST_SETUP = Scenario("reset-setup", ('message == "SetupAppend" nth=1: reset',), behaviour="a reset at SetupAppend")
WRONG_HOST = Scenario(
    "wrong-host",
    ('message == "AppendSetup" nth=1: answer WrongHost correct_host="127.0.0.1"',),
    behaviour="a first SetupAppend that is answered with WrongHost",
)
WRONG_LENGTH = Scenario(
    "wrong-length", ('message == "DataAppended" nth=3: wrong length',), behaviour="a frame of a wrong length"
)
OLD = Scenario(
    "old-versions",
    ('message == "Hello" and side == "server": set high_version=3, low_version=1',),
    behaviour="versions of the server that are too old",
)
NEW = Scenario(
    "new-versions",
    ('message == "Hello" and side == "server": set high_version=99, low_version=98',),
    behaviour="versions of the server that are too new",
)
LATE_READS = Scenario("late-reads", ('message == "SegmentRead": delay 100ms',), behaviour="late data of reads")
RESET_READ = Scenario(
    "reset-read", ('message == "SegmentRead" nth=2: reset',), behaviour="a reset at a reply to a read"
)


_case, _each = case_maker("pravega", "protocols/pravega.md"), on_each_connection


_PLAIN = (
    _case("hello/1", MUST, "The first message on each connection is Hello.", "§4.1", _each(judges.greets_first)),
    _case("hello/2", SHOULD, "Hello is sent once on each connection.", "§4.1", _each(judges.greets_once)),
    _case("hello/3", MUST, "Hello names a range of versions.", "§4.1", _each(judges.names_versions)),
    _case("frames/1", MUST, "Every frame can be decoded and comes when it may.", "§1.1", _each(decodable("client"))),
    _case("setup/1", MUST, "Appends come after AppendSetup of their writer.", "§4.2", _each(judges.sets_up_first)),
    _case("append/1", MUST, "Event numbers of a writer never go back.", "§4.2", _each(judges.numbers_grow)),
    _case("append/2", MUST, "A block holds no more events than num_events.", "§4.3", _each(judges.appends_events)),
    _case("append/3", SHOULD, "Each event is sent until it is acknowledged.", "§4.2", judges.stores_each_event_once),
    _case("request/1", SHOULD, "A request has an id that no open request has.", "§2", _each(judges.ids_are_free)),
    _case("read/1", MUST, "A read asks for bytes at an offset of 0 or more.", "§4.5", _each(judges.reads_forward)),
    _case("end/1", SHOULD, "The program ends by itself with exit code 0.", "§4", ends_well),
)


def _under(scenario: Scenario) -> tuple[ClientCase, ...]:
    """Return the requirements that a client keeps however the server behaves."""
    name = scenario.name
    words = f"also with {scenario.behaviour}"
    frames = _case(
        f"{name}/1", MUST, f"Every frame can be decoded, {words}.", "§1.1", _each(decodable("client")), scenario
    )
    setup = _case(
        f"{name}/2", MUST, f"Appends come after AppendSetup, {words}.", "§4.2", _each(judges.sets_up_first), scenario
    )
    return frames, setup


def _writer_survives(scenario: Scenario) -> tuple[ClientCase, ...]:
    """Return what a writer does where the server disturbs it without refusing it."""
    name, words = scenario.name, f"with {scenario.behaviour}"
    once = judges.stores_each_event_once
    return (
        *_under(scenario),
        _case(f"{name}/3", MUST, f"No acknowledged event is sent again {words}.", "§4.2", once, scenario),
        _case(f"{name}/4", SHOULD, f"The program still ends well {words}.", "§4", ends_well, scenario),
    )


def _writer_returns(scenario: Scenario, end: Level = SHOULD) -> tuple[ClientCase, ...]:
    """Return what a writer does after a lost connection."""
    name, words = scenario.name, f"after {scenario.behaviour}"
    return (
        *_under(scenario),
        _case(f"{name}/3", MUST, f"The writer is set up again {words}.", "§4.2", judges.reconnects, scenario),
        _case(
            f"{name}/4",
            MUST,
            f"Only events above the stored number are sent {words}.",
            "§4.2",
            _each(judges.resends_only_new),
            scenario,
        ),
        _case(f"{name}/5", MUST, f"Hello comes first {words}.", "§4.1", _each(judges.greets_first), scenario),
        _case(f"{name}/6", end, f"The program still ends well {words}.", "§4", ends_well, scenario),
    )


def _refuses_versions(scenario: Scenario) -> ClientCase:
    """Return the case of a server of other versions: writers and readers of real clients may only log them (§4.1)."""
    return _case(
        f"{scenario.name}/1",
        OBSERVED,
        f"No request follows after {scenario.behaviour}.",
        "§4.1",
        _each(judges.stops_after("Hello")),
        scenario,
    )


CLIENT_CASES: tuple[ClientCase, ...] = (
    *_PLAIN,
    *_writer_survives(LATE_SETUP),
    *_writer_survives(LATE_ACKS),
    *_writer_survives(DOUBLE_ACKS),
    *_writer_returns(RESET),
    *_writer_returns(CUT),
    *_writer_returns(LOST_SETUP),
    *_writer_returns(WRONG_LENGTH, OBSERVED),
    _case(
        "wrong-host/1",
        MUST,
        "The writer is set up again after WrongHost, with a pause between attempts.",
        "§5",
        judges.does_not_storm,
        WRONG_HOST,
    ),
    *_under(LATE_READS),
    _case("reset-read/1", SHOULD, "Reading goes on after a lost connection.", "§4.5", ends_well, RESET_READ),
    _refuses_versions(OLD),
    _refuses_versions(NEW),
)
