"""Requirements on clients of the newest schema: how the server behaves, and what the client then does."""

from wiretool.conformance.clients.case import ClientCase, Scenario, case_maker, ends_well, on_each_connection
from wiretool.conformance.levels import MUST, SHOULD
from wiretool.protocols.sbp.conformance import client_judges as judges
from wiretool.protocols.sbp.conformance import traffic
from wiretool.protocols.sbp.conformance.rules import batches_count

LATE = Scenario(
    "late-appends", ('message == "APPEND" and side == "server": delay 300ms',), behaviour="late responses to APPEND"
)
RESET = Scenario(
    "reset", ('message == "APPEND" and side == "server" nth=2: reset',), behaviour="a reset at a response to APPEND"
)
GOAWAY = Scenario(
    "goaway",
    ('message == "APPEND" and side == "client" nth=3: answer GOAWAY flags=0, stream_id=0, header=null, payload=null',),
    behaviour="a GOAWAY of the server",
)
PING = Scenario(
    "ping",
    ('message == "APPEND" and side == "client" nth=2: answer PING flags=0, stream_id=9, header=null, payload=null',),
    behaviour="a PING of the server",
)


_case, _each = case_maker("sbp", "protocols/sbp.md"), on_each_connection


_FRAMES = _each(traffic.whole("client"))
_HEADERS = _each(traffic.complete("client"))
_BATCHES = _each(traffic.batches_only())
_PAYLOADS = _each(traffic.payloads_belong("client", "APPEND", "PING"))

CLIENT_CASES: tuple[ClientCase, ...] = (
    _case("frame/1", MUST, "Frames are whole, with the right checksum.", "§1", _FRAMES),
    _case(
        "frame/2",
        SHOULD,
        "The checksum of no payload is 0.",
        "§5 (2)",
        _each(traffic.empty_payloads_have_no_checksum("client")),
    ),
    _case("frame/3", SHOULD, "Requests have no flags.", "§1.3", _each(traffic.requests_have_no_flags("client"))),
    _case("header/1", MUST, "Headers have the required fields.", "§2.3", _HEADERS),
    _case("payload/1", MUST, "The payload of an APPEND is batches.", "§3.2", _BATCHES),
    _case("payload/2", MUST, "Only APPEND and PING have payloads.", "§2.3", _PAYLOADS),
    _case("id/1", MUST, "A request has an identifier that is not open.", "§1.4", _each(traffic.identifiers_are_free)),
    _case("id/2", SHOULD, "Identifiers of requests rise.", "§1.4", _each(traffic.identifiers_rise)),
    _case("id/3", MUST, "Identifiers are not negative.", "§1.4", _each(traffic.identifiers_are_not_negative)),
    _case("append/1", SHOULD, "Batches count their records.", "§3.2", _each(batches_count)),
    _case("append/2", MUST, "A batch begins where the one before it ends.", "§4.5", _each(judges.appends_follow)),
    _case("end/1", SHOULD, "The program ends by itself with exit code 0.", "§4", ends_well),
    _case(
        "late/1", SHOULD, "No batch is sent again whose response is late.", "§4.5", judges.stores_each_batch_once, LATE
    ),
    _case("late/2", MUST, "Identifiers stay free.", "§1.4", _each(traffic.identifiers_are_free), LATE),
    _case("late/3", SHOULD, "The program still ends well.", "§4", ends_well, LATE),
    _case("reset/1", SHOULD, "Requests continue after a lost connection.", "§4.2", judges.reconnects, RESET),
    _case(
        "reset/2", MUST, "Appends continue after the last accepted batch.", "§4.5", judges.resumes_after_accepted, RESET
    ),
    _case("reset/3", SHOULD, "The program still ends well.", "§4", ends_well, RESET),
    _case("goaway/1", SHOULD, "Nothing is asked after GOAWAY.", "§4.2", _each(traffic.stops_after_goaway), GOAWAY),
    _case("goaway/2", SHOULD, "Requests continue on another connection.", "§4.2", judges.reconnects, GOAWAY),
    _case("ping/1", MUST, "A PING of the server is answered with its content.", "§4.2", judges.answers_pings, PING),
)
