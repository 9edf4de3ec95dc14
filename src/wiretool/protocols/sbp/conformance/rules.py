"""Requirements that recorded traffic of SBP servers is judged by, whatever its clients do."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wiretool.conformance.levels import MUST, SHOULD, Level
from wiretool.conformance.observed import Observed, ObservedConnection
from wiretool.conformance.rules import Judge, Observation, Rule
from wiretool.protocols.sbp.conformance.steps import OK, REFUSAL, SPEC, WHOLE

#: A field that real servers leave out of their answers though the schema requires it (protocols/sbp.md §4.5).
_KNOWN_FLAW = "missing_required_field"
#: What the answer to an operation repeats of the range in its request.
_OF_RANGE = ("stream_id", "index")


def header_of(message: Observed) -> Mapping[str, Any]:
    """Return the fields of a header table, none for another header."""
    header = message.fields.get("header")
    return header.get("fields", {}) if isinstance(header, Mapping) else {}


def code_of(message: Observed) -> int | None:
    """Return the code of the status of a response."""
    status = header_of(message).get("status")
    return status.get("code") if isinstance(status, Mapping) else None


def entries_of(message: Observed) -> list[Mapping[str, Any]] | None:
    """Return the batches of a payload; None where it does not decode."""
    payload = message.fields.get("payload")
    entries = payload.get("entries") if isinstance(payload, Mapping) else None
    return entries if isinstance(entries, list) else None


def served(connection: ObservedConnection, operation: str) -> Iterator[tuple[Observed, Observed]]:
    """Yield the requests of an operation with their responses, refusals aside."""
    for asked, answered in connection.exchanges():
        is_request = asked.side == "client" and not asked.fields["is_response"]
        if is_request and asked.name == answered.name == operation and answered.fields["flags"] == WHOLE:
            yield asked, answered


def replies_are_whole(connection: ObservedConnection) -> Iterable[Observation]:
    """Responses have the flags of the only frame of a response, or of a refusal."""
    for message in connection.sent_by("server"):
        if message.fields.get("is_response") and message.name != "GOAWAY":
            flags = message.fields["flags"]
            yield Observation(message.n, "" if flags in (WHOLE, REFUSAL) else f"flags are 0x{flags:02x}")


def replies_name_the_operation(connection: ObservedConnection) -> Iterable[Observation]:
    """A response has the number of the operation of its request."""
    for asked, answered in connection.exchanges():
        one, other = asked.fields["opcode"], answered.fields["opcode"]
        yield Observation(answered.n, "" if one == other else f"operation 0x{other:04x} answers 0x{one:04x}")


def frames_decode(connection: ObservedConnection) -> Iterable[Observation]:
    """Frames of a server decode, with their checksum; known flaws aside."""
    for message in connection.sent_by("server"):
        problems = [each for each in message.problems if not each.startswith(_KNOWN_FLAW)]
        yield Observation(message.n, problems[0] if problems else "")


def pongs_echo(connection: ObservedConnection) -> Iterable[Observation]:
    """The response to a PING has its header and payload."""
    for asked, answered in served(connection, "PING"):
        is_same = all(asked.fields[name] == answered.fields[name] for name in ("header", "payload"))
        yield Observation(answered.n, "" if is_same else "header or payload differ from those of the request")


def heartbeats_echo(connection: ObservedConnection) -> Iterable[Observation]:
    """The response to a heartbeat has its client and role; an empty name of a client may be left out."""
    for asked, answered in served(connection, "HEARTBEAT"):
        sent, got = header_of(asked), header_of(answered)
        is_same = (sent.get("client_id") or "") == (got.get("client_id") or "")
        is_same = is_same and sent.get("client_role", 0) == got.get("client_role")
        yield Observation(answered.n, "" if is_same else "client or role differ from those of the request")


def appends_have_results(connection: ObservedConnection) -> Iterable[Observation]:
    """The response to an APPEND has a result for each batch; those that are OK have a time, others have none."""
    for asked, answered in served(connection, "APPEND"):
        sent, results = entries_of(asked), header_of(answered).get("entries")
        if sent is None or results is None:
            continue
        problem = "" if len(sent) == len(results) else f"{len(results)} results for {len(sent)} batches"
        for result in results:
            is_good = result["status"]["code"] == OK
            if is_good != (result["timestamp_ms"] > 0):
                problem = problem or f"a result with code {result['status']['code']} has time {result['timestamp_ms']}"
        yield Observation(answered.n, problem)


def fetches_are_in_order(connection: ObservedConnection) -> Iterable[Observation]:
    """The batches of a FETCH are of its range, in the order of their offsets, and begin before its limit."""
    for asked, answered in served(connection, "FETCH"):
        batches, wanted = entries_of(answered), header_of(asked)
        if not batches or "range" not in wanted:
            continue
        bases = [each["meta"]["base_offset"] for each in batches]
        places = {(each["meta"]["stream_id"], each["meta"]["range_index"]) for each in batches}
        limit = wanted.get("limit", 0)
        problem = "" if bases == sorted(set(bases)) else "batches are out of order"
        if places != {(wanted["range"]["stream_id"], wanted["range"]["index"])}:
            problem = problem or "batches are of another range"
        if 0 <= limit <= bases[-1]:
            problem = problem or f"a batch begins at {bases[-1]}, the limit is {limit}"
        yield Observation(answered.n, problem)


def fetches_without_batches(connection: ObservedConnection) -> Iterable[Observation]:
    """A FETCH that is not OK has no payload, and one that is OK has some."""
    for _, answered in served(connection, "FETCH"):
        code, has_payload = code_of(answered), answered.fields["payload"] is not None
        problem = "" if (code == OK) == has_payload else f"code {code} {'with' if has_payload else 'without'} payload"
        yield Observation(answered.n, problem)


def ranges_are_those_asked(connection: ObservedConnection) -> Iterable[Observation]:
    """The response to CREATE_RANGE and SEAL_RANGE, where OK, is about the range of the request."""
    for operation in ("CREATE_RANGE", "SEAL_RANGE"):
        for asked, answered in served(connection, operation):
            sent, got = header_of(asked).get("range"), header_of(answered).get("range")
            if code_of(answered) == OK and sent is not None:
                is_same = got is not None and all(sent[name] == got[name] for name in _OF_RANGE)
                yield Observation(answered.n, "" if is_same else "the range is another one, or not there")


def streams_are_those_asked(connection: ObservedConnection) -> Iterable[Observation]:
    """The response to DESCRIBE_STREAM and DELETE_STREAM, where OK, is about the stream of the request."""
    for operation in ("DESCRIBE_STREAM", "DELETE_STREAM"):
        for asked, answered in served(connection, operation):
            stream = header_of(answered).get("stream")
            if code_of(answered) == OK and header_of(asked):
                is_same = stream is not None and stream["stream_id"] == header_of(asked)["stream_id"]
                yield Observation(answered.n, "" if is_same else "the stream is another one, or not there")


def lists_are_in_order(connection: ObservedConnection) -> Iterable[Observation]:
    """The ranges of a stream are listed by their index, one for each, and are of that stream."""
    for asked, answered in served(connection, "LIST_RANGE"):
        stream_id = header_of(asked).get("criteria", {}).get("stream_id", -1)
        ranges = header_of(answered).get("ranges")
        if ranges and stream_id >= 0:
            indexes = [each["index"] for each in ranges]
            problem = "" if indexes == sorted(set(indexes)) else "ranges are out of order"
            if any(each["stream_id"] != stream_id for each in ranges):
                problem = problem or "a range is of another stream"
            yield Observation(answered.n, problem)


def _rule(name: str, level: Level, requirement: str, source: str, judge: Judge) -> Rule:
    return Rule(f"sbp/traffic/server/{name}", level, requirement, f"{SPEC} {source}", "server", judge)


RULES: tuple[Rule, ...] = (
    _rule(
        "flags",
        MUST,
        "A response is one frame with the flags 0x03, or 0x07 for a refusal.",
        "§1.3, §4.4",
        replies_are_whole,
    ),
    _rule("operation", MUST, "A response has the operation of its request.", "§1.1, §4.3", replies_name_the_operation),
    _rule("frames", MUST, "Frames of a server decode, with the right checksum.", "§1, §2.3", frames_decode),
    _rule("ping", MUST, "The response to a PING has its header and payload.", "§4.2", pongs_echo),
    _rule("heartbeat", MUST, "The response to a heartbeat has its client and role.", "§4.5", heartbeats_echo),
    _rule(
        "append",
        MUST,
        "An APPEND has a result for each batch, with a time where it is OK.",
        "§4.4, §4.5",
        appends_have_results,
    ),
    _rule(
        "fetch",
        MUST,
        "The batches of a FETCH are of its range, in order, and before its limit.",
        "§4.5",
        fetches_are_in_order,
    ),
    _rule(
        "fetch-payload",
        SHOULD,
        "A FETCH has a payload where it is OK, and only there.",
        "§4.5",
        fetches_without_batches,
    ),
    _rule("range", MUST, "What is created or sealed is the range of the request.", "§4.5", ranges_are_those_asked),
    _rule(
        "stream",
        MUST,
        "What is described or deleted is the stream of the request.",
        "§4.5",
        streams_are_those_asked,
    ),
    _rule("list", MUST, "The ranges of a stream are listed in order.", "§4.5", lists_are_in_order),
)
