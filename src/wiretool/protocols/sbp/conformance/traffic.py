"""Judges of recorded frames that hold in every schema: frame, flags, identifiers, PING, GOAWAY, heartbeats."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from wiretool.codec.message import Side
from wiretool.conformance.levels import MUST, SHOULD
from wiretool.conformance.recorded.observed import UNDECODABLE, Closing, Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Judge, Observation, Rule, RuleMaker
from wiretool.protocols.sbp.messages import RESPONSE, RESPONSE_END, SYSTEM_ERROR

NS_PER_S = 1_000_000_000
#: Kinds of problems by the layer that they are in (protocols/sbp.md §6).
FRAME_KINDS = (
    "incomplete",
    "length_too_small",
    "length_too_large",
    "bad_magic",
    "header_length_overflow",
    "checksum_mismatch",
)
HEADER_KINDS = ("bad_flatbuffer_header", "missing_required_field", "unsupported_header_format")
PAYLOAD_KINDS = (
    "empty_append_payload",
    "batch_length_exceeds_payload",
    "bad_record_magic",
    "bad_record_meta",
    "record_length_mismatch",
)
RESPONSE_KINDS = ("response-without-request",)
#: Flags of a response that goes on, of one that ends, and of a system error.
RESPONSE_FLAGS = (RESPONSE, RESPONSE | RESPONSE_END, RESPONSE | RESPONSE_END | SYSTEM_ERROR)
#: The highest identifier that is not negative as a signed number.
IDENTIFIER_MAX = 0x7FFFFFFF
#: A server closes within this time after its GOAWAY and its last response, in seconds.
LEAVE_MAX_S = 2.5
#: How long a client may still send requests after a GOAWAY that it may not have read yet, in seconds.
UNREAD_S = 0.2
#: The silence after which a server closes a connection, in seconds.
IDLE_S = 15.0


# -- parts of a message ------------------------------------------------------------------------------------------------


def is_response(message: Observed) -> bool:
    """Return whether a frame has the response bit."""
    return bool(message.fields.get("flags", 0) & RESPONSE)


def is_request(message: Observed) -> bool:
    """Return whether a frame could be read and has no response bit."""
    return message.name != UNDECODABLE and not is_response(message)


def table_of(message: Observed) -> dict[str, Any]:
    """Return the fields of the header table of a message, none where it has no table."""
    header = message.fields.get("header") or {}
    return dict(header.get("fields") or {})


def payload_of(message: Observed, key: str) -> list[dict[str, Any]]:
    """Return the batches in the payload of a message."""
    payload = message.fields.get("payload") or {}
    return list(payload.get(key) or ())


def has_table(message: Observed) -> bool:
    """Return whether the header of a message was read as a table."""
    return "table" in (message.fields.get("header") or {})


# -- judges of problems ------------------------------------------------------------------------------------------------


def without(side: Side, kinds: Sequence[str], concerns: Callable[[Observed], bool] = lambda message: True) -> Judge:
    """Return a judge that messages of a side have no problem of these kinds."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for message in connection.sent_by(side):
            if concerns(message):
                found = (each for each in message.problems if each.partition(":")[0] in kinds)
                yield Observation(message.n, next(found, ""))

    return judge


# -- both sides --------------------------------------------------------------------------------------------------------


def whole(side: Side) -> Judge:
    """Return the judge that frames are whole, with the right checksum."""
    return without(side, FRAME_KINDS)


def complete(side: Side) -> Judge:
    """Return the judge that headers have the required fields."""
    return without(side, HEADER_KINDS)


def requests_have_no_flags(side: Side) -> Judge:
    """Return a judge that requests of a side have no flag."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for message in connection.sent_by(side):
            if is_request(message):
                flags = message.fields["flags"]
                yield Observation(message.n, f"{message.name} with flags 0x{flags:02x}" if flags else "")

    return judge


def responses_have_their_flags(side: Side) -> Judge:
    """Return a judge that responses of a side have the flags of a response, and 0x04 only with a system error."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for message in connection.sent_by(side):
            if is_response(message):
                flags = message.fields["flags"]
                table = (message.fields.get("header") or {}).get("table", "SystemError")
                problem = ""
                if flags not in RESPONSE_FLAGS:
                    problem = f"{message.name} with flags 0x{flags:02x}"
                elif flags & SYSTEM_ERROR and not table.startswith("SystemError"):
                    problem = f"flag 0x04 with a header {table}"
                yield Observation(message.n, problem)

    return judge


