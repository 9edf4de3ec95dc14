"""Requirements that recorded traffic of Offramp is judged by, whatever its clients do."""

from wiretool.conformance.levels import MUST, OBSERVED, SHOULD
from wiretool.conformance.recorded.rules import Rule, decodable, free_of, rule_maker
from wiretool.protocols.offramp.conformance import client_judges as clients
from wiretool.protocols.offramp.conformance import server_judges as servers

#: Kinds of problems with the header of a frame, or with where a fragment stands.
FRAME_PROBLEMS = (
    "reserved_opcode",
    "reserved_bits",
    "unmasked_client_frame",
    "masked_server_frame",
    "control_too_long",
    "control_fragmented",
    "bad_frame_header",
    "message_inside_message",
    "lone_continuation",
    "bad_deflate",
)
TEXT_PROBLEMS = ("bad_utf8", "malformed_utf8")
CLOSE_PROBLEMS = ("bad_close_body", "bad_close_code", "bad_close_reason")
ORDER_PROBLEMS = (
    "http_after_upgrade",
    "frame_after_close",
    "frame_before_upgrade",
    "event_before_connection",
    "repeated_connection",
)
SIZE_PROBLEMS = ("message_too_big",)
DIRECTION_PROBLEMS = ("wrong_direction",)
_OTHERS = (
    *FRAME_PROBLEMS,
    *TEXT_PROBLEMS,
    *CLOSE_PROBLEMS,
    *ORDER_PROBLEMS,
    *SIZE_PROBLEMS,
    *DIRECTION_PROBLEMS,
)
_CLIENT_EVENTS, _SERVER_EVENTS = clients.EVENTS, servers.EVENTS


_rule = rule_maker("offramp", "protocols/offramp.md")

_SERVER = (
    _rule("server/1", MUST, "The accept value is that of the key.", "§1.2", servers.accepts_the_key),
    _rule("server/2", MUST, "An upgrade names WebSocket.", "§1.2", servers.upgrades_to_websocket),
    _rule("server/3", MUST, "Extensions are agreed only if offered.", "§1.4", servers.agrees_to_what_is_offered),
    _rule("server/4", MUST, "Frames follow RFC 6455 and are not masked.", "§1.4", free_of("server", FRAME_PROBLEMS)),
    _rule("server/5", MUST, "Texts are UTF-8.", "§1.4", free_of("server", TEXT_PROBLEMS, names=_SERVER_EVENTS)),
    _rule("server/6", MUST, "Every event can be decoded.", "§2.3", decodable("server", apart_from=_OTHERS)),
    _rule("server/7", MUST, "Only the events of a server are sent.", "§2.4", free_of("server", DIRECTION_PROBLEMS)),
    _rule("server/8", MUST, "CONNECTION is the first event, and comes once.", "§2.3", servers.greets_first),
    _rule("server/9", MUST, "No more messages come than were requested.", "§3.2, §5 1.1", servers.keeps_to_demand),
    _rule("server/10", MUST, "Offsets of a partition rise between rebalances.", "§3.1", servers.offsets_rise),
    _rule("server/11", MUST, "Messages are of assigned partitions.", "§6 18", servers.sends_assigned_partitions),
    _rule("server/12", MUST, "Each COMMIT_RESPONSE has the id of an open COMMIT.", "§2.3", servers.answers_commits),
    _rule("server/13", MUST, "Each COMMIT has one COMMIT_RESPONSE.", "§6 13", servers.answers_every_commit),
    _rule("server/14", MUST, "A Ping is answered with its payload.", "§1.4", servers.answers_pings),
    _rule("server/15", MUST, "A Close has a lawful code.", "§1.4", free_of("server", CLOSE_PROBLEMS, names=("Close",))),
    _rule("server/16", SHOULD, "A Close is answered with its code.", "§1.4", servers.echoes_close),
    _rule("server/17", MUST, "Nothing follows a Close.", "§5 1.7", free_of("server", ("frame_after_close",))),
    _rule("server/18", MUST, "The member `type` comes first.", "§6 5", servers.writes_type_first),
    _rule("server/19", OBSERVED, "Events are BINARY messages.", "§1.4", servers.sends_binary),
)
_CLIENT = (
    _rule("client/1", MUST, "The handshake asks for WebSocket 13 with a key.", "§1.2", clients.asks_for_websocket),
    _rule("client/2", MUST, "The handshake names a stream and lawful parameters.", "§1.1", clients.names_a_stream),
    _rule("client/3", MUST, "No frame comes before the upgrade.", "§1.2", clients.waits_for_the_upgrade),
    _rule("client/4", MUST, "Frames follow RFC 6455 and are masked.", "§1.4", free_of("client", FRAME_PROBLEMS)),
    _rule("client/5", SHOULD, "Each frame has a mask of its own.", "§1.4", clients.masks_differ),
    _rule("client/6", MUST, "Texts are UTF-8.", "§1.4", free_of("client", TEXT_PROBLEMS, names=_CLIENT_EVENTS)),
    _rule("client/7", MUST, "Every event can be decoded.", "§2.2", decodable("client", apart_from=_OTHERS)),
    _rule("client/8", MUST, "Only the events of a client are sent.", "§2.4", free_of("client", DIRECTION_PROBLEMS)),
    _rule("client/9", MUST, "The member `type` comes first.", "§6 5", clients.writes_type_first),
    _rule("client/10", SHOULD, "A REQUEST asks for one message or more.", "§2.2, §5 3.9", clients.requests_messages),
    _rule("client/11", SHOULD, "A COMMIT has an id that no open COMMIT has.", "§6 12", clients.ids_are_free),
    _rule("client/12", SHOULD, "A COMMIT names delivered offsets only.", "§2.2", clients.commits_what_came),
    _rule(
        "client/13",
        MUST,
        "A message has at most 8192 bytes.",
        "§1.4",
        free_of("client", SIZE_PROBLEMS, names=_CLIENT_EVENTS),
    ),
    _rule("client/14", MUST, "A Ping is answered with its payload.", "§1.4", clients.answers_pings),
    _rule("client/15", MUST, "A Close has a lawful code.", "§1.4", free_of("client", CLOSE_PROBLEMS, names=("Close",))),
    _rule("client/16", MUST, "A Close is answered with a Close.", "§1.4", clients.answers_close),
    _rule("client/17", MUST, "Nothing follows a Close.", "§5 2.3", free_of("client", ("frame_after_close",))),
)
RULES: tuple[Rule, ...] = (*_SERVER, *_CLIENT)
