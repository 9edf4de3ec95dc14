"""Requirements that recorded traffic of Pravega's controller is judged by, whatever its clients do."""

from wiretool.codec.message import Side
from wiretool.conformance.levels import MUST, SHOULD
from wiretool.conformance.recorded.rules import Rule, decodable, free_of, rule_maker
from wiretool.protocols.pravega_controller.calls import METHODS
from wiretool.protocols.pravega_controller.conformance import call_judges as calls
from wiretool.protocols.pravega_controller.conformance import frame_judges as frames

FRAME_PROBLEMS = ("bad_padding", "frame_size", "bad_frame", "bad_setting", "bad_header_block", "block_interrupted")
ORDER_PROBLEMS = ("frame_on_idle_stream", "frame_after_end", "frame_after_reset", "bad_frame_order", "no_status")
BEGIN_PROBLEMS = ("no_settings",)
NUMBER_PROBLEMS = ("bad_stream_id",)
COUNT_PROBLEMS = ("second_message", "missing_message")
LENGTH_PROBLEMS = ("bad_grpc_prefix", "incomplete_message", "compressed_message")
_OTHERS = (
    *FRAME_PROBLEMS,
    *ORDER_PROBLEMS,
    *BEGIN_PROBLEMS,
    *NUMBER_PROBLEMS,
    *COUNT_PROBLEMS,
    *LENGTH_PROBLEMS,
)
_RFC, _GRPC = "RFC 9113", "gRPC over HTTP2"


_rule = rule_maker("pravega-controller", "protocols/pravega-controller.md", documents=(_RFC, _GRPC))


def _both(side: Side) -> tuple[Rule, ...]:
    """Return what HTTP/2 and gRPC require of both sides."""
    return (
        _rule(
            f"{side}/1",
            MUST,
            "Settings are the first frame.",
            f"{_RFC} §3.4",
            free_of(side, BEGIN_PROBLEMS, names=("Preface", "Settings")),
        ),
        _rule(f"{side}/2", MUST, "Settings are acknowledged.", f"{_RFC} §6.5.3", frames.acknowledges(side, "Settings")),
        _rule(f"{side}/3", MUST, "A Ping is acknowledged.", f"{_RFC} §6.7", frames.acknowledges(side, "Ping")),
        _rule(f"{side}/4", MUST, "Frames are well formed.", f"{_RFC} §4, §6", free_of(side, FRAME_PROBLEMS)),
        _rule(f"{side}/5", MUST, "Frames of a stream keep its order.", f"{_RFC} §5.1", free_of(side, ORDER_PROBLEMS)),
        _rule(f"{side}/6", MUST, "Data fits in the peer's windows.", f"{_RFC} §6.9", frames.keeps_to_windows(side)),
        _rule(
            f"{side}/7",
            MUST,
            "A call has one message each way.",
            "Methods",
            free_of(side, COUNT_PROBLEMS, names=tuple(METHODS)),
        ),
        _rule(
            f"{side}/8",
            MUST,
            "Messages have the length of their prefix.",
            f"{_GRPC}, Length-Prefixed-Message",
            free_of(side, LENGTH_PROBLEMS, names=tuple(METHODS)),
        ),
        _rule(f"{side}/9", MUST, "Every message can be decoded.", "Messages", decodable(side, apart_from=_OTHERS)),
    )


RULES: tuple[Rule, ...] = (
    *_both("server"),
    _rule("server/10", MUST, "A response has status 200 and gRPC's type.", f"{_GRPC}, Responses", calls.responds),
    _rule("server/11", MUST, "A call ends with one grpc-status.", f"{_GRPC}, Responses", calls.has_one_status),
    _rule("server/12", MUST, "An answer comes only with OK.", "status values", calls.answers_with_ok),
    _rule("server/13", MUST, "GoAway names a stream of the client.", f"{_RFC} §6.8", frames.names_a_stream),
    _rule("server/14", MUST, "Segments share the key space.", "key ranges", calls.shares_the_key_space),
    _rule("server/15", MUST, "Segments are of the stream that was asked for.", "Methods", calls.names_the_stream),
    _rule("server/16", MUST, "A segment's address has a host and a port.", "NodeUri", calls.names_an_address),
    *_both("client"),
    _rule("client/10", MUST, "The preface comes first.", f"{_RFC} §3.4", frames.begins_with_preface),
    _rule("client/11", MUST, "Streams have odd numbers, which rise.", f"{_RFC} §5.1.1", frames.numbers_rise),
    _rule("client/12", MUST, "A call is a POST to a known method.", "POST", calls.calls_known_methods),
    _rule("client/13", MUST, "A call has gRPC's type and te: trailers.", f"{_GRPC}, Requests", calls.asks_for_grpc),
    _rule("client/14", MUST, "Streams are no more than the server allows.", f"{_RFC} §5.1.2", frames.keeps_to_streams),
    _rule("client/15", SHOULD, "No stream is opened after GoAway.", f"{_RFC} §6.8", frames.opens_none_after_goaway),
)