def empty_payloads_have_no_checksum(side: Side) -> Judge:
    """Return a judge that the checksum of an empty payload is 0."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for message in connection.sent_by(side):
            if message.name != UNDECODABLE and not message.fields["payload_length"]:
                checksum = message.fields["checksum"]
                yield Observation(message.n, "" if int(checksum, 16) == 0 else f"checksum {checksum} of no payload")

    return judge


def payloads_belong(side: Side, *names: str) -> Judge:
    """Return a judge that only messages of these names have a payload."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for message in connection.sent_by(side):
            if message.name not in (UNDECODABLE, "Unknown"):
                length = message.fields["payload_length"]
                is_fine = not length or message.name in names
                yield Observation(message.n, "" if is_fine else f"{message.name} with a payload of {length} bytes")

    return judge


# -- servers -----------------------------------------------------------------------------------------------------------


def responses_echo(connection: ObservedConnection) -> Iterable[Observation]:
    """A response has the operation and the identifier of its request."""
    for asked, answered in connection.exchanges():
        for name in ("opcode_hex", "stream_id"):
            one, other = asked.fields[name], answered.fields[name]
            if one != other:
                yield Observation(answered.n, f"{name} is {other}; the request has {one}")
                break
        else:
            yield Observation(answered.n)


def pings_are_echoed(connection: ObservedConnection) -> Iterable[Observation]:
    """The response to a PING has its header and its payload."""
    for asked, answered in connection.exchanges():
        if asked.name == "PING" and is_request(asked) and is_response(answered):
            different = [
                name for name in ("header", "payload") if (asked.fields[name] or {}) != (answered.fields[name] or {})
            ]
            yield Observation(answered.n, f"another {different[0]} than that of the PING" if different else "")


def heartbeats_are_echoed(connection: ObservedConnection) -> Iterable[Observation]:
    """The response to a HEARTBEAT names client and role of the request; empty text may be left out."""
    for asked, answered in connection.exchanges():
        if asked.name != "HEARTBEAT" or not (has_table(asked) and has_table(answered)):
            continue
        if answered.fields["flags"] & SYSTEM_ERROR:
            continue
        one, other = table_of(asked), table_of(answered)
        named = ("client_id", "client_role")
        wrong = [name for name in named if (one.get(name) or None) != (other.get(name) or None)]
        yield Observation(answered.n, f"{wrong[0]} differs from that of the request" if wrong else "")


def goaways_are_empty(connection: ObservedConnection) -> Iterable[Observation]:
    """A GOAWAY that the server begins has neither header nor payload."""
    for message in connection.sent_by("server"):
        if message.name == "GOAWAY" and message.reply_to is None:
            is_fine = not message.fields["header_length"] and not message.fields["payload_length"]
            yield Observation(message.n, "" if is_fine else "GOAWAY with a header or a payload")


def leaves_after_goaway(connection: ObservedConnection) -> Iterable[Observation]:
    """The server closes soon after its GOAWAY (flags 0x00), once no request is open."""
    goaway = next((each for each in connection.sent_by("server") if _is_goaway(each)), None)
    if goaway is None or connection.has_gap or _open_requests(connection, goaway):
        return
    answers = (each.time_ns for each in connection.sent_by("server") if each.reply_to is not None)
    due_ns = max(goaway.time_ns, *answers, 0) + round(LEAVE_MAX_S * NS_PER_S)
    ends = [item.time_ns for item in connection.items if isinstance(item, Closing)]
    if not ends and connection.recorded_until_ns < due_ns:
        return
    yield Observation(goaway.n, "" if ends and min(ends) <= due_ns else "the connection stays open after GOAWAY")


def _is_goaway(message: Observed) -> bool:
    """Return whether a message is a GOAWAY that a placement driver begins; range servers wait longer."""
    return message.name == "GOAWAY" and not is_response(message)


def _open_requests(connection: ObservedConnection, goaway: Observed) -> list[Observed]:
    """Return the client's requests before a GOAWAY that have no response; a frame that has caused it has none."""
    answered = {message.reply_to for message in connection.messages}
    before = [each for each in connection.sent_by("client") if each.n < goaway.n and is_request(each)]
    return [each for each in before if each.n not in answered and not each.problems and each is not before[-1]]


# -- clients -----------------------------------------------------------------------------------------------------------


def identifiers_are_free(connection: ObservedConnection) -> Iterable[Observation]:
    """A request has an identifier that no open request has."""
    waiting: dict[int, int] = {}
    for message in connection.messages:
        if message.side == "server":
            waiting = {number: n for number, n in waiting.items() if n != message.reply_to}
        elif is_request(message):
            number = message.fields["stream_id"]
            open_n = waiting.get(number)
            problem = "" if open_n is None else f"identifier {number} is that of record {open_n}, which is open"
            yield Observation(message.n, problem)
            waiting[number] = message.n


def identifiers_rise(connection: ObservedConnection) -> Iterable[Observation]:
    """The identifiers of requests rise on a connection."""
    last: int | None = None
    for message in connection.sent_by("client"):
        if is_request(message):
            number = message.fields["stream_id"]
            if last is not None:
                is_wrapped = last == 0xFFFFFFFF
                yield Observation(message.n, "" if number > last or is_wrapped else f"identifier {number} after {last}")
            last = number


