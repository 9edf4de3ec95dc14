"""Requirements that recorded traffic of the batch style is judged by, in both of its schemas."""

from collections.abc import Iterable
from typing import Any

from wiretool.conformance.levels import MUST, SHOULD
from wiretool.conformance.recorded.observed import Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Observation, Rule, rule_maker
from wiretool.protocols.sbp.conformance import traffic
from wiretool.protocols.sbp.conformance.traffic import has_table, payload_of, table_of
from wiretool.protocols.sbp_0_1.conformance.steps import NONE, OK

BATCHES = "batches"
#: The entries of a request and their results in the response, by operation.
_ENTRIES = {
    "APPEND": ("append_requests", "append_responses"),
    "FETCH": ("fetch_requests", "fetch_responses"),
    "DESCRIBE_RANGES": ("ranges", "describe_responses"),
    "DELETE_STREAMS": ("streams", "delete_responses"),
    "UPDATE_STREAMS": ("streams", "update_responses"),
    "GET_STREAMS": ("stream_ids", "describe_responses"),
    "DESCRIBE_STREAMS": ("stream_ids", "describe_responses"),
}
#: Lists of streams to make: the schemas spell it in two ways.
_CREATED = ("streams", "stremas")


def is_fine(result: dict[str, Any]) -> bool:
    """Return whether a result is no error, in either schema."""
    if "status" in result:
        return bool(result["status"].get("code") == OK)
    return bool(result.get("error_code", NONE) == NONE)


def _asked_entries(message: Observed) -> list[Any]:
    table = table_of(message)
    if message.name == "CREATE_STREAMS":
        return next((list(table[name]) for name in _CREATED if name in table), [])
    return list(table.get(_ENTRIES[message.name][0]) or ()) if message.name in _ENTRIES else []


def _results(message: Observed) -> list[dict[str, Any]]:
    name = "create_responses" if message.name == "CREATE_STREAMS" else _ENTRIES.get(message.name, ("", ""))[1]
    return list(table_of(message).get(name) or ())


def _stream_of(entry: dict[str, Any]) -> Any:
    """Return the stream of an entry: a field of S1, a field of its range in S2."""
    return entry.get("stream_id", (entry.get("range") or {}).get("stream_id"))


# -- servers -----------------------------------------------------------------------------------------------------------


def each_entry_has_a_result(connection: ObservedConnection) -> Iterable[Observation]:
    """A response has a result for each entry of its request, unless the request as a whole is refused.

    Servers skip unknown streams of DELETE_STREAMS, so there may be fewer of these.
    """
    for asked, answered in connection.exchanges():
        if asked.name not in (*_ENTRIES, "CREATE_STREAMS") or not (has_table(asked) and has_table(answered)):
            continue
        if not is_fine(table_of(answered)):
            continue
        wanted, count = len(_asked_entries(asked)), len(_results(answered))
        may_be_fewer = asked.name == "DELETE_STREAMS"
        is_right = count == wanted or (may_be_fewer and count < wanted)
        is_refused = count == 1 and not is_fine(_results(answered)[0])
        yield Observation(answered.n, "" if is_right or is_refused else f"{count} results for {wanted} entries")


def appended_offsets_rise(connection: ObservedConnection) -> Iterable[Observation]:
    """The offset of an accepted batch is not below the end of the one before it in its stream."""
    ends: dict[Any, int] = {}
    for asked, answered in sorted(connection.exchanges(), key=lambda pair: pair[0].n):
        if asked.name != "APPEND" or answered.name != "APPEND":
            continue
        parts = zip(_asked_entries(asked), payload_of(asked, BATCHES), _results(answered), strict=False)
        for entry, batch, result in parts:
            if not is_fine(result):
                continue
            stream, base = _stream_of(entry), result["base_offset"]
            end = ends.get(stream, base)
            yield Observation(answered.n, "" if base >= end else f"offset {base} of stream {stream} after {end}")
            ends[stream] = base + max(batch["meta"]["last_offset_delta"], 1)


def appends_name_the_stream(connection: ObservedConnection) -> Iterable[Observation]:
    """A result of an APPEND that is no error names stream and index of its entry; the indexes of S2 are all 0."""
    for asked, answered in connection.exchanges():
        if asked.name != "APPEND" or answered.name != "APPEND":
            continue
        for entry, result in zip(_asked_entries(asked), _results(answered), strict=False):
            if is_fine(result):
                one, other = _stream_of(entry), result.get("stream_id")
                index, said = entry.get("request_index"), result.get("request_index")
                problem = f"stream {other}; the entry is for {one}" if one != other else ""
                if not problem and "error_code" in result and index != said:
                    problem = f"request_index {said}; the entry has {index}"
                yield Observation(answered.n, problem)


def fetched_as_asked(connection: ObservedConnection) -> Iterable[Observation]:
    """FETCH gives only batches that end after the offset of one of its entries."""
    for asked, answered in connection.exchanges():
        if asked.name != "FETCH" or answered.name != "FETCH" or not has_table(asked):
            continue
        least = min((entry["fetch_offset"] for entry in _asked_entries(asked)), default=0)
        early = [
            batch
            for batch in payload_of(answered, BATCHES)
            if batch["base_offset"] + max(batch["meta"]["last_offset_delta"], 1) <= least
        ]
        problem = f"a batch at {early[0]['base_offset']}; the request is for {least} on" if early else ""
        yield Observation(answered.n, problem)


def fetched_lengths_fit(connection: ObservedConnection) -> Iterable[Observation]:
    """The lengths in a FETCH response of S1 add up to its payload."""
    for message in connection.sent_by("server"):
        if message.name == "FETCH" and any("batch_length" in each for each in _results(message)):
            said, length = sum(each["batch_length"] for each in _results(message)), message.fields["payload_length"]
            yield Observation(message.n, "" if said == length else f"{said} bytes announced, {length} in the payload")


def listed_ranges_follow(connection: ObservedConnection) -> Iterable[Observation]:
    """The ranges of a stream are listed by rising index, each from the end of the one before it on."""
    for message in connection.sent_by("server"):
        if message.name != "LIST_RANGES":
            continue
        for result in table_of(message).get("list_responses") or ():
            last: dict[Any, dict[str, Any]] = {}
            problem = ""
            for each in result.get("ranges") or ():
                before = last.get(each["stream_id"])
                if before and (each["range_index"] <= before["range_index"] or _starts_before_end(each, before)):
                    problem = f"range {each['range_index']} of stream {each['stream_id']} does not follow"
                last[each["stream_id"]] = each
            yield Observation(message.n, problem)


def _starts_before_end(each: dict[str, Any], before: dict[str, Any]) -> bool:
    return bool(each["start_offset"] < before["end_offset"])


def streams_are_new(connection: ObservedConnection) -> Iterable[Observation]:
    """Each stream that is made gets a number that none had before."""
    made: set[Any] = set()
    for message in connection.sent_by("server"):
        if message.name == "CREATE_STREAMS":
            for result in _results(message):
                number = (result.get("stream") or {}).get("stream_id")
                if is_fine(result) and number is not None:
                    yield Observation(message.n, f"stream {number} is made again" if number in made else "")
                    made.add(number)


# -- clients -----------------------------------------------------------------------------------------------------------


def lengths_fit(connection: ObservedConnection) -> Iterable[Observation]:
    """The lengths of an APPEND add up to its payload."""
    for message in connection.sent_by("client"):
        if message.name == "APPEND" and has_table(message):
            said = sum(entry["batch_length"] for entry in _asked_entries(message))
            length = message.fields["payload_length"]
            yield Observation(message.n, "" if said == length else f"{said} bytes announced, {length} in the payload")


def indexes_differ(connection: ObservedConnection) -> Iterable[Observation]:
    """The entries of a request have indexes that differ, where there are several."""
    for message in connection.sent_by("client"):
        entries = _asked_entries(message) if message.name in ("APPEND", "FETCH") else []
        if len(entries) > 1:
            indexes = [entry["request_index"] for entry in entries]
            yield Observation(message.n, "" if len(set(indexes)) == len(indexes) else f"request indexes {indexes}")


_rule = rule_maker("sbp-0.1", "protocols/sbp.md")

RULES: tuple[Rule, ...] = (
    *traffic.server_rules(_rule, headers="§2.2", echoes="§2.2"),
    _rule("server/9", MUST, "Each entry of a request has a result.", "§4.4, §4.6", each_entry_has_a_result),
    _rule("server/10", MUST, "Offsets of accepted batches rise.", "§4.6", appended_offsets_rise),
    _rule("server/11", MUST, "A result of an APPEND names its entry.", "§4.6", appends_name_the_stream),
    _rule("server/12", MUST, "FETCH returns the requested batches.", "§4.6", fetched_as_asked),
    _rule("server/13", MUST, "The lengths of a FETCH response add up to its payload.", "§3.1", fetched_lengths_fit),
    _rule("server/14", MUST, "The listed ranges of a stream follow one another.", "§4.6", listed_ranges_follow),
    _rule("server/15", MUST, "A new stream gets a new number.", "§4.6", streams_are_new),
    _rule("server/16", MUST, "HEARTBEAT is answered with client and role.", "§4.6", traffic.heartbeats_are_echoed),
    *traffic.client_rules(_rule, headers="§2.2", batches="§3.1"),
    _rule("client/6", MUST, "Identifiers are not negative.", "§1.4", traffic.identifiers_are_not_negative),
    _rule(
        "client/7",
        MUST,
        "Only APPEND and PING have payloads of the client.",
        "§2.2",
        traffic.payloads_belong("client", "APPEND", "PING"),
    ),
    _rule("client/8", MUST, "The lengths of an APPEND add up to its payload.", "§3.1", lengths_fit),
    _rule("client/9", SHOULD, "The entries of a request have different indexes.", "§4.6", indexes_differ),
    _rule(
        "client/10", SHOULD, "Nothing is asked after the client's own GOAWAY.", "§4.2", traffic.stops_after_own_goaway
    ),
    _rule(
        "client/11", SHOULD, "A client with heartbeats is never silent for 15 s.", "§4.2", traffic.heartbeats_in_time
    ),
)