def identifiers_are_not_negative(connection: ObservedConnection) -> Iterable[Observation]:
    """The identifier of a request is at most 0x7FFFFFFF."""
    for message in connection.sent_by("client"):
        if is_request(message):
            number = message.fields["stream_id"]
            yield Observation(message.n, "" if number <= IDENTIFIER_MAX else f"identifier {number} is negative")


def stops_after_own_goaway(connection: ObservedConnection) -> Iterable[Observation]:
    """After its own GOAWAY the client begins no request."""
    goaway: Observed | None = None
    for message in connection.sent_by("client"):
        if goaway is not None and is_request(message):
            yield Observation(message.n, f"{message.name} after the GOAWAY in record {goaway.n}")
        elif goaway is None and _is_goaway(message):
            goaway = message
            yield Observation(message.n)


def stops_after_goaway(connection: ObservedConnection) -> Iterable[Observation]:
    """After a GOAWAY of the server, once the client can have read it, the client begins no request."""
    goaway = next((each for each in connection.sent_by("server") if _is_goaway(each)), None)
    if goaway is None:
        return
    read_ns = goaway.time_ns + round(UNREAD_S * NS_PER_S)
    late = [each for each in connection.sent_by("client") if is_request(each) and each.time_ns > read_ns]
    yield Observation(
        late[0].n if late else goaway.n, f"{late[0].name} after the GOAWAY in record {goaway.n}" if late else ""
    )


def heartbeats_in_time(connection: ObservedConnection) -> Iterable[Observation]:
    """A client that sends heartbeats is never silent so long that the server closes the connection."""
    sent = connection.sent_by("client")
    if not any(each.name == "HEARTBEAT" for each in sent):
        return
    for before, message in pairwise(sent):
        silence_s = (message.time_ns - before.time_ns) / NS_PER_S
        problem = f"{silence_s:.1f} s of silence before it; a server closes after {IDLE_S:g} s"
        yield Observation(message.n, problem if silence_s >= IDLE_S else "")


def answers_goaway_and_ping(connection: ObservedConnection) -> Iterable[Observation]:
    """The client's responses are to requests that the server has open, PING or GOAWAY."""
    for message in connection.sent_by("client"):
        if is_response(message):
            found = (each for each in message.problems if each.partition(":")[0] in RESPONSE_KINDS)
            yield Observation(message.n, next(found, ""))


# -- the rules that both schemas share ---------------------------------------------------------------------------------


def _is_append(message: Observed) -> bool:
    return message.name == "APPEND"


def batches_only() -> Judge:
    """Return the judge that the payload of an APPEND is batches."""
    return without("client", PAYLOAD_KINDS, _is_append)


def server_rules(rule: RuleMaker, *, headers: str, echoes: str) -> tuple[Rule, ...]:
    """Return the rules on servers of every schema; `headers` and `echoes` are its sections of headers and of PING."""
    return (
        rule("server/1", MUST, "Frames of the server are whole, with the right checksum.", "§1", whole("server")),
        rule("server/2", MUST, "Headers of the server have the required fields.", headers, complete("server")),
        rule("server/3", MUST, "A response is to an open request.", "§1.4", without("server", RESPONSE_KINDS)),
        rule("server/4", MUST, "A response has operation and identifier of its request.", "§1.4", responses_echo),
        rule("server/5", MUST, "Responses have the flags of responses.", "§1.3", responses_have_their_flags("server")),
        rule("server/6", MUST, "The response to a PING has its header and payload.", echoes, pings_are_echoed),
        rule(
            "server/7",
            MUST,
            "Only PING and FETCH have payloads of the server.",
            headers,
            payloads_belong("server", "PING", "FETCH"),
        ),
        rule(
            "server/8",
            MUST,
            "The server writes 0 as checksum of no payload.",
            "§5 (2)",
            empty_payloads_have_no_checksum("server"),
        ),
    )


def client_rules(rule: RuleMaker, *, headers: str, batches: str) -> tuple[Rule, ...]:
    """Return the rules on clients of every schema; `headers` and `batches` are its sections of these."""
    return (
        rule("client/1", MUST, "Frames of the client are whole, with the right checksum.", "§1", whole("client")),
        rule("client/2", MUST, "Headers of the client have the required fields.", headers, complete("client")),
        rule("client/3", MUST, "The payload of an APPEND is batches.", batches, batches_only()),
        rule("client/4", SHOULD, "Requests have no flags.", "§1.3", requests_have_no_flags("client")),
        rule("client/5", MUST, "A request has an identifier that is not open.", "§1.4", identifiers_are_free),
    )
